"""Slots limit the requests that all workers together have under way in a workspace (A8).

A worker takes its slots once for each drain, not for each call, so the limit costs little. Slots of
a worker that was killed must not keep the workspace waiting (I12): its calls ended with it.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from crm_sync.jobs import due
from crm_sync.jobs.durability import relaxed
from crm_sync.models import Slot, Workspace

# Who holds one slot calls in the thread that would renew it: longer than one call can last.
LEASE = timedelta(seconds=1.5 * settings.CALL_DEADLINE)
# Who holds several has a thread for each, and renews them twice a second, if there is need.
SEVERAL_LEASE = min(LEASE, timedelta(seconds=5))
# Long pushes, the placing of orders, and short reads: a limit of so many calls has one for each.
KINDS = 3
UPDATE_TRIES = 8  # while other workers take the same slots first


class HeldSlots:
    """Slots that this worker holds until `until`, all with one token."""

    def __init__(self, slots: "list[int]", token: uuid.UUID, until: datetime) -> None:
        self.count = len(slots)
        self.lease = _lease(self.count)
        self.until = until
        self._mine = Slot.objects.filter(pk__in=slots, lease_token=token)

    def keep(self, now: datetime) -> bool:
        """Renew the leases once half of their time is over; False when a slot was lost."""
        if self.until - now > self.lease / 2:
            return True
        until = now + self.lease
        with relaxed():
            if self._mine.update(lease_until=until) < self.count:
                return False
        self.until = until
        return True

    def release(self) -> None:
        """Give back what is still ours."""
        with relaxed():
            self._mine.update(**due.RELEASED)


@contextmanager
def hold(workspace: Workspace, wanted: int = 1, *, leave: int = 0) -> Iterator[HeldSlots]:
    """Hold up to `wanted` slots, as many as are free; perhaps none.

    Args:
        leave: how many of the workspace's slots are left to others, since a long drain must not
            keep short ones waiting. With fewer slots than kinds of work, fewer are left.
    """
    limit = workspace.max_under_way
    most = limit - max(0, leave - max(0, KINDS - limit))
    held = _take(workspace, min(wanted, most), most, timezone.now())
    try:
        yield held
    finally:
        if held.count:
            held.release()


def _take(workspace: Workspace, wanted: int, most: int, now: datetime) -> HeldSlots:
    token, until = uuid.uuid4(), now
    taken: list[int] = []
    for _ in range(UPDATE_TRIES):
        found = _free(workspace, wanted, most, now)
        if not found:
            break
        until = now + _lease(len(found))
        mine = Slot.objects.filter(pk__in=found)
        with relaxed():  # a power cut ends their holders too
            count = mine.filter(due.unleased(now)).update(lease_token=token, lease_until=until)
        if count:
            # Without those that another worker took first.
            taken = list(mine.filter(lease_token=token).values_list("pk", flat=True))
            break
    held = HeldSlots(taken, token, until)
    if held.count == 1:
        held.keep(now)  # for longer, if it is what was left of several
    return held


def _lease(count: int) -> timedelta:
    return SEVERAL_LEASE if count > 1 else LEASE


def _free(workspace: Workspace, wanted: int, most: int, now: datetime) -> list[int]:
    """Return the keys of free slots, from the end, where those are that a long drain leaves."""
    mine = Slot.objects.filter(workspace=workspace).order_by("-number")
    slots = list(mine.values_list("pk", "number", "lease_until"))
    if sum(number < workspace.max_under_way for _, number, _ in slots) < workspace.max_under_way:
        _make(workspace, {number for _, number, _ in slots})
        return _free(workspace, wanted, most, now)
    held = {number for _, number, until in slots if until is not None and until > now}
    # Slots may still be held from before the limit was lowered.
    beyond = sum(number >= workspace.max_under_way for number in held)
    free = [pk for pk, number, _ in slots if number < most and number not in held]
    return free[: max(0, min(wanted, len(free) - beyond))]


def _make(workspace: Workspace, there: set[int]) -> None:
    missing = [number for number in range(workspace.max_under_way) if number not in there]
    Slot.objects.bulk_create(
        (Slot(workspace=workspace, number=number) for number in missing), ignore_conflicts=True
    )
