"""Removes old rows, a batch at a time (S23)."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

BATCH = 500  # rows in one statement, so that no other writer waits long

Row = TypeVar("Row", bound=Model)
# Handles a batch, and returns its number of rows: 0 when there are no more.
Part = Callable[[], int]


def older(rows: QuerySet[Row], column: str, *, days: int, now: datetime) -> QuerySet[Row]:
    """Return the rows that are older than `days`; no rows if it is 0."""
    since = now - timedelta(days=days)
    return rows.filter(**{f"{column}__lt": since}) if days else rows.none()


def deletion(rows: QuerySet[Any]) -> Part:
    """Return a part that deletes the rows in batches, if they still match at that time."""

    def delete() -> int:
        keys = list(rows.values_list("pk", flat=True)[:BATCH])
        return rows.filter(pk__in=keys).delete()[0] if keys else 0

    return delete


def clear(parts: Mapping[str, Part], *, budget: float) -> dict[str, int]:
    """Let each part handle a batch in turn, so that none delays the others.

    Args:
        budget: seconds after which no further batch is begun.

    Returns:
        the number of rows that each part handled, without parts that handled none.
    """
    end, counts = time.monotonic() + budget, dict.fromkeys(parts, 0)
    waiting = list(parts)
    while waiting and time.monotonic() < end:
        name = waiting.pop(0)
        if count := parts[name]():
            counts[name] += count
            waiting.append(name)
    return {name: count for name, count in counts.items() if count}
