"""Read the dates and times of the wire (A52)."""

import re
from datetime import UTC, date, datetime

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATETIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?", re.IGNORECASE
)


def read_date(text: str) -> date | None:
    """Return the day that `2026-01-31` names, or None where the text is not a date."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def read_datetime(text: str) -> datetime | None:
    """Return an instant in UTC, or None where the text is none.

    A time without an offset is UTC (A52), a bare date its midnight: the platform names fields
    `…At` that hold no more than a date.
    """
    if not (_DATETIME.fullmatch(text) or _DATE.fullmatch(text)):
        return None
    try:
        instant = datetime.fromisoformat(text.upper())
        return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # 30 February; year 1 in an offset east of UTC
        return None
