"""What turns promise: their rows, slots, pauses and messages (docs/architecture.md)."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from math import inf

from lab.world import runtime
from lab.world.bounds.clock import AT_ONCE, LOOK_AT_ALL, SOON, Clock
from lab.world.bounds.pushes import REPEATED, may_make
from lab.world.bounds.watch import Seen, Watch, is_push
from lab.world.call_judge import LIMIT, Call
from lab.world.judge import BOTH, OURS_ALONE
from lab.world.people import REFERENCES
from lab.world.platform import Manner
from lab.world.scheduler import CALM, Proc
from lab.world.wires import is_done

LONG = 600.0  # seconds for which nobody wakes a worker
KNOWN = 0.7  # seconds after which all workers know of a pause
PAUSE = 5.0  # seconds of the shortest one
TURN = 3.0  # seconds of a turn
BACKLOG = 20  # properties
PUSH = 0.8  # seconds of each call of the backlog
EACH, SLOW = 0.3, 2.0  # seconds of a call


# --- workers that stand still ---
def suspended_workers(on: Clock) -> None:
    """What a worker has while it stands still is another one's when it wakes (I3, A8)."""
    _loses_its_row(on)
    _loses_its_slot(on)


def _loses_its_row(on: Clock) -> None:
    """A worker wakes while another one pushes the row that it had."""
    name, firsts = REFERENCES[0], iter([inf])

    def takes(call: Call) -> float:
        return next(firsts, 10.0) if is_push(call, name) else 0.05

    watch = Watch(on, takes)
    on.people.change("bound suspended", name, BOTH)
    if not watch.until(AT_ONCE, "a PATCH leaves", lambda: watch.of(name, "PATCH")):
        return
    _suspend(on, watch.of(name, "PATCH")[0].call.thread.process)
    if not watch.until(REPEATED, "a row is taken over", lambda: watch.of(name, "PATCH")[1:]):
        return
    push = watch.of(name, "PATCH")[1]
    on.world.wake()
    on.world.run(on.world.now + 2)
    value = on.people.change("bound woken", name, BOTH)
    on.world.run(push.ends_at)
    if any(one.call.left_at > push.call.left_at for one in watch.of(name) if one.meets(push)):
        on.wrong("a worker that stood still calls beside the one that has its row (I3, I6)")
    on.platform.manner = Manner()
    on.within(SOON, "the last edit is there", on.has(name, BOTH, value))


def _loses_its_slot(on: Clock) -> None:
    """A worker wakes while another one has the only slot for pushes."""
    if not may_make(on, 3, 0.05):  # two of three are for other queues
        return
    patched: list[str] = []

    def takes(call: Call) -> float:
        if call.method == "PATCH":
            patched.append(call.reference)
        is_first = len(patched) <= (call.method == "PATCH")
        return (1.0 if is_first else 3.0) if call.reference else 0.05

    watch = Watch(on, takes)
    are_there = on.edit_all()
    if not watch.until(AT_ONCE, "a PATCH leaves", lambda: patched):
        return
    sleeper = watch.of(patched[0], "PATCH")[0].call.thread.process
    _suspend(on, sleeper)

    def others() -> list[Seen]:
        return [one for one in watch.seen if one.call.reference not in ("", patched[0])]

    known = len(others())
    if not watch.until(20.0, "a slot is taken over", lambda: others()[known:]):
        return
    on.world.wake()
    on.world.run(on.world.now + 9)
    pushes = others()[known:]
    if any(
        one.meets(two) and one.call.thread is not two.call.thread
        for number, one in enumerate(pushes)
        for two in pushes[:number]
    ):
        on.wrong("two push at a time, where one may, after a worker stood still (A8)")
    on.platform.manner = Manner()
    on.within(REPEATED, "edits are there after a worker stood still", are_there)
    on.wires.job("allow", LIMIT)


def _suspend(on: Clock, proc: Proc) -> None:
    """Let a process stand still, but not with the lock of the database."""
    _run_until_unlocked(on)
    on.world.tell(f"{proc.name} stands still")
    on.world.suspend(proc, LONG)


