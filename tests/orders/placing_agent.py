"""Somebody who places orders in the admin, and what the tests of that share."""

import re

from django.test import Client
from django.urls import reverse, reverse_lazy

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.work import turn
from orders.models import Placement
from properties.models import Property
from tests.orders.conftest import calls

PROPERTIES = reverse_lazy("admin:properties_property_changelist")
POSTED = ("POST", "/v1/orders")
PHOTO_AND_PLAN = {"quantity-11": "2", "quantity-13": "1"}


class Agent:
    """Somebody who places orders in the admin, click by click."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.clicks = 0
        self.username = client.get("/admin/").wsgi_request.user.get_username()

    def order(self, property_: Property) -> str:
        """Click on *Order…* on the page of a property; return where that leads."""
        page = self.client.get(reverse("admin:properties_property_change", args=[property_.pk]))
        assert 'form="action-order"' in page.content.decode()
        chosen = {"action": "order", "_selected_action": str(property_.pk)}
        return self._click(PROPERTIES, chosen)

    def review(self, page: str, **typed: str) -> str:
        """Type into the form of the choices, and click on its button."""
        return self._click(page, self._typed(page, **typed) | {"step": "choose"})

    def later(self, page: str, **typed: str) -> str:
        """Type into the form of the choices, and click on *Go on later*."""
        return self._click(page, self._typed(page, **typed) | {"step": "later"})

    def last_time(self, page: str) -> str:
        """Click on *As last time*."""
        html = self.client.get(page).content.decode()
        assert "As last time" in html
        revision = re.search(r'name="revision" value="(\d+)"', html)
        assert revision is not None
        return self._click(page, {"step": "last_time", "revision": revision.group(1)})

    def place(self, page: str) -> str:
        """Click on *Place this order*, as it is shown."""
        return self.place_as(page, self.shown(page))

    def shown(self, page: str) -> dict[str, str]:
        """Return what the form of a review sends, as the review is now."""
        html = self.client.get(page).content.decode()
        hidden = re.findall(r'name="(revision|seen|warned)" value="([^"]*)"', html)
        assert hidden
        return dict(hidden)

    def place_as(self, page: str, shown: dict[str, str]) -> str:
        """Click on *Place this order* in a window that has shown this."""
        return self._click(page, shown | {"step": "place"})

    def text(self, page: str) -> str:
        """Return what stands on a page, without markup, in one line."""
        html = self.client.get(page).content.decode()
        body = re.sub(r"(?s)<(script|style).*?</\1>", "", html)
        return " ".join(re.sub(r"<[^>]+>", " ", body).split())

    def _typed(self, page: str, **typed: str) -> dict[str, str]:
        form = self.client.get(page).context["form"]
        values = {name: form[name].value() for name in form.fields}
        return {name: "" if value is None else value for name, value in values.items()} | typed

    def _click(self, address: str, values: dict[str, str]) -> str:
        self.clicks += 1
        answer = self.client.post(address, values)
        assert answer.status_code == 302
        return answer["Location"]


def drain(workspace: Workspace) -> dict[str, int]:
    return turn.take(hooks.queue("placements"), workspace.pk, seconds=20.0).counts


def only() -> Placement:
    return Placement.objects.get()


def sent(box) -> int:
    return calls(box).count(POSTED)
