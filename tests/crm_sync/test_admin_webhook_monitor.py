"""The screens of webhooks and gaps: what differs is repaired, what was missed is seen."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from crm_sync.models import Gap, WebhookMonitor, Workspace
from crm_sync.templatetags.problems import problem_cell
from tests.crm_sync.admin_pages import (
    CANARY,
    ESCAPED,
    SECRETS,
    client_of,
    make_workspace,
    queries_of,
)
from tests.crm_sync.polls import happen, monitor_of, poll_now
from tests.problems import answered

pytestmark = pytest.mark.django_db
MONITORS, GAPS = "/admin/crm_sync/webhookmonitor/", "/admin/crm_sync/gap/"
DRIFT = {"url": {"theirs": f"http://x.test/{CANARY}", "ours": "http://crm.test/"}}
FROM, TO = datetime(2026, 3, 1, 12, 0, 1, tzinfo=UTC), datetime(2026, 3, 1, 12, 5, tzinfo=UTC)


def make_monitor(workspace: Workspace, **columns) -> WebhookMonitor:
    if columns.get("drift"):
        columns.setdefault("drift_since", timezone.now())
    due_at = columns.pop("due_at", timezone.now())
    return WebhookMonitor.objects.create(workspace=workspace, due_at=due_at, **columns)


def make_gap(workspace: Workspace, **columns) -> Gap:
    columns = {"why": "OVERFLOW", "began_at": FROM, "ended_at": TO, "asked": 4} | columns
    return Gap.objects.create(workspace=workspace, noticed_at=timezone.now(), **columns)


def act(client: Client, address: str, action: str, *rows) -> str:
    data = {"action": action, "_selected_action": [row.pk for row in rows]}
    response = client.post(address, data, follow=True)
    return " ".join(str(message) for message in response.context["messages"])


def troubles(client: Client) -> list[str]:
    """Read what waits on the overview, but what stands still because nothing runs in a test."""
    lines = client.get("/admin/").context["attention"]
    return [str(line.text) for line in lines if not line.is_urgent]


def test_a_changed_webhook_is_shown_and_mended_by_one_action(box, workspace, boss):
    box.workspace.webhook |= {"enabled": False}
    poll_now(workspace)
    row = monitor_of(workspace)
    assert troubles(boss) == ["The webhook was changed on the platform: enabled is false"]
    text = boss.get(f"{MONITORS}{row.pk}/change/").content.decode()
    assert [word for word in ("enabled", "false", "Repair", "Changed") if word not in text] == []
    page = boss.get(f"/admin/crm_sync/workspace/{workspace.pk}/change/").content.decode()
    assert f"{MONITORS}{row.pk}/change/" in page
    assert act(boss, MONITORS, "repair", row) == "main: the webhook is set as it should be."
    assert box.workspace.webhook["enabled"] is True
    assert LogEntry.objects.get().change_message == "Repaired."
    poll_now(workspace)
    assert troubles(boss) == []


def test_a_mending_that_the_platform_refuses_says_why(box, workspace, boss):
    row = monitor_of(workspace)
    box.faults.set({"rules": [{"fault": "SERVER_ERROR", "method": "PUT"}]})
    why = answered("PUT /v1/webhooks", 500, "something went wrong; Internal Server Error")
    said = act(boss, MONITORS, "repair", row)
    assert said == f"main: {problem_cell(why)}"
    assert "The platform is out of order at the moment." in said
    assert not LogEntry.objects.exists()


def test_failed_attempts_are_shown_until_they_are_seen(box, workspace, boss):
    happen(box, 2, "DROPPED")
    poll_now(workspace)
    row = monitor_of(workspace)
    assert troubles(boss) == ["2 did not reach us; the last: no answer: The connection was lost"]
    assert act(boss, MONITORS, "seen", row) == "Counted from 0 again: 1."
    assert troubles(boss) == []
    row.refresh_from_db()
    assert (row.failed, row.recovered) == (0, 2)


def test_somebody_may_ask_for_a_poll(box, workspace, boss):
    assert act(boss, MONITORS, "poll_now", monitor_of(workspace)) == "A worker polls now: 1."
    assert monitor_of(workspace).is_certain


def test_a_gap_is_shown_with_its_interval_until_somebody_has_seen_it(boss):
    gap = make_gap(make_workspace())
    line = (
        "More attempts than the history keeps: 2026-03-01 12:00:01 to 12:05:00 UTC may hide events"
    )
    assert troubles(boss) == [line]
    text = boss.get(f"{GAPS}{gap.pk}/change/").content.decode()
    assert "2026-03-01 12:00:01 UTC" in text
    assert "may be unknown until its next event" in text
    with timezone.override("Europe/Zurich"):
        assert gap.interval == "2026-03-01 13:00:01 to 13:05:00 CET"
    assert act(boss, GAPS, "acknowledge", gap) == "Seen: 1."
    gap.refresh_from_db()
    assert gap.acknowledged_at is not None
    assert troubles(boss) == []
    assert act(boss, GAPS, "acknowledge", gap) == "All of them have been seen before."
    assert 'value="acknowledge"' not in boss.get(f"{GAPS}{gap.pk}/change/").content.decode()
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize(("seen", "count"), [("no", 1), ("yes", 2), ("", 3)])
def test_the_list_shows_what_is_unseen_and_what_is_not(boss, seen, count):
    workspace = make_workspace()
    make_gap(workspace, began_at=None)
    for _ in range(2):
        make_gap(workspace, acknowledged_at=timezone.now(), ended_at=TO + timedelta(days=1))
    assert boss.get(f"{GAPS}?seen={seen}").context["cl"].result_count == count


def test_the_tiles_count_them(boss):
    make_monitor(make_workspace(), drift=DRIFT, failed=3)
    make_monitor(make_workspace("other"), failed=2)
    make_gap(Workspace.objects.get(slug="main"))
    make_gap(Workspace.objects.get(slug="main"), acknowledged_at=timezone.now())
    found = dict(boss.get("/admin/").context["groups"])["Platform"]
    tiles = {tile.title: tile.value for tile in (*found.counted, *found.zero)}
    found = {name: tiles[name] for name in ("Failed attempts", "Changed webhooks", "Gaps")}
    assert found == {"Failed attempts": 5, "Changed webhooks": 1, "Gaps": 1}


def test_no_page_loads_a_secret_or_makes_markup_of_the_platforms_words(boss, settings):
    workspace = make_workspace()
    seen = make_monitor(workspace, drift=DRIFT, failed=1, last_failure=CANARY, problem=CANARY)
    gap = make_gap(workspace)
    settings.SECRET_KEYS_AT_REST = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    pages = [MONITORS, f"{MONITORS}{seen.pk}/change/", GAPS, f"{GAPS}{gap.pk}/change/", "/admin/"]
    for address in pages:
        response = boss.get(address)
        text = response.content.decode()
        assert (address, response.status_code) == (address, 200)
        assert CANARY not in text
        assert [name for name, secret in SECRETS.items() if secret in text] == []
    assert ESCAPED in boss.get(f"{MONITORS}{seen.pk}/change/").content.decode()


def test_a_secret_that_no_key_opens_is_a_message_and_no_fault(boss, settings):
    seen = make_monitor(make_workspace())
    settings.SECRET_KEYS_AT_REST = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    assert "cannot be decrypted" in act(boss, MONITORS, "repair", seen)


@pytest.mark.parametrize("action", ["repair", "poll_now", "seen"])
def test_who_may_only_view_changes_nothing(box, workspace, action):
    WebhookMonitor.objects.update(failed=1, drift=DRIFT)
    viewer, before = (
        client_of("crm_sync.view_webhookmonitor"),
        WebhookMonitor.objects.values().get(),
    )
    box.calls.clear()
    assert viewer.get(f"{MONITORS}{monitor_of(workspace).pk}/change/").status_code == 200
    act(viewer, MONITORS, action, monitor_of(workspace))
    assert (WebhookMonitor.objects.values().get(), list(box.calls)) == (before, [])


def test_who_may_only_view_acknowledges_no_gap():
    gap = make_gap(make_workspace())
    act(client_of("crm_sync.view_gap"), GAPS, "acknowledge", gap)
    gap.refresh_from_db()
    assert gap.acknowledged_at is None


def test_empty_lists_say_why(boss):
    assert "configure_webhook main" in boss.get(MONITORS).content.decode()
    assert "No gap was found" in boss.get(GAPS).content.decode()


@pytest.mark.parametrize("address", [MONITORS, GAPS, "/admin/"])
def test_it_takes_as_many_queries_for_twenty_rows_as_for_one(boss, address):
    def fill(first: int, last: int) -> None:
        for n in range(first, last):
            workspace = make_workspace(f"w{n}")
            make_monitor(workspace, drift=DRIFT, failed=1)
            make_gap(workspace)

    fill(0, 1)
    one = queries_of(boss, address)
    fill(1, 20)
    assert queries_of(boss, address) == one


def test_a_webhook_as_we_set_it_has_no_empty_second_line(boss, workspace):
    page = boss.get(MONITORS).content.decode()
    assert '<span class="cs-two"><span class="cs-first">main</span></span>' in page


def test_what_is_empty_has_one_mark_on_all_pages(boss, workspace):
    page = boss.get(f"/admin/crm_sync/workspace/{workspace.pk}/change/").content.decode()
    assert "Last problem" in page
    assert re.findall(r">\s*-\s*<", page) == []