# --- pauses ---
def a_pause(on: Clock) -> None:
    """Nothing is begun in a pause, and one call at a time tries whether it is over (I11)."""
    if not may_make(on, 3, 0.05):
        return
    on.place("pause", REFERENCES[1])
    on.world.run(on.world.now + AT_ONCE)
    watch = Watch(on, lambda _: 1.0)
    on.platform.manner.is_down = True
    are_there = on.edit_all()
    on.send_events("pause")
    if not watch.until(AT_ONCE, "a call leaves", lambda: watch.seen):
        return
    began = watch.seen[0].ends_at + KNOWN
    on.world.run(began + 1)
    rows = on.judge.record.ask("select object_reference_id, inflight from properties_property")
    sent = {one.call.reference for one in watch.seen if one.call.method != "GET"}
    for reference, inflight in rows:
        if inflight != "{}" and reference not in sent:
            on.wrong(f"{inflight} of {reference} is in flight, and no call had it (I2)")
    on.world.run(began + 40)
    # Who waits for an answer of ours is told at once that the platform is away.
    by_workers = [one for one in watch.seen if one.call.thread.process.kind == "worker"]
    later = [one for one in by_workers if one.call.left_at > began]
    early = [one for one in later if one.call.left_at < began + PAUSE - KNOWN]
    if early:
        on.wrong(f"{len(early)} calls were begun in a pause (I11)")
    if any(one.meets(two) for number, one in enumerate(later) for two in later[:number]):
        on.wrong("two calls at a time try whether a platform is back (I11)")
    on.platform.manner = Manner()
    on.within(75.0, "edits are there after a pause", are_there)
    on.wires.job("allow", LIMIT)


# --- slots and messages ---
def line_for_a_slot(on: Clock) -> None:
    """Who finds no slot is rung for once one is free, the first one first, without a tick."""
    # With a tick, the mark of a message that was lost goes once something is due.
    on.people.place("bound line with ticks", REFERENCES[1])
    on.within(AT_ONCE, "edits are there with ticks", on.edit_all())
    on.send_events("line with ticks")
    on.world.run(on.world.now + 10)
    on.within(120.0, "all is settled before beat is silent", on.is_settled, LOOK_AT_ALL)
    if not may_make(on, 1, 0.05):
        return
    on.world.kill("beat")
    watch = Watch(on, lambda call: 2.5 if call.reference else 0.2)
    on.people.change("bound line", REFERENCES[0], BOTH)
    on.world.run(on.world.now + 0.5)
    orders = len(on.platform.box.workspace.orders)
    on.people.place("bound line", REFERENCES[1])
    on.world.run(on.world.now + 2)  # until the program has its answer, and the order waits
    on.send_events("line")
    on.within(
        15.0,
        "an order is there that waited for a slot",
        lambda: len(on.platform.box.workspace.orders) > orders,
    )
    calls = (one.call for one in watch.seen if one.call.thread.process.kind == "worker")
    others = [one.path for one in calls if not one.reference]
    if others and "/sessions" not in others[0]:
        on.wrong(f"{others[0]} came later to the line for a slot, and was first")
    _again_amid_its_push(on)
    on.world.start("beat")


def _again_amid_its_push(on: Clock) -> None:
    """An edit of a row under way, whose turn ends with it, needs no tick."""
    on.wires.job("allow", LIMIT)
    on.world.run(on.world.now + 6)  # until each worker has read it
    name = REFERENCES[2]
    watch = Watch(on, lambda call: SLOW if call.reference == name else 0.05)
    on.people.change("bound amid", name, BOTH)
    if not watch.until(SOON, "a PATCH leaves", lambda: watch.of(name, "PATCH")):
        return
    value = on.people.change("bound amid again", name, OURS_ALONE)
    on.within(
        3 * SLOW + AT_ONCE,
        "an edit amid a push is there",
        on.has(name, OURS_ALONE, value),
    )


def backlog(on: Clock) -> None:
    """A turn ends after its seconds, and who is urgent stays so after a failure."""
    urgent, failures = REFERENCES[0], iter(["500 No"])
    lines = [f"U-{on.people.edits}-{n},backlog {n}" for n in range(BACKLOG)]
    feed = on.people.write("backlog.csv", ["objectReferenceId,title", *lines])
    if not may_make(on, 3, PUSH):
        return
    watch = Watch(on, lambda call: PUSH if call.reference else 0.05)
    on.platform.manner.fails = lambda call: next(failures, "") if call.reference == urgent else ""
    if not is_done(on.wires.job("command", "import_properties", "main", feed)):
        on.wrong("a feed of a backlog could not be imported")
        return
    value = on.people.change("bound stays urgent", urgent, BOTH)
    on.world.run(on.world.now + 0.5)
    on.wires.give(("push now", urgent), lambda _: None)
    on.within(
        16.0,
        "what a person pushes is there beside a backlog, after a failure",
        on.has(urgent, BOTH, value),
    )
    on.world.run(on.world.now + 8)
    _turns_end(on, watch)
    on.platform.manner = Manner()
    on.wires.job("allow", LIMIT)


