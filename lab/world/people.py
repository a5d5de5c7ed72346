"""The people and programs on our side of the scene: what they do, and when."""

import json
import os
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from lab.world import neighbour, runtime
from lab.world.agents import Agents
from lab.world.judge import BOTH, IMPORTED, LIST, OURS_ALONE, RULES
from lab.world.mail import READERS
from lab.world.parts import Parts
from lab.world.placing import place
from lab.world.wires import is_done
from sandbox.state import callbacks

REFERENCES = ("R-1", "Hof Süd", "R-3", "R-4", "R-5", "R-6")
HOLD = ("pause", "main", "--kind", "pushes", "--reason", "a change of the rules")
FIELDS = (OURS_ALONE, BOTH, BOTH, LIST, LIST, *RULES)
LATE_ORDER = 150.0  # seconds until a person says that an order never came (I9)
NOBODY = "10.9.9.9/32"  # from where no callback comes
WRONG = ("", "wrong", "wröng", "the-secret")
# What programs try, and the status that each must get.
WRITTEN = 204  # without the row, which a program that only writes may not read
PRYING = (
    ("neighbour", "GET", 404),
    ("neighbour", "PATCH", 404),
    ("reader", "PATCH", 403),
    ("writer", "GET", 403),
    ("writer", "PATCH", WRITTEN),
)

Choice = TypeVar("Choice")


