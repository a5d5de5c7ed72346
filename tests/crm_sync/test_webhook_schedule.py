"""When the webhook is polled: 15 s, 60 s, every fifth callback, start-up (I19)."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from crm_sync import hooks, tasks
from crm_sync.hooks import Effect, Outcome
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent, WebhookMonitor, Workspace
from crm_sync.webhook import schedule
from crm_sync.work import turn
from tests.crm_sync.polls import (
    CONFIGURATION,
    HISTORY,
    apply,
    calls,
    drained,
    happen,
    monitor_of,
    now_utc,
    poll_now,
)
from tests.together import together

SECOND = timedelta(seconds=1)


def pause_after_a_poll(workspace: Workspace) -> timedelta:
    now = now_utc()
    assert poll_now(workspace, at=now) in ("polled", "as before", "gap")
    due_at = monitor_of(workspace).due_at
    assert due_at is not None
    return due_at - now


def rested(workspace: Workspace) -> None:
    """All that came is half an hour old."""
    ReceivedEvent.objects.update(received_at=now_utc() - timedelta(minutes=30))


def test_a_workspace_in_which_nothing_moves_is_polled_every_60_seconds(box, workspace):
    assert pause_after_a_poll(workspace) == 60 * SECOND


@pytest.mark.parametrize(("age", "seconds"), [(0, 15), (599, 15), (601, 60)])
def test_for_ten_minutes_after_a_callback_it_is_15_seconds(box, workspace, age, seconds):
    happen(box, 1)
    poll_now(workspace)
    ReceivedEvent.objects.update(received_at=now_utc() - age * SECOND)
    assert pause_after_a_poll(workspace) == seconds * SECOND


def test_what_an_app_says_that_moves_counts(box, workspace, app_hooks):
    asked = []

    def moves(workspace_id, since) -> bool:
        asked.append((workspace_id, since))
        return True

    app_hooks(activity=[moves])
    now = now_utc()
    poll_now(workspace, at=now)
    assert monitor_of(workspace).due_at == now + 15 * SECOND
    assert asked == [(workspace.pk, now - timedelta(minutes=10))]


@pytest.mark.parametrize(("after", "counts"), [(59, {}), (60, {"as before": 1})])
def test_a_worker_polls_when_it_is_time_and_not_before(box, workspace, after, counts):
    poll_now(workspace)
    assert drained(workspace, after * SECOND) == counts
    assert monitor_of(workspace).workspace_id in hooks.queue("webhooks").workspaces(
        monitor_of(workspace).due_at
    )


def test_a_clock_that_is_set_back_puts_no_poll_off(box, workspace):
    poll_now(workspace, at=now_utc() + timedelta(minutes=20))
    happen(box, 1, "DROPPED")
    assert hooks.queue("webhooks").workspaces(now_utc()) == {workspace.pk}
    assert turn.take(hooks.queue("webhooks"), workspace.pk, seconds=20.0).counts == {"polled": 1}
    assert hooks.queue("webhooks").workspaces(now_utc()) == set()


def test_a_callback_brings_the_next_poll_within_15_seconds(box, workspace):
    happen(box, 1)
    before = now_utc()
    apply(workspace)
    assert before + 14 * SECOND < monitor_of(workspace).due_at < now_utc() + 16 * SECOND
    due_at = monitor_of(workspace).due_at
    apply(workspace)
    schedule.poll_soon(workspace.pk, now=now_utc())
    assert monitor_of(workspace).due_at == due_at  # sooner is soon enough


@pytest.mark.rule("I19", "8 history")
def test_after_every_fifth_callback_the_history_is_read_at_once(box, workspace):
    for _ in range(3):
        happen(box, 4)
        apply(workspace)
        assert not monitor_of(workspace).is_certain
        happen(box, 1)
        apply(workspace)
        assert monitor_of(workspace).is_certain
        assert turn.take(hooks.queue("webhooks"), workspace.pk, seconds=20.0).counts == {
            "polled": 1
        }
        assert calls(box) == [CONFIGURATION, HISTORY]
        assert turn.take(hooks.queue("webhooks"), workspace.pk, seconds=20.0).counts == {}


def test_in_a_long_drain_the_fifth_is_not_waited_for_to_the_end(box, workspace, app_hooks):
    asked = []

    def handler(batch, event, received_event_id) -> Effect:
        asked.append(monitor_of(workspace).is_certain)
        return Effect(Outcome.APPLIED, "")

    app_hooks(event_handlers={"MARKETING_MATERIALS_READY": handler})
    happen(box, store.BATCH_SIZE + 2)
    apply(workspace)
    assert asked == [False] * store.BATCH_SIZE + [True] * 2


def test_what_the_history_brought_is_no_receipt(box, workspace):
    happen(box, 9, "DROPPED")
    poll_now(workspace)
    apply(workspace)
    assert not monitor_of(workspace).is_certain


def test_somebody_who_asks_during_a_poll_is_not_forgotten(box, workspace, app_hooks):
    def moves(workspace_id, since) -> bool:
        if not monitor_of(workspace).is_certain:
            schedule.ask(WebhookMonitor.objects.all(), now=now_utc() + timedelta(milliseconds=1))
        return False

    app_hooks(activity=[moves])
    poll_now(workspace)
    after = monitor_of(workspace)
    assert after.due_at < now_utc() + SECOND
    assert (after.is_certain, after.lease_token) == (True, None)


def test_a_worker_that_starts_has_every_history_read(box, workspace):
    tasks.poll_at_once()
    assert monitor_of(workspace).is_certain
    assert turn.take(hooks.queue("webhooks"), workspace.pk, seconds=20.0).counts == {"polled": 1}
    assert calls(box) == [CONFIGURATION, HISTORY]


def test_without_a_database_a_worker_starts_all_the_same(db):
    def broken(execute, sql, params, many, context):
        raise OperationalError("canary: the server closed the connection")

    with connection.execute_wrapper(broken):
        tasks.poll_at_once()


def test_a_paused_workspace_is_left_alone(box, workspace):
    WebhookMonitor.objects.update(due_at=now_utc())
    Workspace.objects.update(paused_until=now_utc() + 60 * SECOND)
    assert hooks.queue("webhooks").workspaces(now_utc()) == set()
    assert turn.take(hooks.queue("webhooks"), workspace.pk, seconds=20.0).counts == {}
    assert calls(box) == []


def test_a_platform_that_is_busy_pauses_the_workspace_for_all(box, workspace):
    box.faults.set({"rules": [{"fault": "UNAVAILABLE", "seconds": 90}]})
    assert poll_now(workspace) == "put off"
    workspace.refresh_from_db()
    assert workspace.is_paused(now_utc() + 80 * SECOND)
    box.faults.set({})


def test_a_workspace_whose_webhook_nobody_set_is_not_polled(box, db):
    Workspace.objects.create(slug="bare", base_url="http://x.test", fixed_token="t")
    schedule.received(Workspace.objects.get().pk, now=now_utc())
    schedule.poll_soon(Workspace.objects.get().pk, now=now_utc())
    assert hooks.queue("webhooks").workspaces(now_utc()) == set()


def test_the_tick_asks_with_one_query_however_many_workspaces(db, django_assert_num_queries):
    for n in range(30):
        one = Workspace.objects.create(slug=f"w{n}", base_url="http://x.test")
        schedule.begin(one.pk, now=now_utc())
    with django_assert_num_queries(1):
        assert len(hooks.queue("webhooks").workspaces(now_utc())) == 30


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_one_polls(box, workspace):
    schedule.ask(WebhookMonitor.objects.all(), now=now_utc())
    outcomes = together(
        lambda: turn.take(hooks.queue("webhooks"), workspace.pk, seconds=20.0).counts
    )
    assert sorted(outcomes, key=len) == [{}, {}, {}, {"polled": 1}]
    assert calls(box) == [CONFIGURATION, HISTORY]
