"""The clock of all bounds, and what several of them do."""

from collections.abc import Callable, Collection
from typing import Any

from lab.world.judge import BOTH
from lab.world.parts import Parts
from lab.world.people import REFERENCES, People

WORKERS = ("worker-1", "worker-2")
LOOK, LOOK_AT_ALL = 0.25, 2.0  # seconds between two looks
STEPS = 8  # from a new assignment to its files
AT_ONCE = 4.0  # seconds for what people do, with six properties and four threads of each worker
SOON = 8.0  # seconds in which anything goes on after a fault (I12)


class Clock:
    """Lets one thing happen, and looks how long what it leads to takes."""

    def __init__(self, parts: Parts, people: People) -> None:
        self.world, self.judge, self.wires = parts.world, parts.judge, parts.wires
        self.platform, self.receiver, self.mail = parts.platform, parts.receiver, parts.mail
        self.neighbour, self.chat, self.people = parts.neighbour, parts.chat, people
        self._unsettled = parts.unsettled

    def within(
        self, seconds: float, what: str, is_there: Callable[[], bool], look: float = LOOK
    ) -> None:
        """Let the world go on until it is done; if that takes longer, a promise is broken."""
        began, looked = self.world.now, [0.0]

        def is_over() -> bool:
            if self.world.now - looked[0] < look:
                return False
            looked[0] = self.world.now
            return is_there()

        self.world.run(began + seconds, is_over)
        took = self.world.now - began
        self.world.tell(f"{what}: {took:.1f} s")
        if not is_there():
            rest = "; ".join(self._unsettled())
            self.wrong(f"{what}: not within {seconds:g} s ({rest})")

    def wrong(self, what: str) -> None:
        """Take note of a promise that was broken."""
        self.judge.record.wrong.append(what)

    def is_settled(self) -> bool:
        """Return whether nothing is to be done, and both sides say the same."""
        self.people.settle_placements()
        return not self._unsettled()

    def edit_all(self, but: Collection[str] = ()) -> Callable[[], bool]:
        """Change a field of every property; return what asks whether all `but` some are there."""
        name = f"bound {self.people.edits}"
        new = {
            one: self.people.change(f"{name} {one}", one, BOTH)
            for one in REFERENCES
            if one in self.judge.made
        }
        wanted = {one: value for one, value in new.items() if one not in but}
        there = self.judge.record.there
        return lambda: all(there(one).get(BOTH) == value for one, value in wanted.items())

    def has(self, reference: str, path: str, value: object) -> Callable[[], bool]:
        """Return what asks whether the platform has this value of a property."""
        return lambda: bool(self.judge.record.there(reference).get(path) == value)

    def place(self, name: str, reference: str) -> None:
        """Let a program order, and wait until the platform has the order."""
        orders = self.platform.box.workspace.orders
        before = len(orders)
        self.people.place(f"bound {name}", reference)
        self.within(SOON, "an order is there", lambda: len(orders) > before)

    def send_events(self, name: str) -> None:
        """Let the platform send an event of each open order, or of all if none is open."""
        before = len(self.platform.events.sent)
        self.platform.events.go_on(f"bound {name}", everywhere=True)
        if len(self.platform.events.sent) == before:
            self.wrong(f"no event of {name} is sent, so nothing is tried")

    def there(self) -> list[dict[str, Any]]:
        """Return all properties of the platform."""
        return [*self.platform.box.workspace.properties.values()]

    def events_are_applied(self) -> bool:
        """Return whether no event that has come is due."""
        query = "select count(*) from crm_sync_receivedevent where due_at is not null"
        return self.judge.record.ask(query) == [(0,)]

    def kill_workers(self) -> None:
        """Kill -9 all workers."""
        for slot in WORKERS:
            self.world.kill(slot)
        self.world.tell("both workers are killed")

    def start_workers(self) -> None:
        """Start them again half a second later."""
        self.world.run(self.world.now + 0.5)
        for slot in WORKERS:
            self.world.start(slot)

    def gets_few(self, what: str, host: str, count: Callable[[], int]) -> None:
        """I11: a host that is down is asked seldom."""
        before = count()
        self.world.run(self.world.now + 40)
        came = count() - before
        self.world.tell(f"{came} {what} in forty seconds")
        if came > 6:
            self.wrong(f"{came} {what} in 40 s to {host} that is down (I11)")
