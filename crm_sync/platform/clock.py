"""Pure: the platform's clock and ours (I29, S11). Events are dated by the platform's.

How far it is ahead of ours is measured by the `Date` of its answers. That explains an event which
ours calls one of the future; it accuses none. A `Date` that is behind may be that of a cache.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

LIMIT = timedelta(minutes=10)  # S11: an event from 2099 would win for ever
MOVED = timedelta(seconds=5)  # a clock that moved by less is where it was
SHOWN = timedelta(minutes=1)  # a larger difference is shown to people
_NONE, _HALF_SECOND = timedelta(0), timedelta(seconds=0.5)
_UNITS = ((timedelta(days=2), 86_400, "days"), (timedelta(hours=2), 3_600, "hours"))


@dataclass(frozen=True)
class ClockReading:
    """What one answer shows of the platform's clock.

    Attributes:
        theirs: its `Date`, in whole seconds.
        ours: our clock when the answer was complete.
        took: seconds from sending to then.
    """

    theirs: datetime
    ours: datetime
    took: float

    @property
    def ahead(self) -> timedelta:
        """How far the platform's clock is ahead of ours, give or take `blur`."""
        return self.theirs - self.ours + self.blur

    @property
    def blur(self) -> timedelta:
        """Half of the interval in which the clock was read: of a second, and of the call."""
        return _HALF_SECOND + timedelta(seconds=self.took / 2)

    def differs_from(self, known: timedelta | None) -> bool:
        """Tell whether the clock has moved, or was not known; a slow call shows it less exactly."""
        return known is None or abs(self.ahead - known) > self.blur + MOVED


def too_early(at: datetime, *, now: datetime, ahead: timedelta | None) -> datetime | None:
    """Say when an event may be applied that is dated `at`: None at once, else a later moment (S11).

    Args:
        now: our clock.
        ahead: how far the platform's clock is ahead of it; None where that is not known.

    Returns:
        the moment on our clock at which its date is no more than the limit ahead.
    """
    allowed = LIMIT + max(ahead or _NONE, _NONE)
    return at - allowed if at - now > allowed else None


def waiting(at: datetime, *, now: datetime, ahead: timedelta | None, until: datetime) -> str:
    """Say in words what `too_early` found."""
    whose = "the clock of the platform"
    if ahead is None:
        whose = "our clock (that of the platform is not known yet)"
    distance = length(at - now - (ahead or _NONE))
    return f"dated {distance} ahead of {whose}: applied at {until:%Y-%m-%d %H:%M:%S} UTC"


def difference(ahead: timedelta | None) -> str:
    """Say in words how the platform's clock differs from ours; "" where nobody need know."""
    if ahead is None or abs(ahead) <= SHOWN:
        return ""
    side = "ahead of" if ahead > _NONE else "behind"
    return f"{length(abs(ahead))} {side} ours"


def length(span: timedelta) -> str:
    """Say a length of time in words: "12 minutes", "3 hours", "26,000 days"."""
    seconds = int(span.total_seconds())
    for least, size, name in _UNITS:
        if span >= least:
            return f"{seconds // size:,} {name}"
    return f"{seconds // 60} minutes" if seconds >= 120 else f"{seconds} seconds"
