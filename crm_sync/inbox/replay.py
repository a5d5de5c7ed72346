"""Replays received events. A preview first shows what that would change (I22).

A stuck event never had an effect, so its own row is made due again. A settled event keeps its row
and its outcome. Its copy with the source *replay* goes through the inbox, where the newest event
decides (decision 8). So each row is always in one state, and the counts of the states add up.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from crm_sync import hooks, row_locks
from crm_sync.inbox import apply, store
from crm_sync.models import ReceivedEvent
from crm_sync.platform.events import NotUnderstood, parse
from crm_sync.work import leases
from crm_sync.work.doorbell import doorbell

State = ReceivedEvent.State
TO_REPLAY = ("workspace_id", "digest", "body", "headers", "method")  # the columns that a copy gets


@dataclass(frozen=True)
class Replayed:
    """The result of a replay.

    Attributes:
        played: key of the row that is due now → key of the chosen event.
        waiting: the number of events that were due already.
        cleared: the number of events without bytes, which were removed by age (S23).
    """

    played: dict[int, int]
    waiting: int
    cleared: int


@dataclass(frozen=True)
class Preview:
    """The effect that a replay of one received event would have now.

    Attributes:
        state: the state of the event after the replay, "" if it would not be replayed.
        changes: (name, before, after) of each mirrored fact, in words.
    """

    received_event: ReceivedEvent
    state: str
    text: str
    changes: list[tuple[str, str, str]] = field(default_factory=list)


def replay(chosen: Sequence[ReceivedEvent], *, now: datetime) -> Replayed:
    """Make the chosen received events due again, in the order of their arrival, and ring."""
    chosen = in_order(chosen)
    stuck = [one.pk for one in chosen if one.state in store.STUCK]
    settled = [one for one in chosen if one.state not in (*store.STUCK, State.RECEIVED)]
    rows = ReceivedEvent.objects.filter(pk__in=[one.pk for one in settled])
    with transaction.atomic():
        store.apply_again(ReceivedEvent.objects.filter(pk__in=stuck), now=now)
        # Bytes that are removed now (S23) are not copied, or their removal sees the copies.
        row_locks.lock(rows)
        uncleared = set(rows.filter(cleared_at=None).values_list("pk", flat=True))
        kept = [one for one in settled if one.pk in uncleared]
        copies = ReceivedEvent.objects.bulk_create(_copy(one, now) for one in kept)
    doorbell.ring_each(store.QUEUE, (copy.workspace_id for copy in copies))
    played = {pk: pk for pk in stuck}
    played |= {copy.pk: one.pk for copy, one in zip(copies, kept, strict=True)}
    return Replayed(
        played,
        waiting=len(chosen) - len(stuck) - len(settled),
        cleared=len(settled) - len(kept),
    )


def _copy(one: ReceivedEvent, now: datetime) -> ReceivedEvent:
    columns = {name: getattr(one, name) for name in TO_REPLAY}
    return ReceivedEvent(
        **columns,
        source=ReceivedEvent.Source.REPLAY,
        # The original event: a replay of a replay is another replay of the original.
        replay_of_id=one.replay_of_id or one.pk,
        received_at=now,
        due_at=now,
    )


def preview(chosen: Iterable[ReceivedEvent], *, now: datetime) -> list[Preview]:
    """Return what a replay would do: run it in transactions that are rolled back.

    The same code runs as in a real replay. It runs order by order, so that no lock is held for
    long. No ring is sent, because rings wait for a commit.

    Raises:
        DatabaseError: a worker held the rows for too long. Nothing was changed.
    """
    found: dict[int, Preview] = {}
    ordered = sorted(in_order(chosen), key=_subject)
    for __, group in itertools.groupby(ordered, key=_subject):
        with transaction.atomic():
            found |= _play(list(group), now)
            transaction.set_rollback(True)
    return [found[one.pk] for one in in_order(chosen)]


def in_order(chosen: Iterable[ReceivedEvent]) -> list[ReceivedEvent]:
    """Sort received events by their arrival."""
    return sorted(chosen, key=lambda one: (one.received_at, one.pk))


def _subject(one: ReceivedEvent) -> tuple[int, str]:
    return one.workspace_id, one.order_platform_id


def _play(group: list[ReceivedEvent], now: datetime) -> dict[int, Preview]:
    """Apply each event once, and compare the known facts before and after it.

    This is no turn of a worker. It works on the rows that it has just made due, in a transaction
    that is rolled back. No other process sees its leases, so it does not release them. A real
    replay is applied like any event.
    """
    by_key = {one.pk: one for one in group}
    found = {one.pk: _left_alone(one) for one in group}
    played = replay(group, now=now).played
    rows = ReceivedEvent.objects.filter(pk__in=played)
    while claim := leases.claim(rows, now=now):
        before = _known(claim.row)
        apply.settle(claim, now=now)
        after = _known(claim.row)
        claim.row.refresh_from_db(fields=["state", "effect"])
        one = by_key[played[claim.row.pk]]
        changes = [
            (name, before.get(name, ""), after.get(name, ""))
            for name in after | before
            if before.get(name) != after.get(name)
        ]
        found[one.pk] = Preview(one, claim.row.state, claim.row.effect, changes)
    return found


def _left_alone(one: ReceivedEvent) -> Preview:
    """Return why an event is not replayed. `_play` replaces this if it is replayed."""
    if one.cleared_at is not None:
        return Preview(one, "", _("Its bytes were removed after their retention time."))
    if one.state == State.RECEIVED:
        return Preview(one, "", _("It waits for a worker already."))
    return Preview(one, "", _("A worker has it just now."))


def _known(row: ReceivedEvent) -> dict[str, str]:
    try:
        event = parse(bytes(row.body))
    except NotUnderstood:
        return {}
    facts: dict[str, str] = {}
    for snapshot in hooks.plugged().snapshots:
        facts |= snapshot(row.workspace_id, event)
    return facts
