"""What edits of people and programs need, with a worker, a broker or a platform that fails."""

from dataclasses import replace
from math import inf

from django.conf import settings

from lab.world import neighbour
from lab.world.bounds.clock import AT_ONCE, LOOK_AT_ALL, SOON, Clock
from lab.world.bounds.watch import Watch, is_push
from lab.world.call_judge import LIMIT, Call
from lab.world.judge import BOTH, OURS_ALONE
from lab.world.people import REFERENCES
from lab.world.platform import Manner
from lab.world.scheduler import CALM
from lab.world.wires import is_done

REPEATED = 45.0  # seconds: a lease, in which the call of a dead worker may still land (I3)
GIVEN_UP = 1.0  # seconds: more than our limits for a connection to Redis and for its answer


def edits(on: Clock) -> None:
    on.within(AT_ONCE, "edits are there", on.edit_all())


def killed_workers(on: Clock) -> None:
    """What dead workers had claimed goes on: events soon, a property after its lease (I3)."""
    on.platform.manner = Manner(seconds=lambda _: 2.0)
    are_there = on.edit_all()
    on.world.run(on.world.now + 1.0 + 2 * on.world.share("bound killed"))
    on.kill_workers()
    on.send_events("killed")
    on.start_workers()
    on.world.run(on.world.now + 4)
    on.within(SOON, "events are applied after a kill", on.events_are_applied)
    on.within(REPEATED, "edits are there after a kill", are_there)


def platform_down(on: Clock) -> None:
    """It gets few calls (I11), and what waits goes on once it is back."""
    on.platform.manner = Manner(is_down=True)
    are_there = on.edit_all()
    on.world.run(on.world.now + 5)
    on.gets_few("calls", "a platform", lambda: on.platform.calls)
    on.platform.manner = Manner()
    on.within(75.0, "edits are there once the platform is back", are_there)


def lost_messages(on: Clock) -> None:
    """What the broker loses is sent again (I12)."""
    on.world.temper = replace(CALM, message_lost=1.0)
    are_there = on.edit_all()
    on.send_events("lost")
    on.world.run(on.world.now + 4)
    on.world.temper = CALM
    on.within(SOON, "edits are there after lost messages", are_there)
    on.within(SOON, "events are applied after lost messages", on.events_are_applied)


def frozen_broker(on: Clock) -> None:
    """A callback does not wait for it (I25), and all goes on once it is back (I12)."""
    on.world.broker_patience = GIVEN_UP
    on.world.broker_away_until = on.world.now + 20
    on.judge.slowest_answer = 0.0
    are_there = on.edit_all()
    on.send_events("frozen")
    on.world.run(on.world.now + 20)
    if on.judge.slowest_answer > 2:
        slowest = f"{on.judge.slowest_answer:.1f} s"
        on.wrong(f"a callback waited for the broker for {slowest} (I25)")
    on.world.broker_patience = 0.0
    on.within(SOON, "edits are there once the broker is back", are_there)
    on.within(SOON, "events are applied after it", on.events_are_applied)


def silent_beat(on: Clock) -> None:
    """Without a tick, rings alone begin all work at once."""
    # With a tick, the mark of a message that was lost goes once something is due.
    on.within(AT_ONCE, "edits are there with ticks", on.edit_all())
    on.send_events("ticks")
    on.world.run(on.world.now + 10)
    on.within(120.0, "all is settled before beat is silent", on.is_settled, LOOK_AT_ALL)
    on.world.kill("beat")
    on.edit_all()
    on.within(AT_ONCE, "edits are there without ticks", on.edit_all())
    on.send_events("silent")
    on.world.run(on.world.now + 4)
    on.within(AT_ONCE, "events are applied without ticks", on.events_are_applied)
    _one_call_for_pushes(on)
    on.world.start("beat")


def may_make(on: Clock, calls: int, seconds: float) -> bool:
    """Let a workspace make so many calls at a time, each of so many seconds."""
    is_set = is_done(on.wires.job("allow", calls))
    on.platform.manner = Manner(seconds=lambda _: seconds)
    on.world.run(on.world.now + 2)
    return is_set


def _one_call_for_pushes(on: Clock) -> None:
    """Six pushes are more work than one turn does: it rings for the next one."""
    if not may_make(on, 3, 0.5):  # two of three are for other queues
        return
    on.within(10.0, "edits are there one by one without ticks", on.edit_all())
    on.wires.job("allow", LIMIT)


