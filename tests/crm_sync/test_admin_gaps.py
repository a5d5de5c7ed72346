"""Webhooks and gaps of workspaces: what differs is repaired, what was missed is seen."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from crm_sync.models import Gap, WebhookMonitor, Workspace
from crm_sync.sentence import Sentence
from crm_sync.templatetags.problems import problem_cell
from orders.models import Order
from tests.crm_sync.admin_pages import (
    CANARY,
    make_workspace,
    queries_of,
)
from tests.crm_sync.polls import happen, monitor_of, poll_now
from tests.orders.admin_rows import make_order
from tests.problems import answered, noted

pytestmark = pytest.mark.django_db
LIST = "/admin/crm_sync/workspace/"
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


def tab(workspace: Workspace, name: str = "webhook") -> str:
    return f"{LIST}{workspace.pk}/{name}/"


def press(client: Client, workspace: Workspace, **posted) -> str:
    """Press a button of a tab; return what it said."""
    name = "gaps" if "gap" in posted else "webhook"
    response = client.post(tab(workspace, name), posted, follow=True)
    assert response.redirect_chain in ([], [(tab(workspace, name), 302)])
    return " ".join(str(message) for message in response.context.get("messages", ()))


def act(client: Client, action: str, *workspaces: Workspace) -> str:
    """Do something to workspaces that are chosen in the list; return what it said."""
    data = {"action": action, "_selected_action": [one.pk for one in workspaces]}
    response = client.post(LIST, data, follow=True)
    return " ".join(str(message) for message in response.context["messages"])


def troubles(client: Client) -> list[str]:
    """Read what waits on the overview, but what stands still because nothing runs in a test."""
    lines = client.get("/admin/").context["attention"]
    return [str(line.text) for line in lines if not line.is_urgent]


def test_a_changed_webhook_is_shown_and_mended_by_one_button(box, workspace, boss):
    box.workspace.webhook |= {"enabled": False}
    poll_now(workspace)
    assert troubles(boss) == ["The webhook was changed on the platform: enabled is false"]
    text = boss.get(tab(workspace)).content.decode()
    assert [word for word in ("enabled", "false", "Repair", "Changed") if word not in text] == []
    assert press(boss, workspace, action="repair") == "main: the webhook is set as it should be."
    assert box.workspace.webhook["enabled"] is True
    entry = LogEntry.objects.get()
    assert (entry.object_id, *noted()) == (str(workspace.pk), "Webhook: repaired.")
    poll_now(workspace)
    assert troubles(boss) == []


def test_a_mending_that_the_platform_refuses_says_why(box, workspace, boss):
    box.faults.set({"rules": [{"fault": "SERVER_ERROR", "method": "PUT"}]})
    why = answered("PUT /v1/webhooks", 500, "something went wrong; Internal Server Error")
    said = act(boss, "repair", workspace)
    assert said == f"main: {problem_cell(why)}"
    assert "The platform is out of order at the moment." in said
    assert not LogEntry.objects.exists()


def test_failed_attempts_are_shown_until_they_are_seen(box, workspace, boss):
    happen(box, 2, "DROPPED")
    poll_now(workspace)
    assert troubles(boss) == ["2 did not reach us; the last: no answer: The connection was lost"]
    assert "no answer: The connection was lost" in boss.get(tab(workspace)).content.decode()
    assert (
        press(boss, workspace, action="see")
        == "The failures of 1 webhook are counted from 0 again."
    )
    assert troubles(boss) == []
    row = monitor_of(workspace)
    assert (row.failed, row.recovered) == (0, 2)
    assert noted() == ["Webhook: failures seen."]


def test_somebody_may_ask_for_a_poll(box, workspace, boss):
    assert press(boss, workspace, action="poll") == "A worker polls the webhook now."
    assert monitor_of(workspace).is_certain


def test_what_one_workspace_offers_can_be_done_for_several_in_the_list(box, workspace, boss):
    other = make_workspace("other")
    make_monitor(other, failed=2)
    make_gap(other)
    make_gap(workspace)
    both = (workspace, other)
    assert act(boss, "poll_now", *both) == "A worker polls 2 webhooks now."
    assert act(boss, "see_failures", *both) == "The failures of 1 webhook are counted from 0 again."
    assert act(boss, "see_gaps", *both) == "2 gaps are marked as seen."
    assert not Gap.objects.filter(acknowledged_at=None).exists()
    mine = LogEntry.objects.filter(object_id=other.pk)
    said = [Sentence.loaded(one.change_message) for one in mine]
    assert sorted(said) == [
        "Gaps: seen.",
        "Webhook: asked for a poll.",
        "Webhook: failures seen.",
    ]


def test_a_gap_is_shown_with_its_interval_until_somebody_has_seen_it(boss):
    workspace = make_workspace()
    gap, other = make_gap(workspace), make_gap(make_workspace("other"))
    line = (
        "More attempts than the history keeps: Sun 1 Mar 2026, 12:00:01 to 12:05:00 UTC."
        " All open orders were read since"
    )
    assert troubles(boss) == [line] * 2
    text = boss.get(tab(workspace, "gaps")).content.decode()
    assert "Sun 1 Mar 2026, 12:00:01 to 12:05:00 UTC" in text
    assert "may be unknown until its next event" in text
    with timezone.override("Europe/Zurich"):
        assert gap.interval == "Sun 1 Mar 2026, 13:00:01 to 13:05:00 CET"
    press(boss, workspace, gap=other.pk)  # of another workspace
    assert press(boss, workspace, gap=gap.pk) == "1 gap is marked as seen."
    gap.refresh_from_db()
    other.refresh_from_db()
    assert (gap.acknowledged_at is not None, other.acknowledged_at) == (True, None)
    assert troubles(boss) == [line]
    assert press(boss, workspace, gap="") == "All of them have been seen before."
    assert f'value="{gap.pk}"' not in boss.get(tab(workspace, "gaps")).content.decode()
    assert LogEntry.objects.get().object_id == str(workspace.pk)


@pytest.mark.rule("I21")
def test_a_gap_may_hide_events_until_every_open_order_was_read_after_it(boss):
    workspace = make_workspace()
    gap = make_gap(workspace)
    before, after = (gap.noticed_at + timedelta(seconds=side) for side in (-1, 1))
    make_order(workspace, "1", status="COMPLETED", read_at=before)
    make_order(workspace, "2", read_at=before)
    what = "More attempts than the history keeps: Sun 1 Mar 2026, 12:00:01 to 12:05:00 UTC"
    assert troubles(boss) == [f"{what} may hide events; 1 open order is still to be read"]
    assert "<strong>1 of them is still to be read" in boss.get(tab(workspace, "gaps")).text
    Order.objects.filter(platform_id="2").update(read_at=after)
    assert troubles(boss) == [f"{what}. All open orders were read since"]
    assert "all of them were read since" in boss.get(tab(workspace, "gaps")).text


def test_the_unseen_gaps_come_first_and_the_others_on_further_pages(boss):
    workspace = make_workspace()
    unseen = make_gap(workspace, began_at=None)
    for _ in range(51):
        make_gap(workspace, acknowledged_at=timezone.now(), ended_at=TO + timedelta(days=1))
    pages = [boss.get(tab(workspace, "gaps"), {"page": number}) for number in (1, 2)]
    rows = [[one["row"] for one in page.context["gaps"]] for page in pages]
    assert (rows[0][0], [len(one) for one in rows]) == (unseen, [50, 2])


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("changed", ["a"]),
        ("failed", ["b"]),
        ("refused", ["c"]),
        ("gaps", ["d"]),
        ("none", ["c", "d"]),
        ("", ["a", "b", "c", "d"]),
    ],
)
def test_the_list_is_narrowed_to_what_is_wrong(boss, what, found):
    make_monitor(make_workspace("a"), drift=DRIFT)
    make_monitor(make_workspace("b"), failed=1)
    make_workspace("c", refused_callbacks=1)
    make_gap(make_workspace("d"))
    make_gap(Workspace.objects.get(slug="a"), acknowledged_at=timezone.now())
    rows = boss.get(f"{LIST}?webhook={what}").context["cl"].result_list
    assert [row.slug for row in rows] == found


@pytest.mark.parametrize("old", ["webhookmonitor/", "gap/?seen=no", "gap/1/change/"])
def test_the_addresses_of_former_screens_lead_to_the_workspaces(boss, old):
    assert boss.get(f"/admin/crm_sync/{old}", follow=True).redirect_chain == [(LIST, 302)]


def test_the_tiles_count_them(boss):
    make_monitor(make_workspace(), drift=DRIFT, failed=3)
    make_monitor(make_workspace("other"), failed=2)
    make_gap(Workspace.objects.get(slug="main"))
    make_gap(Workspace.objects.get(slug="main"), acknowledged_at=timezone.now())
    found = dict(boss.get("/admin/").context["groups"])["Platform"]
    tiles = {tile.title: tile.value for tile in (*found.counted, *found.zero)}
    found = {name: tiles[name] for name in ("Failed attempts", "Changed webhooks", "Gaps")}
    assert found == {"Failed attempts": 5, "Changed webhooks": 1, "Gaps": 1}


def test_a_secret_that_no_key_opens_is_a_message_and_no_fault(boss, settings):
    workspace = make_workspace()
    make_monitor(workspace)
    settings.SECRET_KEYS_AT_REST = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    assert "cannot be decrypted" in act(boss, "repair", workspace)


def test_a_page_without_gaps_says_why(boss):
    assert "No gap was found" in boss.get(tab(make_workspace(), "gaps")).content.decode()


@pytest.mark.parametrize("address", [LIST, "gaps", "/admin/"])
def test_it_takes_as_many_queries_for_twenty_rows_as_for_one(boss, address):
    first = make_workspace("w")
    address = tab(first, "gaps") if address == "gaps" else address

    def fill(first_number: int, last: int) -> None:
        for n in range(first_number, last):
            workspace = make_workspace(f"w{n}")
            make_monitor(workspace, drift=DRIFT, failed=1)
            make_gap(workspace)
            make_gap(first)

    fill(0, 1)
    one = queries_of(boss, address)
    fill(1, 20)
    assert queries_of(boss, address) == one


def test_what_is_empty_has_one_mark_on_all_pages(boss, workspace):
    page = boss.get(f"/admin/crm_sync/workspace/{workspace.pk}/change/").content.decode()
    assert "Last problem" in page
    assert re.findall(r">\s*-\s*<", page) == []
