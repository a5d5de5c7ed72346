"""Where something is wrong the pages say it in one sentence; the raw text is folded away."""

import re

import pytest
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.models import Workspace
from crm_sync.platform.errors import ErrorKind
from crm_sync.platform.problems import MEANINGS
from properties.domain.editing import create, edit
from properties.models import Property
from tests.problems import answered

FAULTS = [
    ("TOO_MANY_REQUESTS", ErrorKind.BUSY),
    ("UNAVAILABLE", ErrorKind.DOWN),
    ("SERVER_ERROR", ErrorKind.DOWN),
]


def without_details(page: str) -> str:
    """Return the text of a page, without what is folded away."""
    body = page[page.index("<main") if "<main" in page else 0 :]
    return re.sub(r"<details.*?</details>", "", body, flags=re.DOTALL)


@pytest.fixture
def row(box, workspace, drain_all) -> Property:
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    edit(row, {"title": "House"}, origin="ADMIN", now=now())
    return row


def pages(client, row: Property) -> list[str]:
    addresses = [
        reverse("admin:properties_property_change", args=[row.pk]),
        reverse("admin:index"),
        reverse("admin:crm_sync_workspace_change", args=[row.workspace_id]),
    ]
    return [client.get(address).content.decode() for address in addresses]


@pytest.mark.parametrize(("fault", "kind"), FAULTS)
def test_a_platform_in_trouble_is_told_in_one_sentence(
    box, row, admin_client, drain_all, fault, kind
):
    box.faults.set({"rules": [{"fault": fault, "seconds": 600}]})
    drain_all()
    assert Property.objects.get().last_answer.startswith("GET /v1/")
    sentence = str(MEANINGS[kind][0])
    for page in pages(admin_client, row):
        shown = without_details(page)
        assert (sentence in shown, "GET /v1/" in shown) == (True, False)


def test_a_wrong_token_is_told_with_what_to_do_and_never_shown(row, admin_client, drain_all):
    Workspace.objects.update(fixed_token="canary-canary-canary")
    drain_all()
    sentence, remedy = map(str, MEANINGS[ErrorKind.UNAUTHORIZED])
    for page in pages(admin_client, row):
        assert (sentence in page, "canary" in page) == (True, False)
    assert remedy in pages(admin_client, row)[1]


def test_what_the_platform_refuses_as_a_whole_stands_on_the_page_with_its_words(row, admin_client):
    why = answered("PATCH /v1/real-estate-properties/1", 413, "Payload Too Large")
    Property.objects.update(problem={"REFUSED": {"": why.stored}}, due_at=None)
    page = pages(admin_client, row)[0]
    assert "It is larger than the platform takes. Shorten its texts or lists, and save." in page
