"""The agents of the scene: they edit and order on the pages of our admin, by what these show."""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lab.world.browser import LOGIN, PASSWORD, Browser, Page, Values
from lab.world.judge import BOTH, IMPORTED, NEVER, OURS_ALONE, RULED_OURS
from lab.world.parts import Parts

NAMES = {"ann": "AGENT-1", "bob": "AGENT-2"}  # and the users of the platform as whom they order
PROPERTIES, ORDERING = "/admin/properties/property/", "/admin/orders/placement/"
PROPERTY, CHOICES = ("id", "property_form"), ("class", "op-form")  # forms
SETTABLE = (OURS_ALONE, BOTH, IMPORTED)
FIELDS = (*SETTABLE, NEVER, RULED_OURS)  # with one input each
THINKS = 20.0  # seconds at most, from a page to its button
TRIES = 3  # of one edit, until somebody gives up
LOOKS = 8  # at the choices of an order, until somebody gives up


def make_agents(workspace: Any) -> None:
    """Make people who may do what agents may, in one workspace."""
    from django.contrib.auth.models import Group, User

    from orders.models import PlatformUser
    from orders.placing.acting_user import find_user

    for name, user in NAMES.items():
        person = User.objects.create_user(name, password=PASSWORD, is_staff=True)
        person.groups.add(Group.objects.get(name="Agents"))
        workspace.people.add(person)
        acting = find_user(workspace, user)
        tied = {"account": person, "is_tied_by_hand": True}
        PlatformUser.objects.filter(pk=acting.pk).update(**tied)


def open_pages() -> None:
    """Open the pages that they use once, so that no process has to load their templates."""
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(headers={"host": "crm.test"})
    client.force_login(User.objects.get(username=next(iter(NAMES))))
    for address in (LOGIN, f"{PROPERTIES}add/", PROPERTIES, ORDERING):
        status = client.get(address).status_code
        if status not in (200, 302):
            raise RuntimeError(f"{address} answers with {status}")


class Agents:
    """People with a browser each.

    Attributes:
        count: the values that they have typed.
    """

    def __init__(self, parts: Parts) -> None:
        self.world, self.judge, self.count = parts.world, parts.judge, 0
        self.browsers = [Browser(parts.wires, name) for name in NAMES]

    def edit(
        self,
        name: str,
        reference: str,
        fields: Sequence[str],
        *,
        thinks: float = THINKS,
        beside: Callable[[], object] = lambda: None,
    ) -> None:
        """Somebody opens the page of a property, changes one of these fields, and saves.

        Args:
            thinks: seconds at most until then.
            beside: called at that moment.
        """
        _Edit(self, name, fields, beside).begin(reference, thinks)

    def set(self, name: str, references: Sequence[str], fields: Sequence[str]) -> None:
        """Somebody chooses properties in the list, and sets one of these fields of all."""
        _Batch(self, name, fields).begin(references)

    def order(self, name: str, reference: str) -> None:
        """Somebody begins an order for a property, chooses a product, and places it."""
        _Order(self, name).begin(reference)

    def typed(self, path: str) -> Any:
        """Return a value that nobody has typed before."""
        self.count += 1
        return 3_000 + self.count if path == IMPORTED else f"ours, page {self.count}"

    def key_of(self, reference: str) -> int:
        """Return the key of a property here."""
        row = "select id from properties_property where object_reference_id = ?"
        ((key,),) = self.judge.record.ask(row, (reference,))
        return int(key)


