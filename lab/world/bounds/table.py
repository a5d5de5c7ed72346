"""All bounds, and which of them a seed tries."""

from collections.abc import Callable, Collection

from lab.world.bounds import (
    alarms,
    feeds,
    links,
    mail,
    messages,
    orders,
    pages,
    pushes,
    rules,
    turns,
)
from lab.world.bounds.clock import LOOK_AT_ALL, Clock
from lab.world.platform import Manner
from lab.world.scheduler import CALM

EVERY = 20  # seeds one after the other, of which one tries each of them
BOUNDS: tuple[Callable[[Clock], None], ...] = (
    pushes.edits,
    orders.events,
    pushes.killed_workers,
    pushes.platform_down,
    pushes.lost_messages,
    pushes.frozen_broker,
    pushes.hanging_calls,
    pushes.fewer_calls,
    pushes.slow_calls,
    pushes.slot_of_the_dead,
    orders.sender_of_an_order_dies,
    orders.files,
    messages.messages,
    messages.receiver_down,
    messages.hanging_receiver,
    mail.sender_of_a_mail_dies,
    rules.rules,
    links.doubles,
    feeds.burst,
    feeds.files_in_turn,
    pushes.hanging_neighbour,
    messages.chat,
    alarms.paused_platform,
    mail.reminders,
    pushes.unclear_creation,
    pages.meetings,
    pages.two_windows,
    rules.a_rule_ends,
    rules.holds,
    pages.unused_sessions,
    rules.a_rule_refuses,
    rules.tokens,
    pushes.silent_beat,
    alarms.no_worker,
    alarms.failing_receiver,
    alarms.missing_feed,
    orders.spoiled_order,
    orders.orders_of_two,
    orders.rotations,
    turns.suspended_workers,
    turns.a_pause,
    turns.line_for_a_slot,
    turns.backlog,
    turns.damaged_row,
    turns.lost_marks,
    turns.rings_at_once,
    turns.silent_platform,
    orders.conflicting_order,
    orders.slow_reads,
    pushes.refused_pushes,
    pushes.late_push,
)
NAMES = tuple(one.__name__ for one in BOUNDS)


def ask(on: Clock, alone: Collection[str] = ()) -> None:
    """Try those of the seed, or these alone."""
    for number, (name, one) in enumerate(zip(NAMES, BOUNDS, strict=True)):
        is_tried = name in alone if alone else (on.world.seed + number) % EVERY == 0
        if is_tried and not on.judge.record.wrong:
            on.world.tell(f"bound: {name}")
            on.world.doubled.clear()
            on.world.failed.clear()
            one(on)
            for message in on.world.doubled:
                on.wrong(f"{message} was sent while the same one waited")
            for failure in on.world.failed:
                on.wrong(failure)
            on.platform.manner = Manner()
            on.world.temper = CALM
            what = f"all is settled after {name}"
            on.within(120.0, what, on.is_settled, LOOK_AT_ALL)