def hanging_calls(on: Clock) -> None:
    """Calls that hang keep nobody else waiting."""
    chosen = (one for one in REFERENCES if on.world.share(f"bound {one} hangs") < 0.3)
    hang = [*chosen] or REFERENCES[:1]
    on.platform.manner = Manner(seconds=lambda call: inf if call.reference in hang else 0.05)
    on.within(6.0, "edits are there beside those that hang", on.edit_all(but=hang))


def unclear_creation(on: Clock) -> None:
    """A creation that has its effect after its deadline is not sent again before that (I8)."""
    late, before = 1.25 * settings.CALL_DEADLINE, len(on.there())
    seconds = iter([late])

    def takes(call: Call) -> float:
        return next(seconds, 0.05) if call.method == "POST" and call.reference else 0.05

    on.platform.manner = Manner(seconds=takes, takes_twins=True)
    on.people.create("R-L")
    on.within(late + REPEATED + SOON, "a late creation is there", lambda: len(on.there()) > before)
    on.within(120.0, "a late creation is settled", on.is_settled, LOOK_AT_ALL)


def hanging_neighbour(on: Clock) -> None:
    """A platform that hangs keeps no other workspace waiting."""
    on.neighbour.seconds = inf
    for _ in range(2):
        for reference in neighbour.REFERENCES:
            on.neighbour.edit(reference)
        on.world.run(on.world.now + 1)
    on.within(AT_ONCE, "edits are there beside a neighbour that hangs", on.edit_all())
    on.neighbour.seconds = neighbour.QUICK


def fewer_calls(on: Clock) -> None:
    """A limit that was lowered holds for all calls that leave from then on (A8)."""
    if not may_make(on, 3, 0.5):
        return
    on.judge.calls.limit = 3
    on.within(15.0, "edits are there with three calls", on.edit_all())
    on.wires.job("allow", LIMIT)
    on.judge.calls.limit = LIMIT


def slow_calls(on: Clock) -> None:
    """Slots and rows stay taken for as long as a call takes (A8, I6); some slots stay free."""
    if not may_make(on, 5, 0.8 * settings.CALL_DEADLINE):
        return
    on.judge.calls.push_limit = 3  # of five, since two are for other queues
    on.within(300.0, "edits are there after slow calls", on.edit_all())
    on.judge.calls.push_limit = None
    on.platform.manner = Manner()
    on.wires.job("allow", LIMIT)


def slot_of_the_dead(on: Clock) -> None:
    """The slot of a killed worker is free for others soon, its row only after the lease."""
    if not may_make(on, 3, 5.0):
        return
    on.people.change("bound of the dead", REFERENCES[0], BOTH)
    on.world.run(on.world.now + 2)
    on.kill_workers()
    on.platform.manner = Manner()
    on.start_workers()
    value = on.people.change("bound beside the dead", REFERENCES[1], BOTH)
    on.within(
        SOON,
        "an edit is there beside that of a dead worker",
        on.has(REFERENCES[1], BOTH, value),
    )
    on.wires.job("allow", LIMIT)


def refused_pushes(on: Clock) -> None:
    """What was refused is not sent again (I10), and an edit amid a refusal is sent (I1)."""
    name = REFERENCES[0]
    watch = Watch(on, lambda _: 1.0)

    def fails(call: Call) -> str:
        is_refused = is_push(call, name) and len(watch.of(name, "PATCH")) < 2
        return "422 No" if is_refused else ""

    on.platform.manner.fails = fails
    on.people.change("bound refused", name, BOTH)
    on.world.run(on.world.now + 30)
    if (sent := len(watch.of(name, "PATCH"))) != 1:
        on.wrong(f"what was refused is sent {sent} times in 30 s (I10)")
    on.people.change("bound refused again", name, BOTH)
    on.world.run(on.world.now + SOON, lambda: len(watch.of(name, "PATCH")) > 1)
    value = on.people.change("bound amid a refusal", name, OURS_ALONE)
    on.within(SOON, "an edit amid a refusal is there", on.has(name, OURS_ALONE, value))


def late_push(on: Clock) -> None:
    """A PATCH that lands after its deadline, and after a later one, is put right (I2)."""
    name, late = REFERENCES[0], 1.2 * settings.CALL_DEADLINE
    firsts, began = iter([late]), on.world.now
    on.platform.manner = Manner(
        seconds=lambda call: next(firsts, 0.05) if is_push(call, name) else 0.05
    )
    on.people.change("bound late", name, BOTH)
    on.world.run(began + settings.CALL_DEADLINE + 1)
    value = on.people.change("bound after a late one", name, BOTH)
    on.world.run(began + late + 1)
    what = "an edit is there after a PATCH that landed late"
    on.within(REPEATED, what, on.has(name, BOTH, value))
