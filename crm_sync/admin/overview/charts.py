"""The charts of the overview: events and calls of each of the last 24 hours."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.cells import list_of
from crm_sync.hooks import Person
from crm_sync.inbox.stats import HOUR, by_hour
from crm_sync.models import CallCount, ReceivedEvent
from crm_sync.models.platform_call import CallResult
from crm_sync.security.access import within, workspace_keys
from crm_sync.translated import Text

State = ReceivedEvent.State
HOURS = 24  # the last one is the current hour
HEIGHT, WIDTH, BAR = 100, 10, 8  # of the plot, a column and its bar, in units of the SVG
LEAST = 3  # height of a count above 0, so that one failure among thousands can be seen


@dataclass(frozen=True)
class Series:
    """The states or results that are counted together, in one colour."""

    title: Text
    tone: str
    values: tuple[str, ...]


EVENTS = (
    Series(_("processed"), "good", (State.APPLIED, State.DUPLICATE, State.STALE, State.IGNORED)),
    Series(_("waiting"), "info", (State.RECEIVED, State.EARLY)),
    Series(_("failed or not understood"), "danger", (State.FAILED, State.QUARANTINED)),
)
_R = CallResult
CALLS = (
    Series(_("answered"), "good", (_R.OK, _R.NOT_FOUND)),
    Series(_("limited or busy"), "warning", (_R.BUSY,)),
    Series(_("failed or refused"), "danger", (_R.FAILED, _R.REFUSED, _R.AUTH, _R.NO_ANSWER)),
)


@dataclass(frozen=True)
class SeriesPlot:
    """A series with its sum, and the path of its bars in all columns."""

    title: str
    tone: str
    total: int
    path: str


@dataclass(frozen=True)
class HourColumn:
    """One hour, in the viewer's time zone: a count for each series, and a text."""

    left: int
    hour: str
    counts: list[int]
    text: str


@dataclass(frozen=True)
class Chart:
    """A column for each hour, the oldest first.

    Attributes:
        nothing: what is said if nothing happened.
        link: the address of its list.
        most: the largest sum of an hour, which fills the plot; 0 if nothing happened.
    """

    title: str
    nothing: str
    link: str
    parts: list[SeriesPlot]
    most: int
    columns: list[HourColumn]


def charts(person: Any, now: datetime) -> list[Chart]:
    """Return the charts that a person may see, of their workspaces. Three queries."""
    this_hour = now.replace(minute=0, second=0, microsecond=0)
    hours = [this_hour - HOUR * back for back in reversed(range(HOURS))]
    found = []
    if person.has_perm("crm_sync.view_receivedevent"):
        counts = by_hour(hours, workspace_keys(person))
        names = (
            gettext("Received events"),
            gettext("No events in the last 24 hours."),
            list_of("crm_sync.receivedevent"),
        )
        found.append(Chart(*names, *_drawn(EVENTS, hours, counts)))
    if person.has_perm("crm_sync.view_platformcall"):
        counts = _calls(person, hours[0])
        names = (
            gettext("Calls to the platform"),
            gettext("No calls in the last 24 hours."),
            list_of("crm_sync.platformcall"),
        )
        found.append(Chart(*names, *_drawn(CALLS, hours, counts)))
    return found


def _calls(person: Person, since: datetime) -> Counter[tuple[datetime, str]]:
    rows = within(person, CallCount.objects.filter(hour__gte=since)).order_by()
    sums = rows.values_list("hour", "result").annotate(Sum("count"))
    return Counter({(hour, result): count for hour, result, count in sums})


def _drawn(
    series: Sequence[Series], hours: Sequence[datetime], counts: Counter[tuple[datetime, str]]
) -> tuple[list[SeriesPlot], int, list[HourColumn]]:
    """Return the parts, the largest sum of an hour, and the columns."""
    table = [[sum(counts[hour, one] for one in each.values) for each in series] for hour in hours]
    most = max(map(sum, table))
    columns = []
    for number, (hour, row) in enumerate(zip(hours, table, strict=True)):
        at = f"{timezone.localtime(hour):%H:%M}"
        told = [f"{count} {one.title}" for one, count in zip(series, row, strict=True) if count]
        counted = {"hour": at, "counts": ", ".join(told) or gettext("none")}
        text = gettext("From %(hour)s: %(counts)s") % counted
        columns.append(HourColumn(number * WIDTH, at, row, text))
    bars = [stacked(row, most) for row in table]
    parts = [
        SeriesPlot(
            str(one.title), one.tone, sum(row[n] for row in table), _path([bar[n] for bar in bars])
        )
        for n, one in enumerate(series)
    ]
    return parts, most, columns


def stacked(row: list[int], most: int) -> list[tuple[int, int]]:
    """Return (bottom, height) of each count of an hour, one above the other.

    The highest bar is cut to make room for very small ones.
    """
    heights = [max(LEAST, round(HEIGHT * count / most)) if count else 0 for count in row]
    heights[heights.index(max(heights))] -= max(0, sum(heights) - HEIGHT)
    return [(HEIGHT - sum(heights[:n]), height) for n, height in enumerate(heights)]


def _path(bars: list[tuple[int, int]]) -> str:
    """Draw a bar in each column as one path: a tag for each bar would take longer to render."""
    return "".join(
        f"M{n * WIDTH} {bottom}h{BAR}v-{height}h-{BAR}z"
        for n, (bottom, height) in enumerate(bars)
        if height
    )
