"""Pure: when an order is read again (I18). Older orders are read less often."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta

from orders.models.statuses import ORDER_TERMINAL

SHORTEST = timedelta(minutes=15)
LONGEST = timedelta(hours=6)
PARTS = 96  # an order is read about once in a 96th of its age: 15 minutes within the first day
LAST = timedelta(hours=24)  # after its end: a later read would not find what was announced in a gap
SOON = timedelta(seconds=15)  # after a read that contradicts a recent value


def pause(age: timedelta, *, rng: Callable[[], float] = random.random) -> timedelta:
    """Return the time to an open order's next read. It grows with age, ±20 % to spread reads."""
    regular = min(max(age / PARTS, SHORTEST), LONGEST)
    return regular * (0.8 + 0.4 * rng())


def next_read(
    status: str,
    *,
    since: datetime,
    status_at: Callable[[], datetime],
    contradicts: bool,
    now: datetime,
) -> datetime | None:
    """Return when an order that was just read is read next, or None after the last read.

    Args:
        since: when it was placed, or when we first knew of it.
        status_at: returns when it got its status, by the platform's clock; called only at its end.
        contradicts: the read contradicts a recent value.
    """
    if contradicts:
        return now + SOON
    if status not in ORDER_TERMINAL:
        return now + pause(now - since)
    last = max(status_at(), since) + LAST
    return last if now < last else None
