"""Slots limit the work that all processes together have under way (A8).

A workspace has one slot for each call to its platform that may be under way. A queue without calls
has a few slots of its own. The process that took a slot renews all of its slots together
(`keeper`). The slots of a killed process are free after five seconds (I12).
"""

import threading
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from crm_sync import durability
from crm_sync.models import Ring, Slot, Workspace, due
from crm_sync.models.due import RELEASED
from crm_sync.work import commits, fast_sql, keeper
from crm_sync.work.fast_sql import RowUpdate

LEASE = timedelta(seconds=5)
# Long pushes, the placing of orders, and short reads. With this many slots, each kind has one.
KINDS = 3


@dataclass(eq=False)
class HeldSlot:
    """A slot that a turn of this process holds until `until`, proved by the token."""

    pk: int
    token: uuid.UUID
    until: datetime


_lock = threading.Lock()
_held: dict[HeldSlot, None] = {}  # of this process, in the order in which they were taken
_made: dict[tuple[int, str], int] = {}  # the number of slots, by workspace and kind


def hold(
    workspace: Workspace, *, queue: str = "", leave: int = 0, first_alone: bool = False
) -> AbstractContextManager[HeldSlot | None]:
    """Hold a slot for calls in this block; yield None if all slots are taken.

    Args:
        queue: the queue that uses it, for the pages.
        leave: the number of the workspace's slots that are reserved for other queues, since a long
            backlog must not delay short ones. With fewer slots than KINDS, fewer are reserved.
        first_alone: take only the first slot, so that there is one probe at a time.
    """
    most = 1 if first_alone else share(workspace, leave)
    return _hold(workspace.pk, "", most, workspace.max_under_way, queue)


def share(workspace: Workspace, leave: int) -> int:
    """Return the number of the workspace's slots for a queue with this `leave`."""
    limit = workspace.max_under_way
    return limit - max(0, leave - max(0, KINDS - limit))


def hold_own(queue: str, workspace_id: int, count: int) -> AbstractContextManager[HeldSlot | None]:
    """Hold one of the `count` slots of a queue that does not call the platform."""
    return _hold(workspace_id, queue, count, count, queue)


@contextmanager
def _hold(
    workspace_id: int, kind: str, most: int, limit: int, queue: str
) -> Iterator[HeldSlot | None]:
    slot = _take(workspace_id, kind, most, limit, queue, timezone.now())
    try:
        yield slot
    finally:
        if slot is not None:
            _release(slot)


def worked_on(since: datetime, now: datetime) -> set[tuple[str, int]]:
    """Return (queue, workspace id) where a turn has been at work at any time since then.

    Between two turns of a long backlog, no slot is held for a moment. A killed process gives
    nothing back, so its slots tell until when it worked.
    """
    ends = (since, now + due.LONGEST_LEASE)
    held = Slot.objects.filter(lease_until__range=ends).values_list("queue", "workspace_id")
    ended = Ring.objects.filter(worked_at__range=(since, now))
    return {*held, *ended.values_list("queue", "workspace_id")}


def note_worked(queue: str, workspace_id: int, now: datetime) -> None:
    """Record that a turn of the queue has worked until now."""
    if not Ring.objects.filter(workspace_id=workspace_id, queue=queue).update(worked_at=now):
        _make_ring(queue, workspace_id, worked_at=now)


def note_refused(queue: str, workspace_id: int, now: datetime) -> None:
    """Record that the queue found no free slot of the workspace, and reserve the next one."""
    mine = Ring.objects.filter(workspace_id=workspace_id, queue=queue, refused_at=None)
    if not mine.update(refused_at=now):
        _make_ring(queue, workspace_id, refused_at=now)


def _make_ring(queue: str, workspace_id: int, **columns: datetime) -> None:
    """Make the row if there is none yet, because no broker is used."""
    row = Ring(workspace_id=workspace_id, queue=queue, **columns)
    Ring.objects.bulk_create([row], ignore_conflicts=True)


def take_refused(workspace_id: int) -> str | None:
    """Remove the queue that has waited longest for a slot from the line, and return it.

    Without this line a queue with few rows would find all slots taken again and again, while the
    turns of another queue follow each other.
    """
    line = Ring.objects.filter(workspace_id=workspace_id, refused_at__isnull=False)
    first = line.order_by("refused_at").first()
    if first is None or not line.filter(pk=first.pk).update(refused_at=None):
        return None
    return first.queue


