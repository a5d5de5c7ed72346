"""Pure functions: the time of the next attempt, by Standard Webhooks 1.0.0."""

import random
from collections.abc import Mapping
from datetime import datetime, timedelta

from crm_sync.platform import responses

# Delays between the attempts, together three days.
DELAYS = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 300, 1800, *(hours * 3600 for hours in (2, 5, 10, 14, 20, 24)))
)
GIVE_UP_AFTER = sum(DELAYS, timedelta())
JITTER = 0.2  # part of a delay, so that messages that failed together are not sent together
LONGEST_RETRY_AFTER = 3600  # seconds
GONE = 410


def next_try(attempts: int, first_tried_at: datetime, *, now: datetime) -> datetime | None:
    """Return when a message is tried again after this number of attempts, or None to give up.

    Its age decides, not its attempts: a person, or a receiver that is back, may have caused early
    attempts.
    """
    if now - first_tried_at >= GIVE_UP_AFTER:
        return None
    delay = DELAYS[min(attempts, len(DELAYS)) - 1]
    return now + delay * (1 + JITTER * random.random())


def retry_after(headers: Mapping[str, str], *, now: datetime) -> timedelta:
    """Return the delay that a `Retry-After` names, at most an hour; none if it says nothing."""
    seconds = responses.retry_after(headers, now) or 0.0
    return timedelta(seconds=min(seconds, LONGEST_RETRY_AFTER))
