"""Figures of the inbox; each query uses an index or reads a bounded number of rows."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from crm_sync.models import ReceivedEvent

State = ReceivedEvent.State
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NEWEST = 500  # rows from which the lag is computed


@dataclass(frozen=True)
class InboxStats:
    """What was received, what waits, and how long it takes.

    Attributes:
        oldest: how long the first of those that wait has waited; None when none does.
        lag: 95 of 100 that came in the last hour took no longer from receiving to settling; None
            when none was settled.
    """

    last_hour: int
    last_day: int
    pending: int
    quarantined: int
    failed: int
    oldest: timedelta | None
    lag: timedelta | None


def inbox_stats(rows: QuerySet[ReceivedEvent], now: datetime) -> InboxStats:
    """Return the figures of these received events; replays do not count as received."""
    pending = rows.filter(state=State.RECEIVED)
    first = pending.order_by("received_at").values_list("received_at", flat=True).first()
    return InboxStats(
        last_hour=received_since(rows, now - HOUR),
        last_day=received_since(rows, now - DAY),
        pending=pending.count(),
        quarantined=rows.filter(state=State.QUARANTINED).count(),
        failed=rows.filter(state=State.FAILED).count(),
        oldest=None if first is None else max(now - first, timedelta(0)),
        lag=_lag(rows, now - HOUR),
    )


def received_since(rows: QuerySet[ReceivedEvent], since: datetime) -> int:
    """Return how many of these events came since then; a replay did not come."""
    # All states are named, so that the index on (state, received_at) alone answers among millions;
    # it does not hold `replay_of`, and the few replays have an index of their own.
    came = rows.filter(state__in=State.values, received_at__gte=since)
    return came.count() - came.filter(replay_of__isnull=False).count()


def _lag(rows: QuerySet[ReceivedEvent], since: datetime) -> timedelta | None:
    """Return the 95th percentile, by the nearest rank, among the newest rows."""
    newest = rows.order_by("-pk").values_list("replay_of", "received_at", "applied_at")
    lengths = sorted(
        done - came
        for replayed, came, done in newest[:NEWEST]
        if done is not None and came >= since and replayed is None
    )
    if not lengths:
        return None
    return max(lengths[math.ceil(len(lengths) * 0.95) - 1], timedelta(0))
