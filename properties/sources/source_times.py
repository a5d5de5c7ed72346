"""Pure: when a source is fetched next, and when a person must be warned about it."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from crm_sync.sentence import Sentence, counted_sentence
from properties.models import Source

TRIES = 3  # failures in a row until a mail is sent; a refusal is mailed at once


def is_away(row: Source, now: datetime) -> bool:
    """Return whether a source has had nothing new for longer than expected."""
    if not row.expect_hours or not row.is_enabled:
        return False
    return now - _since(row) > timedelta(hours=row.expect_hours)


def away_text(row: Source, now: datetime) -> Sentence:
    """Return a text with the time since the last new file."""
    hours = (now - _since(row)) // timedelta(hours=1)
    return counted_sentence(
        "nothing new for %(count)s hour; expected is something within %(expected)s",
        "nothing new for %(count)s hours; expected is something within %(expected)s",
        count=hours,
        expected=row.expect_hours or 0,
    )


def _since(row: Source) -> datetime:
    return max(row.changed_at or row.set_at, row.set_at)


def next_fetch(
    every_minutes: int | None, daily_at: time | None, *, now: datetime, zone: ZoneInfo
) -> datetime:
    """Return the first time after `now` at which a source is fetched.

    Only `now` counts, so one fetch replaces all fetches that were missed while no worker ran.

    Args:
        every_minutes: the minutes between two fetches; None for once a day.
        daily_at: the local time in the zone. If the clocks skip this time on a day, it is an hour
            later. If they show it twice, the first counts.
    """
    if daily_at is None:
        return now + timedelta(minutes=every_minutes or 60)
    today = now.astimezone(zone).date()
    days = (today + timedelta(days=ahead) for ahead in range(-1, 3))
    found = (datetime.combine(day, daily_at, tzinfo=zone).astimezone(UTC) for day in days)
    return next(at for at in found if at > now)
