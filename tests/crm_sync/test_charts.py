"""The charts of the overview: events and calls by the hour, without a write to count them."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags

from crm_sync.admin.overview.charts import CALLS, EVENTS, HEIGHT, LEAST, Chart, charts, stacked
from crm_sync.inbox.stats import by_hour
from crm_sync.models import CallCount, ReceivedEvent, Workspace
from crm_sync.models.platform_call import TOTAL, CallResult
from crm_sync.tasks import clear_deliveries
from tests.crm_sync.admin_pages import client_of, make_received_event, make_workspace

pytestmark = pytest.mark.django_db
State = ReceivedEvent.State
NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
BOTH = ("view_receivedevent", "view_platformcall")


def event(workspace: Workspace, state: State, at: datetime, **columns) -> ReceivedEvent:
    return make_received_event(workspace, state=state, received_at=at, **columns)


def calls(workspace: Workspace, result: CallResult, hour: datetime, count: int) -> None:
    hour = hour.replace(minute=0, second=0, microsecond=0)
    row = {"workspace": workspace, "result": result, "hour": hour}
    CallCount.objects.create(**row, count=count, milliseconds=1)


def boss() -> User:
    return User(is_superuser=True, is_active=True)


def totals(chart: Chart) -> dict[str, int]:
    return {part.title: part.total for part in chart.parts}


def figures(chart: Chart) -> dict[str, list[int]]:
    return {column.hour: column.counts for column in chart.columns if any(column.counts)}


def test_every_state_and_every_result_is_part_of_one_series():
    assert sorted(one for each in EVENTS for one in each.values) == sorted(State.values)
    assert sorted(one for each in CALLS for one in each.values) == sorted(CallResult.values)


def test_events_stand_in_the_hour_in_which_they_came_by_how_they_ended(main):
    first = event(main, State.APPLIED, NOW)
    event(main, State.STALE, NOW - 30 * MINUTE)  # 12:00 is the beginning of this hour
    event(main, State.RECEIVED, NOW)
    event(main, State.FAILED, NOW - 31 * MINUTE)
    event(main, State.QUARANTINED, NOW - HOUR)
    event(main, State.IGNORED, NOW.replace(minute=0) - 23 * HOUR)
    event(main, State.APPLIED, NOW.replace(minute=0) - 23 * HOUR - MINUTE)  # too long ago
    event(main, State.FAILED, NOW, source="REPLAY", replay_of=first)  # a replay did not come
    (chart, _) = charts(boss(), NOW)
    assert figures(chart) == {"13:00": [1, 0, 0], "11:00": [0, 0, 2], "12:00": [2, 1, 0]}
    assert totals(chart) == {"processed": 3, "waiting": 1, "failed or not understood": 2}
    assert (len(chart.columns), chart.most) == (24, 3)
    assert [one.text for one in chart.columns[-2:]] == [
        "From 11:00: 2 failed or not understood",
        "From 12:00: 2 processed, 1 waiting",
    ]
    assert chart.columns[1].text == "From 14:00: none"


def test_calls_of_all_workspaces_are_added_up_by_what_came_of_them(main):
    other = make_workspace("other")
    calls(main, CallResult.OK, NOW, 1000)
    calls(other, CallResult.OK, NOW, 500)
    calls(main, CallResult.NOT_FOUND, NOW, 2)
    calls(main, CallResult.BUSY, NOW - HOUR, 7)
    calls(main, CallResult.AUTH, NOW - HOUR, 1)
    calls(main, CallResult.NO_ANSWER, NOW - 23 * HOUR, 1)
    calls(main, CallResult.OK, NOW - 24 * HOUR, 99)
    calls(main, CallResult.OK, TOTAL, 99)
    (_, chart) = charts(boss(), NOW)
    assert figures(chart) == {"13:00": [0, 0, 1], "11:00": [0, 7, 1], "12:00": [1502, 0, 0]}
    assert totals(chart) == {"answered": 1502, "limited or busy": 7, "failed or refused": 2}


def test_the_cleaning_leaves_the_last_day_however_short_calls_are_kept(main, settings):
    settings.KEEP_DAYS, now = settings.KEEP_DAYS | {"calls": 1}, timezone.now()
    calls(main, CallResult.OK, now - 23 * HOUR, 1)
    calls(main, CallResult.OK, now - 30 * HOUR, 2)
    calls(main, CallResult.OK, now - 50 * HOUR, 3)
    clear_deliveries()
    assert sorted(CallCount.objects.values_list("count", flat=True)) == [1, 2]


def test_hours_are_written_in_the_zone_of_whoever_looks(main):
    calls(main, CallResult.OK, NOW, 1)
    with timezone.override("Asia/Kolkata"):
        (_, chart) = charts(boss(), NOW)
    assert list(figures(chart)) == ["17:30"]


def test_one_failure_among_thousands_is_seen_and_no_column_is_higher_than_the_plot():
    assert stacked([100_000, 1, 1], 100_002) == [(100, 94), (6, LEAST), (3, LEAST)]
    assert stacked([0, 1000, 1], 1001) == [(100, 0), (100, 97), (3, LEAST)]
    assert stacked([5, 0, 0], 10) == [(100, 50), (50, 0), (50, 0)]
    assert stacked([0, 0, 0], 10) == stacked([0, 0, 0], 0) == [(100, 0)] * 3


def test_what_happened_is_drawn_each_on_the_other_and_within_the_plot():
    for draw in map(Random, range(200)):
        row = [draw.choice([0, 1, draw.randint(0, 10**6)]) for _ in CALLS]
        bars = stacked(row, max(1, sum(row) + draw.choice([0, draw.randint(0, 10**6)])))
        bottom = HEIGHT
        for count, (begins, height) in zip(row, bars, strict=True):
            assert begins == bottom
            assert height >= LEAST if count else height == 0
            bottom -= height
        assert bottom >= 0


def test_a_bar_stands_in_the_column_of_its_hour(main):
    calls(main, CallResult.OK, NOW - HOUR, 3)
    calls(main, CallResult.BUSY, NOW - HOUR, 1)
    calls(main, CallResult.BUSY, NOW, 4)
    (_, chart) = charts(boss(), NOW)
    assert [column.left for column in chart.columns] == list(range(0, 240, 10))
    assert [part.path for part in chart.parts] == [
        "M220 100h8v-75h-8z",
        "M220 25h8v-25h-8zM230 100h8v-100h-8z",
        "",
    ]


def test_the_statement_counts_as_one_counts_by_hand(main):
    draw, other = Random(7), make_workspace("other")
    hours = [NOW.replace(minute=0) - HOUR * back for back in reversed(range(24))]
    wanted: Counter[tuple[int, datetime, str]] = Counter()
    for _ in range(120):
        workspace, state = draw.choice([main, other]), draw.choice(State.values)
        at = NOW - timedelta(seconds=draw.randint(0, 90_000))
        event(workspace, state, at)
        wanted[workspace.pk, at.replace(minute=0, second=0), state] += 1
    for keys in (None, [main.pk], [main.pk, other.pk], []):
        mine = Counter()
        for (key, hour, state), count in wanted.items():
            if hour in hours and (keys is None or key in keys):
                mine[hour, state] += count
        assert +by_hour(hours, keys) == mine


def in_workspaces(*workspaces: Workspace) -> User:
    """Return somebody who may see both charts, in these workspaces alone."""
    person = User.objects.create(username="operator", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=BOTH))
    for one in workspaces:
        one.people.add(person)
    return person


@pytest.mark.rule("S17")
def test_a_person_sees_the_figures_of_their_workspaces_alone(main):
    other = make_workspace("other")
    for workspace, count in ((main, 1), (other, 2)):
        for _ in range(count):
            first = event(workspace, State.APPLIED, NOW)
        event(workspace, State.FAILED, NOW, source="REPLAY", replay_of=first)
        calls(workspace, CallResult.OK, NOW, count)
    found = charts(in_workspaces(other), NOW)
    assert [list(totals(chart).values()) for chart in found] == [[2, 0, 0], [2, 0, 0]]


def test_who_is_in_no_workspace_sees_nothing_of_any(main):
    event(main, State.APPLIED, NOW)
    calls(main, CallResult.OK, NOW, 1)
    assert [chart.most for chart in charts(in_workspaces(), NOW)] == [0, 0]


def titles(client: Client) -> list[str]:
    return [chart.title for chart in client.get("/admin/").context["charts"]]


def test_a_chart_is_only_for_those_who_may_open_the_list_of_it(main):
    assert titles(client_of("crm_sync.view_receivedevent")) == ["Received events"]
    assert titles(client_of("crm_sync.view_platformcall")) == ["Calls to the platform"]
    stranger = client_of("crm_sync.view_workspace")
    assert titles(stranger) == []
    assert "cs-charts" not in stranger.get("/admin/").content.decode()


def test_three_queries_count_them_however_many_there_are(main):
    for n in range(30):
        event(make_workspace(f"w{n}"), State.values[n % 8], NOW - n * HOUR)
    with CaptureQueriesContext(connection) as captured:
        charts(boss(), NOW)
    assert len(captured) == 3


def test_the_page_has_the_figures_as_a_table_and_says_where_nothing_happened(main, boss):
    now = timezone.now()
    event(main, State.FAILED, now)
    page = boss.get("/admin/").content.decode()
    words = " ".join(strip_tags(page.replace("<", " <")).split())
    assert "Received events in the last 24 hours 0 processed 0 waiting 1 failed or" in words
    hour = f"{timezone.localtime(now):%H}:00"
    assert "As a table From Processed Waiting Failed or not understood" in words
    assert f" {hour} 0 0 1 " in words
    assert f"<title>From {hour}: 1 failed or not understood</title>" in page
    assert "Received events, a column for each hour: 1 at most. The table has all" in page
    assert "Calls to the platform in the last 24 hours No calls in the last 24 hours." in words
    assert 'href="/admin/crm_sync/platformcall/"' in page
