"""Slots limit what all processes together have under way (A8).

A workspace has as many as it allows calls to its platform; a queue without such calls has a few of
its own. A slot belongs to the process that took it, which renews all of its slots together
(`keeper`). Slots of one that was killed are free after five seconds (I12).
"""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
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
# Long pushes, the placing of orders, and short reads: a limit of so many calls has one for each.
KINDS = 3


@dataclass(eq=False)
class HeldSlot:
    """A slot that a turn of this process holds until `until`; the token proves it."""

    pk: int
    token: uuid.UUID
    until: datetime


_lock = threading.Lock()
_held: set[HeldSlot] = set()  # of this process
_made: dict[tuple[int, str], int] = {}  # so many slots there are, by workspace and kind


@contextmanager
def hold(
    workspace: Workspace, *, queue: str = "", leave: int = 0, first_alone: bool = False
) -> Iterator[HeldSlot | None]:
    """Hold one of the slots for calls in this block; None where all are taken.

    Args:
        queue: who uses it, as the pages show it.
        leave: how many of the workspace's slots are left to others, since a long backlog must not
            keep short ones waiting. With fewer slots than kinds of work, fewer are left.
        first_alone: take the first one or none: one call is to try whether the platform answers.
    """
    most = 1 if first_alone else share(workspace, leave)
    with _hold(workspace.pk, "", most, workspace.max_under_way, queue) as slot:
        yield slot


def share(workspace: Workspace, leave: int) -> int:
    """Return how many slots of the workspace a queue may hold that leaves so many to others."""
    limit = workspace.max_under_way
    return limit - max(0, leave - max(0, KINDS - limit))


@contextmanager
def hold_own(queue: str, workspace_id: int, count: int) -> Iterator[HeldSlot | None]:
    """Hold one of the `count` slots of a queue that makes no call to the platform."""
    with _hold(workspace_id, queue, count, count, queue) as slot:
        yield slot


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


def busy(now: datetime) -> set[tuple[str, int]]:
    """Return (queue, workspace id) of what is worked on."""
    return set(Slot.objects.filter(due.leased(now)).values_list("queue", "workspace_id"))


def note_refused(queue: str, workspace_id: int, now: datetime) -> None:
    """Note that the queue found no slot of the workspace free: the next one is for it."""
    mine = {"workspace_id": workspace_id, "queue": queue}
    if not Ring.objects.filter(**mine, refused_at=None).update(refused_at=now):
        # It is in the line already; or it was never rung for, where no broker is used.
        Ring.objects.bulk_create([Ring(**mine, refused_at=now)], ignore_conflicts=True)


def take_refused(workspace_id: int) -> str | None:
    """Return the queue that waits longest for a slot of the workspace, and take it off the line.

    Without this line a queue with few rows would find all slots taken again and again, beside one
    whose turns follow each other.
    """
    line = Ring.objects.filter(workspace_id=workspace_id, refused_at__isnull=False)
    first = line.order_by("refused_at").first()
    if first is None or not line.filter(pk=first.pk).update(refused_at=None):
        return None
    return first.queue


def _renew(now: datetime) -> bool:
    """Renew the slots of this process of which half the time is over; False where it has none."""
    with _lock:
        mine = list(_held)
        # One that ends too late was written by a clock that has been set back since.
        old = [slot for slot in mine if not LEASE / 2 <= slot.until - now <= LEASE]
    if old:
        _renew_these(old, now)
    return bool(mine)


def _renew_these(old: list[HeldSlot], now: datetime) -> None:
    until, mine = now + LEASE, {(slot.pk, slot.token): slot for slot in old}
    rows = Slot.objects.filter(pk__in={pk for pk, _ in mine})
    for key in keeper.prolong(rows, {token for _, token in mine}, until):
        mine[key].until = until  # the others were lost


def _take(
    workspace_id: int, kind: str, most: int, limit: int, queue: str, now: datetime
) -> HeldSlot | None:
    """Take the free slot with the highest number; a long backlog leaves the highest to others."""
    if _made.get((workspace_id, kind), 0) < limit:
        _make_missing(workspace_id, kind, limit)
        _made[workspace_id, kind] = limit
    slot = _take_free(workspace_id, kind, most, limit, queue, now)
    # A backup that was restored meanwhile may not have them.
    if slot is None and _make_missing(workspace_id, kind, limit):
        slot = _take_free(workspace_id, kind, most, limit, queue, now)
    if slot is not None:
        with _lock:
            _held.add(slot)
        keeper.begin()
    return slot


def _take_free(
    workspace_id: int, kind: str, most: int, limit: int, queue: str, now: datetime
) -> HeldSlot | None:
    token, until = uuid.uuid4(), now + LEASE
    # In the form in which the database has them.
    moment, later = _stored("lease_until", now), _stored("lease_until", until)
    wrong = _stored("lease_until", now + due.LONGEST_LEASE)
    values: list[Any] = [_stored("lease_token", token), later, queue]
    values += [workspace_id, kind, most, moment, wrong]
    values += [workspace_id, kind, moment, wrong, limit]
    # A power cut ends the holders too.
    with durability.lazily(), connection.cursor() as cursor:
        cursor.execute(_taking(), values)
        found = cursor.fetchone()
    return None if found is None else HeldSlot(found[0], token, until)


def _taking() -> str:
    """Return the UPDATE of one free slot, as long as fewer than the limit are held."""
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
    """Make the slots that are missing, and tell whether any was."""
    mine = Slot.objects.filter(workspace_id=workspace_id, kind=kind)
    missing = sorted(set(range(limit)) - set(mine.values_list("number", flat=True)))
    made = [Slot(workspace_id=workspace_id, kind=kind, number=number) for number in missing]
    if made:
        with durability.lazily():
            Slot.objects.bulk_create(made, ignore_conflicts=True)
    return bool(made)


def _release(slot: HeldSlot) -> None:
    """Give it back, if it is still ours."""
    with _lock:
        _held.discard(slot)
    with durability.working():
        commits.update(Slot, RowUpdate(RELEASED, {"id": slot.pk, "lease_token": slot.token}))


keeper.RENEWALS.append(_renew)
