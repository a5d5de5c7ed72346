"""Pure: the platform's clock and ours (A56, I29, S11). The platform's clock dates the events.

The header `Date` of its answers shows how far it is ahead of ours. This difference can only explain
an event that lies in the future by our clock. It never makes an event suspect, since a `Date` that
is behind may come from a cache.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from crm_sync.sentence import Sentence, Value, counted_sentence, sentence

LIMIT = timedelta(minutes=10)  # S11: an event from 2099 would win for ever
MOVED = timedelta(seconds=5)  # a smaller change does not count
SHOWN = timedelta(minutes=1)  # a larger difference is shown to people
_NONE, _HALF_SECOND = timedelta(0), timedelta(seconds=0.5)


@dataclass(frozen=True)
class ClockReading:
    """The platform's clock, as one answer shows it.

    Attributes:
        theirs: its `Date`, in whole seconds.
        ours: our clock when the answer was complete.
        took: seconds between sending and `ours`.
    """

    theirs: datetime
    ours: datetime
    took: float

    @property
    def ahead(self) -> timedelta:
        """How far the platform's clock is ahead of ours, plus or minus `blur`."""
        return self.theirs - self.ours + self.blur

    @property
    def blur(self) -> timedelta:
        """The uncertainty of the reading: half a second, and half the length of the call."""
        return _HALF_SECOND + timedelta(seconds=self.took / 2)

    def differs_from(self, known: timedelta | None) -> bool:
        """Return whether the clock has moved by more than `blur` and MOVED, or was not known."""
        return known is None or abs(self.ahead - known) > self.blur + MOVED


def too_early(at: datetime, *, now: datetime, ahead: timedelta | None) -> datetime | None:
    """Return when an event with the date `at` may be applied, or None for now (S11).

    Args:
        now: our clock.
        ahead: how far the platform's clock is ahead of it, or None if this is not known.

    Returns:
        the moment on our clock from which its date is at most LIMIT ahead.
    """
    allowed = LIMIT + max(ahead or _NONE, _NONE)
    return at - allowed if at - now > allowed else None


def waiting(at: datetime, *, now: datetime, ahead: timedelta | None, until: datetime) -> Sentence:
    """Return the result of `too_early` in words."""
    words: dict[str, Value] = {"distance": _length(at - now - (ahead or _NONE)), "until": until}
    if ahead is None:
        return sentence(
            "dated %(distance)s ahead of our clock (that of the platform is not known yet):"
            " applied at %(until)s",
            **words,
        )
    return sentence(
        "dated %(distance)s ahead of the clock of the platform: applied at %(until)s", **words
    )


def difference(ahead: timedelta | None) -> str:
    """Return how the platform's clock differs from ours in words, or "" up to SHOWN."""
    if ahead is None or abs(ahead) <= SHOWN:
        return ""
    text = _("%(span)s ahead of ours") if ahead > _NONE else _("%(span)s behind ours")
    return text % {"span": _length(abs(ahead)).said()}


def _length(span: timedelta) -> Sentence:
    """Return a length of time in words: "12 minutes", "3 hours", "26,000 days"."""
    seconds = int(span.total_seconds())
    if span >= timedelta(days=2):
        return counted_sentence("%(count)s day", "%(count)s days", count=span.days)
    if span >= timedelta(hours=2):
        return counted_sentence("%(count)s hour", "%(count)s hours", count=seconds // 3_600)
    if seconds >= 120:
        return counted_sentence("%(count)s minute", "%(count)s minutes", count=seconds // 60)
    return counted_sentence("%(count)s second", "%(count)s seconds", count=seconds)