class _Act:
    """One way through some pages. It ends where a page is not as its person expects it."""

    def __init__(self, agents: Agents, name: str) -> None:
        self.agents, self.name = agents, name
        self.world, self.judge = agents.world, agents.judge
        self.browser = self.world.choose(f"{name} who", agents.browsers)

    def _field(self, fields: Sequence[str], possible: Sequence[str]) -> str:
        """Choose one of these fields that is possible here, else any that is."""
        mine = [one for one in possible if one in fields] or possible
        return self.world.choose(f"{self.name} field", mine)

    def _later(self, what: str, seconds: float, action: Any) -> None:
        """Do something within so many seconds, mostly soon."""
        self.world.at(
            self.world.now + seconds * self.world.share(f"{self.name} {what}") ** 3, action
        )

    def _tell(self, text: str, status: int | None) -> None:
        said = status or "no answer"
        self.world.tell(f"{self.name}: {self.browser.username} {text}: {said}")
        if status not in (None, 200, 403, 409, 503):
            self.judge.record.wrong.append(f"a page was answered with {status}")

    def _replaces_what_was_shown(self, reference: str, path: str, value: Any, shown: Any) -> None:
        """I4: an edit on a page replaces what the page has shown, and nothing of a colleague."""
        old = self.judge.replaced(reference, path, value)
        if str(old or "") != str(shown or ""):
            self.judge.record.wrong.append(
                f"{path} of {reference}: {self.browser.username} was shown {shown!r}, and replaced"
                f" {old!r} of a colleague unseen (I4)"
            )


class _Edit(_Act):
    """An edit on the page of a property."""

    def __init__(
        self,
        agents: Agents,
        name: str,
        fields: Sequence[str],
        beside: Callable[[], object],
    ) -> None:
        super().__init__(agents, name)
        self.beside = beside
        self.path = self._field(fields, FIELDS)
        self.tries = 0

    def begin(self, reference: str, thinks: float) -> None:
        self.reference, self.thinks = reference, thinks
        self.address = f"{PROPERTIES}{self.agents.key_of(reference)}/change/"
        self.browser.open(self.address, self._shown)

    def _shown(self, page: Page | None) -> None:
        values = page.form(*PROPERTY) if page is not None and page.status == 200 else {}
        if self.path in values and self.tries < TRIES:
            self._later(f"thinks {self.tries}", self.thinks, partial(self._save, values))

    def _save(self, values: Values) -> None:
        value = self.agents.typed(self.path)
        self.judge.we_begin(self.reference, self.path, value)
        mine = {f"whose:{self.path}:0": ["MINE"]} if self.tries else {}  # the page has asked
        self.tries += 1
        typed = values | {self.path: [str(value)]} | mine
        self.browser.post(self.address, typed, partial(self._saved, value, values))
        self.beside()

    def _saved(self, value: Any, values: Values, page: Page | None) -> None:
        status = status_of(page)
        self.judge.we_edited(self.reference, self.path, value, status)
        self._tell(f"sets {self.path} of {self.reference} to {value!r}", status)
        if status == 200 and self.tries == 1:  # a page that asks has what they have typed
            (shown,) = values[self.path]
            self._replaces_what_was_shown(self.reference, self.path, value, shown)
        elif status == 409:
            self._shown(page)