class People:
    """Each act has a name, on which all hangs that is decided in it."""

    def __init__(self, parts: Parts) -> None:
        self.world, self.judge, self.wires = parts.world, parts.judge, parts.wires
        self.platform, self.feeds, self.folder = parts.platform, parts.feeds, parts.folder
        self.deliveries, self.neighbour = parts.deliveries, parts.neighbour
        self.agents = Agents(parts)
        self.edits = self.orders = 0
        self._holds = self._are_excluded = self._chooses = False
        self._asked: set[int] = set()  # placements that somebody is about to settle
        # In half of the seeds few kinds of acts meet at few places, and so each other.
        is_dense = self.world.share("dense") < 0.5
        self._places = self._some("places", REFERENCES, 0.25) if is_dense else REFERENCES
        self._fields = self._some("fields", FIELDS, 0.4) if is_dense else FIELDS
        self._acts = self._some("acts", ACTS, 0.6) if is_dense else ACTS
        self._moments = 3 if is_dense else 0  # at which many do something at once
        self.fewest = 60 if is_dense else 20  # acts

    def plan(self, name: str, begin: float, end: float) -> None:
        """Let one of them do something at some moment in between."""
        world = self.world
        if name in world.off:
            return
        world.taken[name] = None
        act = world.choose(f"{name} what", self._acts)
        moment = begin + (end - begin) * world.share(f"{name} when")
        if self._moments and world.share(f"{name} together") < 0.7:
            number = int(self._moments * world.share(f"{name} moment"))
            moment = begin + (end - begin) * world.share(f"moment {number}")
            moment += 4 * world.share(f"{name} when") ** 2
        world.at(moment, lambda: act(self, name))

    def _some(self, name: str, choices: Sequence[Choice], chance: float) -> Sequence[Choice]:
        """Return about this share of different choices, and at least one."""
        different = list(dict.fromkeys(choices))
        kept = [
            one for one in different if self.world.share(f"{name} {different.index(one)}") < chance
        ]
        return [one for one in choices if one in kept] or [self.world.choose(name, different)]

    def _where(self, name: str) -> str:
        return self.world.choose(f"{name} where", self._places)

    # --- edits ---
    def create(self, reference: str) -> None:
        """A program creates a property, and asks again until it has an answer."""
        value = f"ours, {reference}"
        self.judge.we_begin(reference, OURS_ALONE, value)

        def answered(status: int | None, body: bytes) -> None:
            self.world.tell(f"we create {reference}: {status or 'no answer'}")
            self.judge.we_edited(reference, OURS_ALONE, value, status)
            if reference not in self.judge.made:
                self.world.at(self.world.now + 3, lambda: self.create(reference))
                return
            seconds = 40 * self.world.share(f"{reference} edited")  # while it may be on its way
            self.world.at(
                self.world.now + seconds,
                lambda: self.change(f"{reference} changed", reference, OURS_ALONE),
            )

        path = f"/properties/{quote(reference, safe='')}"
        self.wires.ask("PUT", path, {OURS_ALONE: value}, answered)

    def edit(self, name: str) -> None:
        """A program changes a field by the API."""
        reference = self._where(name)
        if reference in self.judge.made:
            self.change(name, reference, self.world.choose(f"{name} field", self._fields))

    def change(self, name: str, reference: str, path: str) -> Any:
        """Change one field now; return its new value."""
        self.edits += 1
        value: Any = f"ours {self.edits}"
        if path == LIST:
            urls = [f"https://ours.test/{self.edits}"]
            value = [{"url": one} for one in urls[self.world.share(f"{name} empty") < 0.3 :]]
        self.judge.we_begin(reference, path, value)

        def answered(status: int | None, body: bytes) -> None:
            locked = 400 if RULES.get(path) in ("THEIRS", "FILL") else None
            if status not in (None, 200, 503, locked):
                self.judge.record.wrong.append(
                    f"an edit was answered with {status}: {body[:300]!r}"
                )
            self.judge.we_edited(reference, path, value, status)
            said = status if status else "no answer"
            self.world.tell(f"{name}: we set {path} of {reference} to {value!r}: {said}")

        where = f"/properties/{quote(reference, safe='')}"
        self.wires.ask("PATCH", where, {path: value}, answered)
        return value

    def edit_on_page(self, name: str) -> None:
        """An agent changes a field on the page of a property."""
        reference = self._where(name)
        if reference in self.judge.made:
            self.agents.edit(name, reference, self._fields)

    def set_on_page(self, name: str) -> None:
        """An agent sets a field of several properties."""
        references = [one for one in self._places if one in self.judge.made]
        if references:
            self.agents.set(name, references, self._fields)

    def they_edit(self, name: str) -> None:
        """Somebody on the platform changes a field."""
        self.platform.edit(name, self._where(name), self._fields)

    def write(self, name: str, lines: list[str]) -> str:
        """Write a feed into the folder of the processes, as old as the world; return its name."""
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        at = runtime.EPOCH.timestamp() + self.world.now
        os.utime(path, (at, at))
        return name

    def load(self, name: str) -> None:
        """A feed brings one field of all properties that are there."""
        self.edits += 1
        value = 1_000 + self.edits
        references = [one for one in REFERENCES if one in self.judge.made]
        if not references:
            return
        lines = [f"objectReferenceId,{IMPORTED}", *(f"{one},{value}" for one in references)]
        feed = self.write(f"{name}.csv", lines)
        for reference in references:
            self.judge.we_begin(reference, IMPORTED, value)

        def done(result: Any) -> None:
            self.world.tell(f"{name}: a feed brings {IMPORTED} {value}: {result and result[:2]}")
            if result and result[0] == "failed":
                self.judge.record.wrong.append(f"an import failed: {result[1][-300:]}")
            for reference in references:  # without a good end each may be stored or not
                status = 200 if is_done(result) else None
                self.judge.we_edited(reference, IMPORTED, value, status)

        self.wires.give(("command", "import_properties", "main", feed), done)

    def publish(self, name: str) -> None:
        """An agency has a new version of its feed, and perhaps somebody here fetches it now."""
        self.feeds.publish(name)
        self._fetch(name)

    def deliver(self, name: str) -> None:
        """Somebody delivers a file to the folder of a source."""
        self.deliveries.deliver(name)
        self._fetch(name)

    def _fetch(self, name: str) -> None:
        if self.world.share(f"{name} asked") < 0.7:
            delay = 5 * self.world.share(f"{name} asks")
            self.world.at(
                self.world.now + delay, lambda: self.wires.give(("fetch now",), lambda _: None)
            )

    def pull(self, name: str) -> None:
        """An operator compares the list of the platform, or all of it."""
        words = ("--list-only",) if self.world.share(f"{name} list") < 0.5 else ()
        self.wires.give(("command", "pull_properties", "main", *words), lambda _: None)

    def read_now(self, name: str) -> None:
        """An agent presses *Push and read now*."""
        self.world.tell(f"{name}: all properties are read")
        self.wires.give(("push now",), lambda _: None)

    def edit_as_neighbour(self, name: str) -> None:
        """A program of the neighbour writes some of their properties."""
        for reference in neighbour.REFERENCES[: 1 + int(3 * self.world.share(f"{name} count"))]:
            self.neighbour.edit(reference)

    def order_as_neighbour(self, name: str) -> None:
        """A program of the neighbour orders for a property, or their platform goes on."""
        if self.world.share(f"{name} orders") < 0.4:
            self.neighbour.order(name)
        else:
            self.neighbour.events.go_on(name)

    def pry(self, name: str) -> None:
        """A program tries what its token may not do (S12)."""
        reference = self._where(name)
        if reference not in self.judge.made:
            return
        self.try_token(name, reference, self.world.choose(f"{name} how", PRYING))

    def try_token(self, name: str, reference: str, how: tuple[str, str, int]) -> None:
        """A program makes one call, which must be answered as its token allows."""
        program, method, expected = how

        def answered(status: int | None, body: bytes) -> None:
            self.world.tell(f"{name}: {program} tries {method} {reference}: {status or 'nothing'}")
            if status not in (expected, None, 503):
                what = f"{method} of {program} was answered with {status} {body[:100]!r} (S12)"
                self.judge.record.wrong.append(what)

        path = f"/properties/{quote(reference, safe='')}"
        body = {} if expected == WRITTEN else {OURS_ALONE: "ours, pried"}
        self.wires.ask(method, path, body, answered, program=program)

    # --- orders ---
    def place(self, name: str, reference: str = "") -> None:
        """A program places an order."""
        key = f"order-{self.orders}"
        self.orders += 1
        place(self.wires, self.judge.orders, name, reference or self._where(name), key)

    def order_on_page(self, name: str) -> None:
        """An agent places an order on the pages for it."""
        reference = self._where(name)
        if reference in self.judge.made:
            self.agents.order(name, reference)

    def go_on(self, name: str) -> None:
        """The platform's people go on with an order."""
        self.platform.events.go_on(name)

    def lie(self, name: str) -> None:
        """Somebody tells of a status that an order does not have."""
        self.platform.lie(name)

    def change_mind(self, name: str) -> None:
        """The second reader wants no mail any more, or wants it again (I33)."""
        reader = READERS[1]
        if self._chooses:
            return
        self._chooses = True
        wanted = self.judge.mails.wanted[reader] is None
        self.judge.mails.wanted[reader] = None

        def chosen(result: Any) -> None:
            self._chooses = False
            if wanted and is_done(result):
                self.judge.mails.wanted[reader] = self.judge.mails.now
            self.world.tell(f"{name}: {reader} wants {'' if wanted else 'no '}mail")

        self.wires.give(("choose mail", reader, wanted), chosen)

    def settle_placements(self) -> None:
        """Look at the platform for each order of which nobody knows, once it can come no more."""
        for slug, orders in (("main", self.judge.orders), ("neighbour", self.neighbour.orders)):
            for number, reference in orders.uncertain(LATE_ORDER):
                if number not in self._asked:
                    self._asked.add(number)
                    order = orders.unknown_order(reference)
                    found = ("--order", order) if order else ("--not-placed",)
                    self.world.tell(f"a person settles the placement {number}: {' '.join(found)}")
                    words = ("settle_placement", slug, str(number), *found)
                    self.wires.give(
                        ("command", *words), lambda _, number=number: self._asked.discard(number)
                    )

    # --- operators ---
    def hold(self, name: str) -> None:
        """A person holds what goes to the platform, and some time later lets it go on (I34)."""
        seconds = 1 + 20 * self.world.share(f"{name} seconds")
        if self._holds:
            return
        self._holds = True

        def held(result: Any) -> None:
            if is_done(result):
                self.judge.calls.holds(True)
                self.world.tell(f"{name}: a person holds all pushes for {seconds:.1f} s")
            # Without an answer it may be held as well, so they let it go on in any case.
            self.world.at(self.world.now + seconds, let_go)

        def let_go() -> None:
            self.judge.calls.holds(False)
            self.wires.give(("command", "resume", "main", "--kind", "pushes"), gone_on)

        def gone_on(result: Any) -> None:
            if not is_done(result):  # they see that it is still held
                self.world.at(self.world.now + 3, let_go)
            else:
                self._holds = False

        self.wires.give(("command", *HOLD), held)

    def exclude_callers(self, name: str) -> None:
        """An operator lets callbacks come from one address alone, and takes that back (S6)."""
        if self._are_excluded:
            return
        self._are_excluded = True
        seconds = 1 + 10 * self.world.share(f"{name} seconds")

        def closed(result: Any) -> None:
            if is_done(result):
                self.judge.excluded_at = self.world.steps
                self.world.tell(f"{name}: no callback may come for {seconds:.1f} s")
            self.world.at(self.world.now + seconds, open_again)

        def open_again() -> None:
            self.judge.excluded_at = None
            self.wires.give(("take callers", ""), opened)

        def opened(result: Any) -> None:
            if not is_done(result):
                self.world.at(self.world.now + 3, open_again)
            else:
                self._are_excluded = False

        self.wires.give(("take callers", NOBODY), closed)

    def rotate(self, name: str) -> None:
        """One or two operators replace the secret of the webhook (S6)."""
        words = ("command", "configure_webhook", "main", "--rotate-secret")

        def rotated(result: Any) -> None:
            self.world.tell(f"{name}: the secret is replaced: {result and result[:2]}")

        for number in range(1 + (self.world.share(f"{name} two") < 0.4)):
            at = self.world.now + 2 * number * self.world.share(f"{name} apart")
            self.world.at(at, lambda: self.wires.give(words, rotated))

    def lock(self, name: str) -> None:
        """Something else writes to the database for longer than a statement waits (I15, I25)."""
        seconds = 1 + 34 * self.world.share(f"{name} seconds") ** 4
        self.world.tell(f"{name}: the database is locked for {seconds:.1f} s")
        self.judge.calls.locked(True)
        self.wires.give(("lock", seconds), lambda _: self.judge.calls.locked(False))

    def forge(self, name: str) -> None:
        """Somebody calls with wrong secrets, many at a time (S1, S22)."""
        webhook = self.platform.box.workspace.webhook
        if not webhook:
            return
        url, headers = callbacks.authenticate(webhook)
        secret = next(iter(headers.values()), "")
        count = 1 + int(30 * self.world.share(f"{name} count") ** 2)
        self.world.tell(f"{name}: {count} calls with a wrong secret")
        for number in range(count):
            said = self.world.choose(f"{name} {number}", (*WRONG, secret[:-1], secret.upper()))
            event = {"event": "ORDER_STATUS_CHANGED", "orderId": f"forged {name} {number}"}

            def answered(status: int | None, body: bytes) -> None:
                if status not in (None, 401, 403, 429, 503):
                    self.judge.record.wrong.append(
                        f"a wrong secret was answered with {status} (S1)"
                    )

            named = dict.fromkeys(headers, said)
            self.wires.request("POST", url, named, json.dumps(event).encode(), answered)


ACTS = (
    *(People.edit,) * 6,
    *(People.edit_on_page,) * 3,
    *(People.set_on_page, People.order_on_page),
    *(People.they_edit,) * 4,
    *(People.place, People.lie) * 2,
    *(People.go_on,) * 4,
    *(People.pull, People.read_now, People.load, People.publish, People.hold),
    *(People.exclude_callers, People.lock, People.forge, People.rotate),
    *(People.change_mind, People.pry, People.deliver),
    *(People.edit_as_neighbour, People.order_as_neighbour),
)
