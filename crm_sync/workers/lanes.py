"""One worker at a time drains a queue of a workspace, and one ring at a time waits for it.

So a workspace with a long backlog takes one place among the workers for each of its queues, and
rings for it do not pile up before those for others. A power cut ends the holder of a lane as well,
so taking it and giving it back do not wait for the disk.
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

# What a worker that was killed held comes free after this time. A holder that is suspended for
# longer, in a call, may be overtaken: that costs a place among the workers, and nothing else.
LEASE = timedelta(seconds=3)
REMEMBERED = timedelta(seconds=60)  # a turn before that is long ago
RING_LASTS = timedelta(seconds=60)  # a ring that waited for longer is thrown away by the worker


def may_ring(queue: str, workspace_id: int, *, now: datetime) -> bool:
    """Tell whether no ring for the queue waits, and note that one does from now on."""
    mine = Lane.objects.filter(workspace_id=workspace_id, queue=queue)
    # Much later than now was written by a clock that went ahead (I29).
    waits = Q(rung_at__gt=now - RING_LASTS, rung_at__lt=now + RING_LASTS)
    if mine.filter(waits).exists():  # an UPDATE takes SQLite's only lock though nothing changes
        return False
    if mine.filter(~waits | Q(rung_at=None)).update(rung_at=now):
        return True
    _, is_new = Lane.objects.get_or_create(
        workspace_id=workspace_id, queue=queue, defaults={"rung_at": now}
    )
    return is_new


def ring_taken(queue: str, workspace_id: int) -> None:
    """Note that a worker has the ring, or that it could not be published: the next may follow."""
    Lane.objects.filter(workspace_id=workspace_id, queue=queue).update(rung_at=None)


def busy(now: datetime) -> set[tuple[str, int]]:
    """Return (queue, workspace id) of what a worker is at."""
    return set(Lane.objects.filter(due.leased(now)).values_list("queue", "workspace_id"))


def turns(now: datetime) -> dict[tuple[str, int], datetime]:
    """Return (queue, workspace id) → when a drain of it last began, of those not long ago."""
    # Much later than now was written by a clock that went ahead (I29).
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
        """Hold it for longer where half of the time is over; False when it was lost."""
        if self.until - now > LEASE / 2:
            return True
        self.until = now + LEASE
        with relaxed():
            return self.mine.update(lease_until=self.until) == 1

    def leave(self) -> bool:
        """Give it back; False when it stays ours, since somebody rang while we were at it."""
        with relaxed():
            self.is_left = bool(self.mine.filter(again=False).update(**due.RELEASED))
            return self.is_left or not self.mine.update(again=False)


@contextmanager
def enter(queue: str, workspace_id: int) -> Iterator[HeldLane | None]:
    """Hold the lane of a queue; None where another worker has it, which then looks again."""
    lane = _enter(queue, workspace_id)
    if lane is None:
        # Whoever holds it may have looked for the last time just before.
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
