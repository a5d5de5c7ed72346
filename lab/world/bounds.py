"""What has to be done within a time once nothing befalls anybody; a seed tries some of it.

A promise about time cannot be judged amid faults: whoever waits may wait for what was lost, or for
the end of a lease. So all is settled first; then one thing happens, and a clock runs.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from math import inf

from lab.world.judge import BOTH, LIMIT, Judge
from lab.world.people import REFERENCES, People
from lab.world.platform import Manner, Platform
from lab.world.scheduler import CALM, Scheduler
from lab.world.wires import Wires, is_done

SHARE = 0.3  # of the seeds that try one of them
WORKERS = ("worker-1", "worker-2")
LOOK, LOOK_AT_ALL = 0.25, 2.0  # seconds between two looks
REPEATED = 45.0  # seconds: a lease, in which the call of a dead worker may still land (I3)
AT_ONCE = 4.0  # seconds for what people do, with six properties and four threads of each worker
SOON = 8.0  # seconds in which anything goes on after a fault (I12)


class Bounds:
    """The clock of each."""

    def __init__(
        self, world: Scheduler, judge: Judge, wires: Wires, platform: Platform, people: People
    ) -> None:
        self.world, self.judge, self.wires = world, judge, wires
        self.platform, self.people = platform, people

    def ask(self) -> None:
        """Try some of them, by the seed."""
        for one in BOUNDS:
            name = one.__name__.removeprefix("_")
            if self.world.share(f"bound {name}") < SHARE and not self.judge.wrong:
                self.world.tell(f"bound: {name}")
                one(self)
                self.platform.manner = Manner()
                self.world.temper = CALM
                what = f"all is settled after {name}"
                self._within(120.0, what, self._is_settled, LOOK_AT_ALL)

    # --- the clock ---
    def _within(
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
            self.judge.wrong.append(f"{what}: not within {seconds:g} s")

    def _is_settled(self) -> bool:
        return not self.judge.unsettled()

    def _edit_all(self, but: Collection[str] = ()) -> Callable[[], bool]:
        """Change a field of every property; return what asks whether all `but` some are there."""
        name = f"bound {self.people.edits}"
        new = {
            one: self.people.change(f"{name} {one}", one, BOTH)
            for one in REFERENCES
            if one in self.judge.made
        }
        wanted = {one: value for one, value in new.items() if one not in but}
        there = self.judge.there
        return lambda: all(there(one).get(BOTH) == value for one, value in wanted.items())

    def _events_are_applied(self) -> bool:
        query = "select count(*) from crm_sync_receivedevent where due_at is not null"
        return self.judge.ask(query) == [(0,)]

    # --- what is tried ---
    def _edits(self) -> None:
        self._within(AT_ONCE, "edits are there", self._edit_all())

    def _events(self) -> None:
        self.people.go_on("bound events")
        self.world.run(self.world.now + 4)  # until the last event has come
        self._within(AT_ONCE, "events are applied", self._events_are_applied)

    def _killed_workers(self) -> None:
        """What dead workers had claimed goes on: events soon, a property after its lease (I3)."""
        self.platform.manner = Manner(seconds=lambda _: 2.0)
        are_there = self._edit_all()
        self.world.run(self.world.now + 1.0 + 2 * self.world.share("bound killed"))
        for slot in WORKERS:
            self.world.kill(slot)
        self.world.tell("both workers are killed")
        self.people.go_on("bound killed")
        self.world.run(self.world.now + 0.5)
        for slot in WORKERS:
            self.world.start(slot)
        self.world.run(self.world.now + 4)
        self._within(SOON, "events are applied after a kill", self._events_are_applied)
        self._within(REPEATED, "edits are there after a kill", are_there)

    def _platform_down(self) -> None:
        """It gets few calls (I11), and what waits goes on once it is back."""
        self.platform.manner = Manner(is_down=True)
        are_there = self._edit_all()
        self.world.run(self.world.now + 5)
        before = self.platform.calls
        self.world.run(self.world.now + 40)
        calls = self.platform.calls - before
        self.world.tell(f"{calls} calls in forty seconds")
        if calls > 6:
            self.judge.wrong.append(f"{calls} calls in 40 s to a platform that is down (I11)")
        self.platform.manner = Manner()
        self._within(75.0, "edits are there once the platform is back", are_there)

    def _lost_messages(self) -> None:
        """What the broker loses is sent again (I12)."""
        self.world.temper = replace(CALM, message_lost=1.0)
        are_there = self._edit_all()
        self.people.go_on("bound lost")
        self.world.run(self.world.now + 4)
        self.world.temper = CALM
        self._within(SOON, "edits are there after lost messages", are_there)
        self._within(SOON, "events are applied after lost messages", self._events_are_applied)

    def _frozen_broker(self) -> None:
        """A callback does not wait for it (I25), and all goes on once it is back (I12)."""
        self.world.broker_patience = 5.0
        self.world.broker_away_until = self.world.now + 20
        self.judge.slowest_answer = 0.0
        are_there = self._edit_all()
        self.people.go_on("bound frozen")
        self.world.run(self.world.now + 20)
        if self.judge.slowest_answer > 2:
            slowest = f"{self.judge.slowest_answer:.1f} s"
            self.judge.wrong.append(f"a callback waited for the broker for {slowest} (I25)")
        self.world.broker_patience = 0.0
        self._within(SOON, "edits are there once the broker is back", are_there)
        self._within(SOON, "events are applied after it", self._events_are_applied)

    def _hanging_calls(self) -> None:
        """Two calls that hang keep nobody else waiting."""
        hang = REFERENCES[:2]
        self.platform.manner = Manner(seconds=lambda call: inf if call.reference in hang else 0.05)
        self._within(6.0, "edits are there beside two that hang", self._edit_all(but=hang))

    def _fewer_calls(self) -> None:
        """A limit that was lowered holds for all calls that leave from then on (A8)."""
        if not is_done(self.wires.job("allow", 3)):
            return
        self.platform.manner = Manner(seconds=lambda _: 0.5)
        self.world.run(self.world.now + 2)
        self.judge.limit = 3
        self._within(15.0, "edits are there with three calls", self._edit_all())
        self.wires.job("allow", LIMIT)
        self.judge.limit = LIMIT

    def _burst(self) -> None:
        """Forty new properties need the time of their calls, and no order waits for them."""
        lines = [f"B-{n},burst {n}" for n in range(40)]
        feed = self.people.write("burst.csv", ["objectReferenceId,title", *lines])
        self.platform.manner = Manner(seconds=lambda _: 0.5)
        if not is_done(self.wires.job("command", "import_properties", "main", feed)):
            self.judge.wrong.append("a feed of forty could not be imported")
            return
        self.people.place("bound burst")
        orders = len(self.platform.box.workspace.orders)
        self._within(
            6.0,
            "an order is there beside forty new properties",
            lambda: len(self.platform.box.workspace.orders) > orders,
        )
        self._within(25.0, "forty new properties are there", self._are_forty)

    def _are_forty(self) -> bool:
        there = self.platform.box.workspace.properties.values()
        return sum(str(one.get("objectReferenceId")).startswith("B-") for one in there) == 40


BOUNDS: tuple[Callable[[Bounds], None], ...] = (
    Bounds._edits,
    Bounds._events,
    Bounds._killed_workers,
    Bounds._platform_down,
    Bounds._lost_messages,
    Bounds._frozen_broker,
    Bounds._hanging_calls,
    Bounds._fewer_calls,
    Bounds._burst,
)
