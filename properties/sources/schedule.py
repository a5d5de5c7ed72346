"""Pure: when a source is fetched next."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo


def next_fetch(
    every_minutes: int | None, daily_at: time | None, *, now: datetime, zone: ZoneInfo
) -> datetime:
    """Return the first moment after `now` at which it is fetched.

    What was missed while no worker ran is made up for by one fetch: only `now` counts.

    Args:
        every_minutes: between two fetches; None for once a day.
        daily_at: by the clocks of the zone. On the day on which they leave out this time it is the
            hour after, and where they show it twice the first counts.
    """
    if daily_at is None:
        return now + timedelta(minutes=every_minutes or 60)
    today = now.astimezone(zone).date()
    days = (today + timedelta(days=ahead) for ahead in range(-1, 3))
    found = (datetime.combine(day, daily_at, tzinfo=zone).astimezone(UTC) for day in days)
    return next(at for at in found if at > now)
