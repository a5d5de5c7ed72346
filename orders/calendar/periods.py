"""Pure: the days that a calendar shows, and the periods before and after them."""

from dataclasses import dataclass
from datetime import date, timedelta

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from crm_sync.translated import day_alone

WEEK = timedelta(days=7)
LIST = timedelta(days=30)
VIEWS = ("month", "week", "list")


@dataclass(frozen=True)
class Period:
    """The days of one view.

    Attributes:
        first, end: the shown days, without `end`. A month is shown in whole weeks.
        title: the heading.
        before, after: a day of the previous and a day of the next period.
        month: the month that is shown, 0 if all days count.
    """

    first: date
    end: date
    title: str
    before: date
    after: date
    month: int = 0

    @property
    def days(self) -> list[date]:
        """All days, in their order."""
        return [self.first + timedelta(days=n) for n in range((self.end - self.first).days)]


def period(view: str, on: date) -> Period:
    """Return the month, the week from Monday, or the thirty days from a day on."""
    if view == "list":
        end = on + LIST
        return Period(on, end, _("From %(day)s") % {"day": day_alone(on)}, on - LIST, end)
    monday = on - timedelta(days=on.weekday())
    if view == "week":
        sunday = monday + WEEK - timedelta(days=1)
        shown = {"first": day_alone(monday), "last": day_alone(sunday)}
        title = _("%(first)s to %(last)s") % shown
        return Period(monday, monday + WEEK, title, monday - WEEK, monday + WEEK)
    first = on.replace(day=1)
    following = (first + timedelta(days=31)).replace(day=1)
    begins = first - timedelta(days=first.weekday())
    ends = following + timedelta(days=-following.weekday() % 7)
    before = first - timedelta(days=1)
    return Period(begins, ends, date_format(first, "F Y"), before, following, first.month)
