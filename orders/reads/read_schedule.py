"""Pure: when an order is read again (I18): less as it ages."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta

from orders.models.statuses import ORDER_TERMINAL

SHORTEST = timedelta(minutes=15)
LONGEST = timedelta(hours=6)
PARTS = 96  # an order is read about once in a 96th of its age: 15 minutes within the first day
LAST = timedelta(hours=24)  # after its end: by then what was announced in a gap is missed
SOON = timedelta(seconds=15)  # after a read that contradicts something young


def pause(age: timedelta, *, rng: Callable[[], float] = random.random) -> timedelta:
    """Give the time to the next read of an open order: grows with its age, ±20 % so they spread."""
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
    """Say when an order that has just been read is read next; None after the last time.

    Args:
        since: when it was placed, or when we first heard of it.
        status_at: returns when it got its status, by the platform's clock; called only at its end.
        contradicts: what was read contradicts something young.
    """
    if contradicts:
        return now + SOON
    if status not in ORDER_TERMINAL:
        return now + pause(now - since)
    last = max(status_at(), since) + LAST
    return last if now < last else None