class _Batch(_Act):
    """One field of many properties: the list, the plan, and its confirmation."""

    def __init__(self, agents: Agents, name: str, fields: Sequence[str]) -> None:
        super().__init__(agents, name)
        self.path = self._field(fields, SETTABLE)
        self.value = agents.typed(self.path)

    def begin(self, references: Sequence[str]) -> None:
        self.keys = {one: self.agents.key_of(one) for one in references}
        self.browser.open(PROPERTIES, self._listed)

    def _listed(self, page: Page | None) -> None:
        if page is not None and page.status == 200:
            keys = [str(key) for key in self.keys.values()]
            chosen = {"action": ["set_fields"], "_selected_action": keys}
            self.browser.post(PROPERTIES, chosen, self._begun)

    def _begun(self, page: Page | None) -> None:
        if page is not None and page.status == 302 and not page.asks_to_log_in:
            self.address = page.location
            entered = {"step": ["plan"], self.path: [str(self.value)]}
            self.browser.post(self.address, entered, self._planned)

    def _planned(self, page: Page | None) -> None:
        self.browser.open(self.address, self._shown)

    def _shown(self, page: Page | None) -> None:
        if planned_at := page and page.hidden("planned_at"):
            self._later("thinks", THINKS, partial(self._confirm, planned_at))

    def _confirm(self, planned_at: str) -> None:
        for one in self.keys:
            self.judge.we_begin(one, self.path, self.value)
        confirmed = {"step": ["set"], "planned_at": [planned_at]}
        self.browser.post(self.address, confirmed, self._confirmed)

    def _confirmed(self, page: Page | None) -> None:
        status = status_of(page)
        self._tell(f"sets {self.path} of {', '.join(self.keys)} to {self.value!r}", status)
        for one, key in self.keys.items():
            became = self._became_of(one, key) if status == 200 else status
            self.judge.we_edited(one, self.path, self.value, became)

    def _became_of(self, reference: str, key: int) -> int | None:
        """Return what became of a property, by the row of the batch; None if it is not done."""
        (batch,) = re.findall(r"\d+", self.address)
        columns = "revision, planned, left, refused"
        row = f"select {columns} from properties_batchedit where batch_id = ?"
        found = self.judge.record.ask(f"{row} and real_estate_property_id = ?", (batch, key))
        ((revision, planned, *not_set),) = found
        if revision is None:
            return None
        if not_set != ["{}", "{}"]:
            return 409
        shown, _ = json.loads(planned)[self.path]
        self._replaces_what_was_shown(reference, self.path, self.value, shown)
        return 200


class _Order(_Act):
    """An order: the choices, the review, and its button."""

    def begin(self, reference: str) -> None:
        self.reference, self.looks = reference, 0
        key = {"property": [str(self.agents.key_of(reference))]}
        self.browser.open(
            ORDERING, lambda _: self.browser.post(f"{ORDERING}begin/", key, self._follow)
        )

    def _follow(self, page: Page | None) -> None:
        address = page.location if page is not None else ""
        for step, look in (("/choose/", self._choose), ("/review/", self._review)):
            if step in address and self.looks < LOOKS:
                self.looks += 1
                opened = partial(look, address)
                open_ = partial(self.browser.open, address, opened)
                self._later(f"looks {self.looks}", 3.0, open_)

    def _choose(self, address: str, page: Page | None) -> None:
        values = page.form(*CHOICES) if page is not None and page.status == 200 else {}
        if values:
            chosen = with_product(values, self.world.share(f"{self.name} {self.looks}"))
            self.browser.post(address, chosen, self._follow)

    def _review(self, address: str, page: Page | None) -> None:
        if page is not None and page.status == 200 and (revision := page.hidden("revision")):
            (number,) = re.findall(r"\d+", address)
            seen = self.judge.orders.products(int(number), int(revision))
            shown = {"revision": [revision], "warned": [page.hidden("warned") or ""]}
            place = partial(self._place, address, int(number), shown, seen)
            self._later("thinks", THINKS, place)

    def _place(self, address: str, number: int, shown: Values, seen: str | None) -> None:
        self.judge.orders.confirms(number, seen)
        placed = shown | {"step": ["place"]}
        what = f"orders for {self.reference} by placement {number}"
        self.browser.post(address, placed, lambda page: self._tell(what, status_of(page)))


def with_product(values: Values, share: float) -> Values:
    """Return the values of the choices with one product, once or twice; without any, as shown."""
    products = sorted(one for one in values if one.startswith("quantity-"))
    chosen = {one: ["0"] for one in products}
    if products:
        number, rest = divmod(share * len(products), 1)
        chosen[products[int(number)]] = ["1" if rest < 0.5 else "2"]
    return values | chosen | {"step": ["choose"]}


def status_of(page: Page | None) -> int | None:
    """Return what became of a form, as the API says it: 200 saved, 409 not as it is now."""
    if page is None:
        return None
    if page.status == 302:
        return 403 if page.asks_to_log_in else 200
    return 409 if page.status == 200 else page.status
