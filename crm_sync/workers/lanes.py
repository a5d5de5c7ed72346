"""A lane lets one worker at a time drain a queue of a workspace, and one ring wait for it.

So a workspace with a long backlog has one drain for each of its queues, and its rings do not delay
those of others. A power cut ends the holder of a lane too, so taking a lane and giving
it back do not wait for the disk.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from crm_sync.jobs import due
from crm_sync.jobs.durability import relaxed
from crm_sync.models import Lane

# The lane of a worker that was killed is free after this time. If a holder is suspended for longer,
# a second worker may drain the queue too: that costs a thread, and nothing else.
LEASE = timedelta(seconds=3)
REMEMBERED = timedelta(seconds=60)  # older turns do not count
RING_LASTS = timedelta(seconds=60)  # a worker discards a ring that waited for longer


def may_ring(queue: str, workspace_id: int, *, now: datetime) -> bool:
    """Return True, and note that a ring waits, unless one waits for the queue already."""
    mine = Lane.objects.filter(workspace_id=workspace_id, queue=queue)
    # A time far ahead of now was written by a wrong clock (I29).
    waits = Q(rung_at__gt=now - RING_LASTS, rung_at__lt=now + RING_LASTS)
    if mine.filter(waits).exists():  # even an UPDATE of no row takes SQLite's only lock
        return False
    if mine.filter(~waits | Q(rung_at=None)).update(rung_at=now):
        return True
    _, is_new = Lane.objects.get_or_create(
        workspace_id=workspace_id, queue=queue, defaults={"rung_at": now}
    )
    return is_new


def ring_taken(queue: str, workspace_id: int) -> None:
    """Note that no ring waits any more: a worker has it, or it could not be published."""
    Lane.objects.filter(workspace_id=workspace_id, queue=queue).update(rung_at=None)


def busy(now: datetime) -> set[tuple[str, int]]:
    """Return (queue, workspace id) of the lanes that a worker holds."""
    return set(Lane.objects.filter(due.leased(now)).values_list("queue", "workspace_id"))


def turns(now: datetime) -> dict[tuple[str, int], datetime]:
    """Return (queue, workspace id) → when a drain of it last began, within `REMEMBERED`."""
    # A time far ahead of now was written by a wrong clock (I29).
    lately = Lane.objects.filter(begun_at__range=(now - REMEMBERED, now + REMEMBERED))
    columns = lately.values_list("queue", "workspace_id", "begun_at")
    return {(queue, workspace_id): at for queue, workspace_id, at in columns if at}


@dataclass
class HeldLane:
    """A lane that this worker holds until `until`."""

    mine: QuerySet[Lane]
    until: datetime
    is_left: bool = False

    def keep(self, now: datetime) -> bool:
        """Renew the lease once half of it is over; False when the lane was lost."""
        if self.until - now > LEASE / 2:
            return True
        self.until = now + LEASE
        with relaxed():
            return self.mine.update(lease_until=self.until) == 1

    def leave(self) -> bool:
        """Give the lane back; False when we keep it, because more work came meanwhile."""
        with relaxed():
            self.is_left = bool(self.mine.filter(again=False).update(**due.RELEASED))
            return self.is_left or not self.mine.update(again=False)


@contextmanager
def enter(queue: str, workspace_id: int) -> Iterator[HeldLane | None]:
    """Hold the lane of a queue; None if another worker has it, which then checks for more work."""
    lane = _enter(queue, workspace_id)
    if lane is None:
        # The holder may just have checked the queue for the last time.
        Lane.objects.filter(workspace_id=workspace_id, queue=queue).update(again=True)
        lane = _enter(queue, workspace_id)
    try:
        yield lane
    finally:
        if lane is not None and not lane.is_left:
            with relaxed():
                lane.mine.update(**due.RELEASED)


def _enter(queue: str, workspace_id: int) -> HeldLane | None:
    now, token = timezone.now(), uuid.uuid4()
    lane = Lane.objects.filter(workspace_id=workspace_id, queue=queue)
    columns = {"lease_token": token, "lease_until": now + LEASE, "again": False, "begun_at": now}
    with relaxed():
        is_ours = lane.filter(due.unleased(now)).update(**columns) == 1
    if not is_ours:
        if lane.exists():
            return None
        first = Lane(workspace_id=workspace_id, queue=queue)
        Lane.objects.bulk_create([first], ignore_conflicts=True)
        return _enter(queue, workspace_id)
    return HeldLane(lane.filter(lease_token=token), now + LEASE)
