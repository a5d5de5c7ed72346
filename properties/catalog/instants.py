"""Read the dates and times of the wire (A52)."""

import re
from datetime import UTC, date, datetime, tzinfo

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATETIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?", re.IGNORECASE
)


def read_date(text: str) -> date | None:
    """Return the day that `2026-01-31` names, or None if the text is not a date."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def read_datetime(text: str) -> datetime | None:
    """Return an instant in UTC, or None if the text is none.

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


def local(text: str, zone: tzinfo) -> str:
    """Return a time in a zone, with its offset; a date without a time stays as it is."""
    instant = read_datetime(text)
    if instant is None or read_date(text):
        return text
    try:
        there = instant.astimezone(zone)
    except OverflowError:  # the first or the last day that a calendar has
        return text
    offset = there.utcoffset()
    is_exact = offset is not None and not offset.total_seconds() % 60  # before zones it was not
    return (there if is_exact else instant).isoformat()
