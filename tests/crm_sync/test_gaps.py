"""An interval that may hide events is always noticed, and only then (I21)."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from crm_sync.inbox.replay import replay
from crm_sync.models import Gap, ReceivedEvent, WebhookMonitor
from crm_sync.work.leases import LeaseLost
from tests.crm_sync.polls import apply, calls, happen, monitor_of, poll_now, sources

SECOND = timedelta(seconds=1)


def gaps() -> list[str]:
    return list(Gap.objects.order_by("pk").values_list("why", flat=True))


def tried(box, index: int) -> datetime:
    return datetime.fromisoformat(box.workspace.history[index]["triggeredAt"])


@pytest.mark.rule("I21", "2.2 id; triggeredAt", "6.1 rule 7", "8 history")
@pytest.mark.parametrize("fault", ["", "DROPPED"])
@pytest.mark.parametrize(
    ("before", "burst", "found"),
    [
        (0, 9, []),  # fewer than the history keeps: nothing can have fallen out
        (0, 10, ["OVERFLOW"]),  # ten and nothing in common: an eleventh may have been there
        (1, 9, []),
        (1, 10, ["OVERFLOW"]),
        (10, 9, []),
        (10, 11, ["OVERFLOW"]),
        (10, 50, ["OVERFLOW"]),
        (10, 400, ["OVERFLOW"]),
    ],
)
def test_a_burst_between_two_polls_is_a_gap_where_the_windows_do_not_overlap(
    box, workspace, before, burst, found, fault
):
    if before:
        happen(box, before)
        poll_now(workspace)
        Gap.objects.all().delete()
    last = tried(box, -1) if before else None
    happen(box, burst, fault)
    assert poll_now(workspace) == ("gap" if found else "polled")
    assert gaps() == found
    if found:
        gap = Gap.objects.get()
        assert (gap.began_at, gap.ended_at, gap.acknowledged_at) == (last, tried(box, 0), None)
        assert gap.noticed_at == monitor_of(workspace).polled_at
    received = burst if not fault else min(burst, 10)
    assert ReceivedEvent.objects.count() == before + received
    assert poll_now(workspace) == "as before"
    assert gaps() == found


@pytest.mark.rule("I21")
def test_small_steps_of_any_number_are_no_gap(box, workspace):
    for _ in range(12):
        happen(box, 9, "DROPPED")
        poll_now(workspace)
    assert gaps() == []
    assert apply(workspace) == {"APPLIED": 108}


def test_what_a_poll_recovers_is_due_in_the_order_of_the_platform(box, workspace):
    happen(box, 9, "DROPPED")
    poll_now(workspace)
    rows = ReceivedEvent.objects.order_by("due_at")
    moments = [json.loads(bytes(row.body))["timestamp"] for row in rows]
    assert moments == sorted(moments)
    assert rows.values("due_at").distinct().count() == 9


@pytest.mark.rule("I21")
def test_after_a_gap_every_app_is_asked_once(box, workspace, app_hooks):
    asked = []

    def ask(workspace_id: int, now: datetime) -> int:
        asked.append((workspace_id, now))
        return 3

    app_hooks(after_gap=[ask, ask])
    happen(box, 5)
    poll_now(workspace)
    assert asked == []
    happen(box, 11)
    now = datetime.now(UTC)
    poll_now(workspace, at=now)
    assert asked == [(workspace.pk, now)] * 2
    assert Gap.objects.get().asked == 6


# --- the history was erased


def _erase(box) -> None:
    configuration = dict(box.workspace.webhook)
    box.workspace.history.clear()
    configuration.pop("lastTriggeredAt", None)
    box.workspace.webhook = configuration | {"id": "another"}


@pytest.mark.parametrize("after", [0, 3, 9])
def test_a_history_that_was_erased_is_a_gap(box, workspace, after):
    happen(box, 4)
    poll_now(workspace)
    last = tried(box, -1)
    _erase(box)
    happen(box, after, "DROPPED")
    now = datetime.now(UTC)
    assert poll_now(workspace, at=now) == "gap"
    gap = Gap.objects.get()
    assert (gap.why, gap.began_at) == ("ERASED", last)
    assert gap.ended_at == (tried(box, 0) if after else gap.ended_at)
    assert abs(gap.ended_at - now) < 3 * SECOND
    assert sources() == ["CALLBACK"] * 4 + ["HISTORY"] * after
    assert poll_now(workspace) == "as before"
    assert gaps() == ["ERASED"]


def test_an_empty_history_that_was_erased_is_none(box, workspace):
    _erase(box)
    assert poll_now(workspace) == "as before"
    assert gaps() == []


@pytest.mark.rule("4.1 DELETE")
def test_a_webhook_that_was_deleted_takes_its_history_with_it(box, workspace):
    happen(box, 2)
    poll_now(workspace)
    workspace.client().delete_webhook()
    assert poll_now(workspace) == "gap"
    assert gaps() == ["ERASED"]
    watch = monitor_of(workspace)
    assert (watch.window, watch.last_triggered_at, list(watch.drift)) == ([], None, ["webhook"])
    assert poll_now(workspace) == "polled"
    assert gaps() == ["ERASED"]


# --- an attempt that nothing shows


def _attempt(box, ago: timedelta) -> datetime:
    """Let the configuration tell of an attempt that is in no history."""
    at = box.now() - ago
    box.workspace.webhook["lastTriggeredAt"] = at.isoformat()
    return at


@pytest.mark.rule("2.1 lastTriggeredAt")
def test_an_attempt_that_neither_history_nor_callback_shows_is_told(box, workspace):
    at = _attempt(box, 40 * SECOND)
    assert poll_now(workspace) == "gap"
    gap = Gap.objects.get()
    assert (gap.why, gap.began_at, gap.ended_at) == ("UNEXPLAINED", None, at)
    assert poll_now(workspace) == "as before"
    assert gaps() == ["UNEXPLAINED"]


@pytest.mark.rule("8 response time")
def test_it_has_35_seconds_to_show_up(box, workspace):
    _attempt(box, 5 * SECOND)
    assert poll_now(workspace) == "polled"
    calls(box)
    assert poll_now(workspace) == "polled"  # still unexplained: the history is read again
    assert gaps() == []
    happen(box, 1, "DROPPED")
    assert poll_now(workspace) == "polled"
    assert poll_now(workspace) == "as before"
    assert gaps() == []


def test_a_callback_that_came_explains_it(box, workspace):
    happen(box, 1)
    box.workspace.history.clear()
    WebhookMonitor.objects.update(window=[])
    _attempt(box, 40 * SECOND)
    assert poll_now(workspace) == "polled"
    assert gaps() == []


def test_an_event_that_we_play_again_ourselves_does_not_explain_it(box, workspace):
    happen(box, 1)
    apply(workspace)
    box.workspace.history.clear()
    WebhookMonitor.objects.update(window=[])
    ReceivedEvent.objects.update(received_at=datetime.now(UTC) - timedelta(minutes=5))
    replay(list(ReceivedEvent.objects.all()), now=datetime.now(UTC))
    _attempt(box, 40 * SECOND)
    assert poll_now(workspace) == "gap"
    assert gaps() == ["UNEXPLAINED"]


@pytest.mark.parametrize("hours", [-3, 3])
def test_whose_clock_is_wrong_does_not_matter(box, workspace, hours):
    box.set_clock(datetime.now(UTC) + timedelta(hours=hours))
    happen(box, 1)
    box.workspace.history.clear()
    WebhookMonitor.objects.update(window=[])
    _attempt(box, 40 * SECOND)
    assert poll_now(workspace) == "polled"
    assert gaps() == []
    ReceivedEvent.objects.update(received_at=datetime.now(UTC) - timedelta(minutes=5))
    WebhookMonitor.objects.update(last_triggered_at=None)
    assert poll_now(workspace) == "gap"
    assert gaps() == ["UNEXPLAINED"]


def test_a_poll_that_lost_its_lease_writes_no_gap(box, workspace, app_hooks):
    def somebody_takes_it(workspace_id: int, now: datetime) -> int:
        WebhookMonitor.objects.update(lease_token="12345678-1234-5678-1234-567812345678")
        return 0

    app_hooks(after_gap=[somebody_takes_it])
    happen(box, 11)
    before = monitor_of(workspace).window
    with pytest.raises(LeaseLost):
        poll_now(workspace)
    assert (gaps(), monitor_of(workspace).window) == ([], before)
