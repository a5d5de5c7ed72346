"""Pure: when a person must look at a source."""

from datetime import datetime, timedelta

from properties.models import Source

TRIES = 3  # looks in a row that fail before somebody is told; what is refused is told at once


def is_away(row: Source, now: datetime) -> bool:
    """Tell whether nothing new has come for longer than the source expects."""
    if not row.expect_hours or not row.is_enabled:
        return False
    return now - _since(row) > timedelta(hours=row.expect_hours)


def away_text(row: Source, now: datetime) -> str:
    """Say since when nothing new has come."""
    hours = (now - _since(row)) // timedelta(hours=1)
    return f"nothing new for {hours} hours; expected is something within {row.expect_hours}"


def _since(row: Source) -> datetime:
    return max(row.changed_at or row.set_at, row.set_at)