def _turns_end(on: Clock, watch: Watch) -> None:
    """No turn begins a property after its seconds."""
    turns: dict[object, list[Seen]] = {}
    for one in watch.seen:
        if one.call.reference:
            turns.setdefault(one.job, []).append(one)
    for calls in turns.values():
        end = calls[0].call.left_at + TURN + 0.1
        for before, one in pairwise(calls):
            if one.call.reference != before.call.reference and one.call.left_at > end:
                on.wrong("a turn has begun a property after its seconds were over")
                return


def damaged_row(on: Clock) -> None:
    """A row at which our own code fails waits and says why, and the others go on."""
    if not may_make(on, 3, 0.05):
        return
    name, record = REFERENCES[0], on.judge.record
    damage = "replaced = '[\"never\"]', due_at = '2000-01-01 00:00:00'"
    _write(on, f"update properties_property set {damage} where object_reference_id = ?", name)
    on.within(AT_ONCE, "edits are there beside a damaged row", on.edit_all(but=[name]))
    reason = "select wait_reason from properties_property where object_reference_id = ?"
    on.within(
        AT_ONCE, "a damaged row says so", lambda: record.ask(reason, (name,)) == [("FAILURE",)]
    )
    mended = "replaced = '[]', due_at = '2000-01-01 00:00:00'"
    _write(on, f"update properties_property set {mended} where object_reference_id = ?", name)
    on.wires.job("allow", LIMIT)


def lost_marks(on: Clock) -> None:
    """Marks that a wrong clock wrote, and slots that a backup lacks, keep nobody waiting (I29)."""
    on.within(120.0, "all is settled before", on.is_settled, LOOK_AT_ALL)
    ahead = runtime.EPOCH + timedelta(seconds=on.world.now + 3_600)
    _write(on, "update crm_sync_ring set rung_at = ?", str(ahead.replace(tzinfo=None)))
    _write(on, "delete from crm_sync_slot")
    on.within(SOON, "edits are there after wrong marks", on.edit_all())


def _write(on: Clock, change: str, *values: str) -> None:
    _run_until_unlocked(on)
    on.judge.record.write(change, values)


def _run_until_unlocked(on: Clock) -> None:
    """Let the world go on until no transaction has the lock of the database."""
    while on.judge.record.is_locked():
        on.world.run(on.world.now + 0.001)


def rings_at_once(on: Clock) -> None:
    """Two that ring for one queue at one time send one message."""
    workers = [one for one in on.world.procs.values() if one.kind == "worker"]
    for number in range(12):
        on.world.temper = replace(CALM, switch=0.5)
        _run_until_unlocked(on)
        for one in workers:
            on.world.suspend(one, 0.4)
        for name in REFERENCES[:2]:
            on.people.change(f"bound at once {number}", name, BOTH)
        on.world.run(on.world.now + 0.4)
        on.world.temper = CALM
        on.world.run(on.world.now + 1.0)


def silent_platform(on: Clock) -> None:
    """While it does not answer, only the tick begins turns; who asks amid a read gets another."""
    name = REFERENCES[0]
    watch = Watch(on, lambda call: SLOW if call.reference == name else 0.05)
    on.wires.give(("push now", name), lambda _: None)
    if not watch.until(AT_ONCE, "a read leaves", lambda: watch.of(name)):
        return
    on.world.run(on.world.now + 1)
    asked = on.world.now
    on.wires.job("push now", name)
    on.within(
        SOON,
        "who asks amid a read gets another one",
        lambda: any(one.call.left_at > asked for one in watch.of(name)),
    )
    on.world.run(on.world.now + SOON)
    watch = Watch(on, lambda call: inf if call.reference else 0.05)
    on.wires.job("push now", *REFERENCES)
    if not watch.until(AT_ONCE, "a read leaves", lambda: watch.seen):
        return
    on.world.run(on.world.now + 2.5)
    left = [one.call.left_at for one in watch.seen if one.call.reference]
    if any(later - first < 0.3 for first, later in zip(left, left[3:], strict=False)):
        on.wrong("turns begin turns at a platform that does not answer (I11)")