def _renew(now: datetime) -> bool:
    """Renew our slots whose lease is half over; return whether this process has any slot."""
    with _lock:
        mine = list(_held)
        # If a slot ends too late, the clock has been set back since.
        old = [slot for slot in mine if not LEASE / 2 <= slot.until - now <= LEASE]
    if old:
        until, by_key = now + LEASE, {(slot.pk, slot.token): slot for slot in old}
        rows = Slot.objects.filter(pk__in={slot.pk for slot in old})
        for key in keeper.prolong(rows, {slot.token for slot in old}, until):
            by_key[key].until = until  # the others were lost
    return bool(mine)


def _take(
    workspace_id: int, kind: str, most: int, limit: int, queue: str, now: datetime
) -> HeldSlot | None:
    """Take the free slot with the highest number below `most`.

    Slots from `most` on are reserved for other queues.
    """
    if _made.get((workspace_id, kind), 0) < limit:
        _make_missing(workspace_id, kind, limit)
        _made[workspace_id, kind] = limit
    slot = _take_free(workspace_id, kind, most, limit, queue, now)
    # A backup that has been restored since may lack them.
    if slot is None and _make_missing(workspace_id, kind, limit):
        slot = _take_free(workspace_id, kind, most, limit, queue, now)
    if slot is not None:
        with _lock:
            _held[slot] = None
        keeper.begin()
    return slot


def _take_free(
    workspace_id: int, kind: str, most: int, limit: int, queue: str, now: datetime
) -> HeldSlot | None:
    token, until = uuid.uuid4(), now + LEASE
    # In the form of the database.
    moment, later = _stored("lease_until", now), _stored("lease_until", until)
    wrong = _stored("lease_until", now + due.LONGEST_LEASE)
    values: list[Any] = [_stored("lease_token", token), later, queue]
    values += [workspace_id, kind, most, moment, wrong]
    values += [workspace_id, kind, moment, wrong, limit]
    # This need not survive a power cut, which ends the holders too.
    with durability.lazily(), connection.cursor() as cursor:
        cursor.execute(_taking(), values)
        found = cursor.fetchone()
    return None if found is None else HeldSlot(found[0], token, until)


def _taking() -> str:
    """Return the UPDATE that takes a free slot if fewer slots than the limit are held."""
    rows = fast_sql.table(Slot)
    is_postgresql = connection.vendor == "postgresql"
    skip = "FOR UPDATE SKIP LOCKED" if is_postgresql else ""
    unwaited = f"AND {fast_sql.NOT_WAITED_FOR}" if is_postgresql else ""
    return (
        f"UPDATE {rows} SET lease_token = %s, lease_until = %s, queue = %s WHERE id = ("  # noqa: S608
        f" SELECT id FROM {rows} WHERE workspace_id = %s AND kind = %s AND number < %s"
        f" AND (lease_until IS NULL OR lease_until <= %s OR lease_until > %s)"
        # Slots may still be held from before the limit was lowered.
        f" AND (SELECT count(*) FROM {rows} AS held WHERE held.workspace_id = %s"
        f" AND held.kind = %s AND held.lease_until > %s AND held.lease_until <= %s) < %s"
        f" ORDER BY number DESC LIMIT 1 {skip}) {unwaited} RETURNING id"
    )


def _stored(name: str, value: object) -> Any:
    column: Any = Slot._meta.get_field(name)
    return column.get_db_prep_save(value, connection)


def _make_missing(workspace_id: int, kind: str, limit: int) -> bool:
    """Create the missing slots, and return whether any was missing."""
    mine = Slot.objects.filter(workspace_id=workspace_id, kind=kind)
    missing = sorted(set(range(limit)) - set(mine.values_list("number", flat=True)))
    made = [Slot(workspace_id=workspace_id, kind=kind, number=number) for number in missing]
    if made:
        with durability.lazily():
            Slot.objects.bulk_create(made, ignore_conflicts=True)
    return bool(made)


def _release(slot: HeldSlot) -> None:
    """Give the slot back if it is still ours."""
    with _lock:
        _held.pop(slot, None)
    with durability.working():
        commits.update(Slot, RowUpdate(RELEASED, {"id": slot.pk, "lease_token": slot.token}))


keeper.RENEWALS.append(_renew)
