"""What events, orders and their files need."""

from dataclasses import replace

from lab.world.bounds.clock import AT_ONCE, LOOK_AT_ALL, SOON, STEPS, Clock
from lab.world.call_judge import Call
from lab.world.people import REFERENCES
from lab.world.platform import Manner
from lab.world.scheduler import CALM

STORED = 180.0  # seconds for files, each of which may have failed a few times


def events(on: Clock) -> None:
    on.send_events("events")
    on.world.run(on.world.now + 4)  # until the last event has come
    on.within(AT_ONCE, "events are applied", on.events_are_applied)


def rotations(on: Clock) -> None:
    """Operators replace the secret while events come, and no callback is refused (S6)."""
    slow = Manner(seconds=lambda call: 3.0 if call.path.endswith("/webhooks") else 0.05)
    on.platform.manner = slow
    on.people.rotate("bound rotation")
    for number in range(8):  # until both rotations are over
        on.world.run(on.world.now + 1)
        on.send_events(f"events beside a rotation {number}")
    on.world.run(on.world.now + 4)  # until the last event has come
    on.within(AT_ONCE, "events are applied", on.events_are_applied)


def sender_of_an_order_dies(on: Clock) -> None:
    """What it sent is there once, whether its call has had its effect or not (I9)."""
    slow = Manner(seconds=lambda call: 3.0 if call.path.endswith("/orders") else 0.05)
    on.platform.manner = slow
    on.people.place("bound order", REFERENCES[0])
    on.world.run(on.world.now + 20, lambda: bool(_senders(on)))
    # Its call arrives after three seconds, unless it is killed after that.
    on.world.run(on.world.now + 5 * on.world.share("bound order killed"))
    for slot in {one.thread.process.name.rpartition(".")[0] for one in _senders(on)}:
        on.world.tell(f"{slot} is killed while it sends an order")
        on.world.kill(slot)
    on.start_workers()
    on.platform.manner = Manner()
    on.within(300.0, "the order of a dead worker is settled", on.is_settled, LOOK_AT_ALL)
    on.judge.orders.are_there_once()


def spoiled_order(on: Clock) -> None:
    """An order that a platform answers with 503 may be there, so it is not sent again (I9)."""
    _spoiled(on, "503 No")


def conflicting_order(on: Clock) -> None:
    """So may one that it answers with 409, as if a proxy had sent the call twice (I9)."""
    _spoiled(on, "409 Conflict")


def _spoiled(on: Clock, status: str) -> None:
    on.platform.manner = Manner(spoils=lambda call: status if call.path.endswith("/orders") else "")
    on.place("spoiled", REFERENCES[0])
    on.world.run(on.world.now + 20)
    on.platform.manner = Manner()
    on.within(300.0, "a person settles the order", on.is_settled, LOOK_AT_ALL)
    on.judge.orders.are_there_once()


def slow_reads(on: Clock) -> None:
    """A read whose answer is long on its way takes back nothing that came meanwhile (I23)."""
    on.place("slow reads", REFERENCES[0])
    on.platform.manner = Manner(back=lambda call: 4.0 if call.method == "GET" else 0.0)
    for number in range(4):
        on.send_events(f"slow reads {number}")
        on.world.run(on.world.now + 3)
    on.world.run(on.world.now + 6)
    on.platform.manner = Manner()
    on.within(SOON, "events beside slow reads are applied", on.events_are_applied)


def orders_of_two(on: Clock) -> None:
    """Orders of two workspaces have the same ids, and each event moves its own one (S12)."""
    theirs = on.neighbour.box.workspace.orders
    before = len(theirs)
    on.neighbour.order("bound neighbour's order")
    on.within(SOON, "an order of the neighbour is there", lambda: len(theirs) > before)
    for _ in range(2):
        on.neighbour.events.go_on("bound neighbour's events", everywhere=True)
        on.send_events("events beside those of the neighbour")
        on.world.run(on.world.now + 4)
    on.within(AT_ONCE, "events of both are applied", on.events_are_applied)
    on.within(SOON, "both have their orders", on.is_settled, LOOK_AT_ALL)


def _senders(on: Clock) -> list[Call]:
    calls = on.judge.calls
    return [
        one
        for one in calls.under_way.values()
        if (one.method, one.path) == ("POST", "/v1/orders") and calls.is_under_way(one)
    ]


def files(on: Clock) -> None:
    """The files of orders that end are stored, although some are cut off and workers die."""
    on.world.temper = replace(CALM, answer_lost=0.2)
    for number in range(STEPS):
        on.send_events(f"files {number}")
        on.world.run(on.world.now + 2)
        if on.world.share(f"bound files {number} killed") < 2 / STEPS:
            on.kill_workers()
            on.start_workers()
    on.world.temper = CALM
    on.within(STORED, "files are stored and uploaded", on.is_settled, LOOK_AT_ALL)
    on.judge.files.are_complete()
    on.judge.files.are_uploaded()
