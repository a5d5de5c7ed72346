"""Removes old messages that were delivered or given up (S23); pending ones are kept."""

import time
from datetime import datetime, timedelta

from crm_sync.models import OutgoingMessage

BATCH = 500  # rows in one DELETE, so that no other writer waits long


def clear(keep_days: int, *, now: datetime, budget: float) -> int:
    """Remove what was delivered or given up, for at most `budget` seconds; return how many.

    Args:
        keep_days: since it was written; 0 keeps it for ever.
    """
    end, count = time.monotonic() + budget, 0
    if not keep_days:
        return 0
    since = now - timedelta(days=keep_days)
    old = OutgoingMessage.objects.filter(due_at=None, created_at__lt=since).order_by("created_at")
    while time.monotonic() < end:
        keys = list(old.values_list("pk", flat=True)[:BATCH])
        if not keys:
            break
        count += OutgoingMessage.objects.filter(pk__in=keys, due_at=None).delete()[0]
    return count
