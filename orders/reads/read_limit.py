"""A token bucket limits the reads of orders and assignments of a workspace, by all workers (A8).

A few reads may happen at once, so that an order for which somebody waits is read immediately. With
N reads a minute, N/6 may happen at once, and 5/6 of N are spread evenly: never more than N within
60 seconds. A read is one conditional UPDATE, without a lock, on any database.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet

from orders.models import RateLimit

BEHIND = timedelta(minutes=2)  # the check for stalled work uses a time in the past
UPDATE_TRIES = 10  # while other workers take a read in between


def limits() -> tuple[int, timedelta]:
    """Return the number of reads allowed at once, and the time until one more is allowed."""
    most = max(1, settings.ORDER_READS_A_MINUTE)
    at_once = max(1, most // 6)
    return at_once, timedelta(seconds=60) / max(1, most - at_once)


def take(workspace_id: int, *, now: datetime) -> bool:
    """Take one read from the bucket. Return False if none is left."""
    at_once, share = limits()
    full = now + at_once * share
    for _ in range(UPDATE_TRIES):
        limit, _is_first = RateLimit.objects.get_or_create(workspace_id=workspace_id)
        paid_until = max(limit.paid_until, now) + share
        # A time further ahead than the bucket allows was written by a wrong clock.
        columns = {"paid_until": min(paid_until, full)}
        mine = RateLimit.objects.filter(pk=limit.pk, paid_until=limit.paid_until)
        if paid_until > full:
            mine.filter(paid_until__gt=full).update(**columns)
            return False
        if mine.update(**columns) == 1:
            return True
    return False


def exhausted(now: datetime) -> QuerySet[RateLimit]:
    """Return the rows of the workspaces in which no order may be read now."""
    at_once, share = limits()
    full = now + at_once * share
    # A time far ahead was written by a wrong clock. `take` corrects it (I29).
    mine = RateLimit.objects.filter(paid_until__gt=full - share)
    return mine.filter(paid_until__lte=full + BEHIND)
