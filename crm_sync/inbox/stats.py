"""Figures of the inbox. Each query uses an index or reads a bounded number of rows."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, QuerySet

from crm_sync.models import ReceivedEvent
from crm_sync.models.received_event import ReceivedEventState

State = ReceivedEvent.State
HOUR = timedelta(hours=1)
IS_REPLAY = {"replay_of__gt": 0}  # SQLite does not use the index for IS NOT NULL with a time
NEWEST = 500  # rows from which the lag is computed

# Each figure reads a range of the index on (state, received_at): a GROUP BY takes two to ten times
# as long.
_BY_HOUR = """
    WITH hours (number, since, until) AS (VALUES {hours}), states (name) AS (VALUES {states})
    SELECT number, name, (
        SELECT COUNT(*) FROM crm_sync_receivedevent
        WHERE state = name AND received_at >= since AND received_at < until {within}
    ) FROM hours CROSS JOIN states
"""


@dataclass(frozen=True)
class InboxStats:
    """The numbers of received and pending events, and how long they take.

    Attributes:
        oldest: how long the oldest pending event has waited, or None if there is none.
        lag: the 95th percentile of the time from receiving to settling, for events of the last
            hour, or None if none was settled.
    """

    last_hour: int
    pending: int
    quarantined: int
    failed: int
    oldest: timedelta | None
    lag: timedelta | None


def inbox_stats(rows: QuerySet[ReceivedEvent], now: datetime) -> InboxStats:
    """Return the figures of these events. A replay does not count as received."""
    pending = rows.filter(state=State.RECEIVED)
    first = pending.order_by("received_at").values_list("received_at", flat=True).first()
    counts = in_states(rows, State.RECEIVED, State.QUARANTINED, State.FAILED)
    return InboxStats(
        last_hour=received_since(rows, now - HOUR),
        pending=counts[State.RECEIVED],
        quarantined=counts[State.QUARANTINED],
        failed=counts[State.FAILED],
        oldest=None if first is None else max(now - first, timedelta(0)),
        lag=_lag(rows, now - HOUR),
    )


def in_states(rows: QuerySet[ReceivedEvent], *states: ReceivedEventState) -> Counter[str]:
    """Return the number of events in each of these states, by one query."""
    counted = rows.filter(state__in=states).order_by().values_list("state").annotate(Count("pk"))
    return Counter(dict(counted))


def received_since(rows: QuerySet[ReceivedEvent], since: datetime) -> int:
    """Return the number of events received since then. A replay does not count as received."""
    # All states are listed, so that the index on (state, received_at) is enough, even for millions
    # of rows. It does not contain `replay_of`. The few replays have their own index.
    came = rows.filter(received_at__gte=since)
    return came.filter(state__in=State.values).count() - came.filter(**IS_REPLAY).count()


def by_hour(
    hours: Sequence[datetime], workspaces: list[int] | None
) -> Counter[tuple[datetime, str]]:
    """Return the number of events by hour received and by current state, without replays.

    Args:
        hours: the start of each hour in UTC, the oldest first.
        workspaces: the keys of the workspaces to count, or None for all.
    """
    if workspaces == []:
        return Counter()
    adapt = connection.ops.adapt_datetimefield_value
    values = [
        one
        for number, hour in enumerate(hours)
        for one in (number, adapt(hour), adapt(hour + HOUR))
    ]
    mine = workspaces or []
    within = f"AND workspace_id IN ({', '.join(['%s'] * len(mine))})" if mine else ""
    statement = _BY_HOUR.format(
        hours=", ".join(["(%s, %s, %s)"] * len(hours)),
        states=", ".join(["(%s)"] * len(State.values)),
        within=within,
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [*values, *State.values, *mine])
        came = Counter({(hours[n], state): count for n, state, count in cursor.fetchall()})
    rows = ReceivedEvent.objects.filter(received_at__gte=hours[0], **IS_REPLAY)
    replays = rows.filter(workspace__in=mine) if mine else rows
    for at, state in replays.values_list("received_at", "state"):
        came[at.replace(minute=0, second=0, microsecond=0), state] -= 1
    return came


def _lag(rows: QuerySet[ReceivedEvent], since: datetime) -> timedelta | None:
    """Return the 95th percentile of the newest rows, by the nearest rank."""
    newest = rows.order_by("-pk").values_list("replay_of", "received_at", "applied_at")
    lengths = sorted(
        done - came
        for replayed, came, done in newest[:NEWEST]
        if done is not None and came >= since and replayed is None
    )
    if not lengths:
        return None
    return max(lengths[math.ceil(len(lengths) * 0.95) - 1], timedelta(0))
