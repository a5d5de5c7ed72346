"""Removes bytes and headers of old received events. Their rows stay (S23).

A row still shows the event, its time and its effect. Its digests still identify a copy that comes
by callback or by the history. An event that waits for a person keeps its bytes at any age.
"""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import QuerySet

from crm_sync import expiry, row_locks
from crm_sync.expiry import Part
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent

State = ReceivedEvent.State

# The states of events that nobody needs to see again.
CLEARED = (State.APPLIED, State.DUPLICATE, State.STALE, State.IGNORED)


def parts(keep_days: Mapping[str, int], *, now: datetime) -> dict[str, Part]:
    """Return for each state the function that removes old bytes and headers.

    Args:
        keep_days: state → days after the event was received; 0 keeps the bytes for ever.
    """

    def part(state: str) -> Part:
        rows = old(state, keep_days, now=now).order_by("received_at")

        def clear() -> int:
            batch = rows.only("pk", "canonical_digest", "body")[: expiry.BATCH]
            return _clear(list(batch), state, now)

        return clear

    return {state: part(state) for state in keep_days}


def clear_now(keys: list[int], *, now: datetime) -> int:
    """Remove bytes and headers of settled events of any age; return the number of events."""
    settled = ReceivedEvent.objects.filter(pk__in=keys, due_at=None, cleared_at=None)
    count = 0
    for state in ReceivedEvent.SETTLED:
        rows = list(settled.filter(state=state).only("pk", "canonical_digest", "body"))
        count += _clear(rows, state, now)
    return count


def old(state: str, keep_days: Mapping[str, int], *, now: datetime) -> QuerySet[ReceivedEvent]:
    """Return the received events of a state whose bytes must be removed."""
    uncleared = ReceivedEvent.objects.filter(state=state, cleared_at=None, due_at=None)
    return expiry.older(uncleared, "received_at", days=keep_days[state], now=now)


def _clear(rows: list[ReceivedEvent], state: str, now: datetime) -> int:
    # An event that a person set aside has no digest yet, and none can be made without its bytes.
    for row in rows:
        if not row.canonical_digest and (digest := store.digest_of(bytes(row.body))):
            ReceivedEvent.objects.filter(pk=row.pk).update(canonical_digest=digest)
    mine = ReceivedEvent.objects.filter(
        pk__in=[row.pk for row in rows], state=state, cleared_at=None
    )
    return row_locks.update(mine, body=b"", headers={}, cleared_at=now)
