"""What was received is kept for so long and no longer, and what it was stays known (S23)."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import connection
from django_celery_beat.models import PeriodicTask

from crm_sync import expiry
from crm_sync.inbox import event_retention as inbox_retention, store as inbox_store
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.tasks import clear_deliveries
from crm_sync.work import turn
from tests.crm_sync.admin_pages import client_of, make_received_event
from tests.crm_sync.test_events import PAYLOADS

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
State = ReceivedEvent.State
DAYS = {"APPLIED": 90, "DUPLICATE": 90, "STALE": 90, "IGNORED": 90}


@pytest.fixture
def hook(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://x.test")


def one_of_each(workspace: Workspace) -> dict[str, ReceivedEvent]:
    return {
        state: make_received_event(
            workspace,
            body=f'{{"secret person": "{state}"}}'.encode(),
            state=state,
            received_at=START,
            headers={"User-Agent": "x"},
            effect=f"what {state} did",
            canonical_digest="" if state in ReceivedEvent.STUCK else state,
        )
        for state in State.values
    }


def cleared() -> set[str]:
    rows = ReceivedEvent.objects.exclude(cleared_at=None)
    assert all((bytes(row.body), row.headers) == (b"", {}) for row in rows)
    kept = ReceivedEvent.objects.filter(cleared_at=None)
    assert all(bytes(row.body) and row.headers for row in kept)
    return {row.state for row in rows}


def cleared_of(days: dict[str, int], now: datetime, budget: float = 5.0) -> dict[str, int]:
    return expiry.clear(inbox_retention.parts(days, now=now), budget=budget)


def at(days: float):
    return time_machine.travel(START + timedelta(days=days), tick=False)


@pytest.mark.rule("S23")
def test_bytes_and_headers_go_after_their_days_and_the_row_stays(hook):
    rows = one_of_each(hook)
    with at(89.9):
        assert clear_deliveries() == {}
    assert cleared() == set()
    with at(91):
        assert clear_deliveries() == {"APPLIED": 1, "DUPLICATE": 1, "STALE": 1, "IGNORED": 1}
        assert clear_deliveries() == {}
    assert cleared() == {"APPLIED", "DUPLICATE", "STALE", "IGNORED"}
    for state, row in rows.items():
        before = row.digest
        row.refresh_from_db()
        assert (row.state, row.effect, row.digest) == (state, f"what {state} did", before)


@pytest.mark.rule("S23")
def test_what_waits_for_a_person_or_a_worker_is_kept_whatever_its_age(hook):
    one_of_each(hook)
    with at(10_000):
        clear_deliveries()
    assert set(State.values) - cleared() == {"RECEIVED", "EARLY", "FAILED", "QUARANTINED"}


def test_each_state_has_its_own_days_and_0_keeps(hook):
    one_of_each(hook)
    days = {"APPLIED": 0, "DUPLICATE": 1, "STALE": 10, "IGNORED": 0}
    now = START + timedelta(days=5)
    assert cleared_of(days, now) == {"DUPLICATE": 1}


def test_what_was_cleared_is_still_known_when_it_comes_once_more(hook):
    payload = PAYLOADS["ORDER_STATUS_UPDATED"]
    store(hook, payload)
    with at(0):
        turn.take(inbox_store.RECEIVED_EVENTS, hook.pk, seconds=5.0)
    with at(91):
        clear_deliveries()
        store(hook, payload)
        store(hook, payload, indent=1)
        turn.take(inbox_store.RECEIVED_EVENTS, hook.pk, seconds=5.0)
    first, *copies = ReceivedEvent.objects.order_by("pk")
    assert (first.state, bytes(first.body)) == ("APPLIED", b"")
    assert [copy.effect for copy in copies] == [f"the same as received event {first.pk}"] * 2


def store(workspace: Workspace, payload: dict, **how) -> ReceivedEvent:
    inbox_store.store(
        workspace.pk,
        json.dumps(payload, **how).encode(),
        headers={},
        method="POST",
        source=ReceivedEvent.Source.CALLBACK,
        now=START,
    )
    return ReceivedEvent.objects.latest("pk")


def test_what_a_person_set_aside_is_known_by_its_digest_afterwards(hook, monkeypatch):
    kept = store(hook, {"event": "NEW_ONE"})
    with at(0):
        turn.take(inbox_store.RECEIVED_EVENTS, hook.pk, seconds=5.0)
    inbox_store.set_aside(ReceivedEvent.objects.all(), now=START)
    assert ReceivedEvent.objects.get().canonical_digest == ""
    with at(91):
        assert clear_deliveries() == {"IGNORED": 1}
    kept.refresh_from_db()
    assert len(kept.canonical_digest) == 64


def test_one_run_is_bounded_and_the_next_goes_on(hook, monkeypatch):
    monkeypatch.setattr(expiry, "BATCH", 2)
    for _ in range(5):
        make_received_event(hook, state=State.APPLIED, received_at=START, headers={"a": "b"})
    now = START + timedelta(days=91)
    assert cleared_of(DAYS, now, budget=0.0) == {}
    assert cleared_of(DAYS, now) == {"APPLIED": 5}


@pytest.mark.django_db(transaction=True)
def test_no_state_keeps_the_others_waiting(hook, monkeypatch):
    monkeypatch.setattr(expiry, "BATCH", 2)
    for state in (*[State.APPLIED] * 9, State.STALE, State.IGNORED):
        make_received_event(hook, b"x", state=state, received_at=START)
    left = [3]

    def stop_after_three(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and "cleared_at" in sql:
            if not left[0]:
                raise InterruptedError
            left[0] -= 1
        return execute(sql, params, many, context)

    now = START + timedelta(days=91)
    with connection.execute_wrapper(stop_after_three), pytest.raises(InterruptedError):
        cleared_of(DAYS, now)
    rows = ReceivedEvent.objects.exclude(cleared_at=None).values_list("state", flat=True)
    assert sorted(rows) == ["APPLIED", "APPLIED", "IGNORED", "STALE"]


def test_what_people_did_in_the_admin_is_forgotten_after_two_years(hook, admin_user, settings):
    for days in (731, 729):
        LogEntry.objects.log_actions(admin_user.pk, [hook], CHANGE, f"{days} days ago")
        LogEntry.objects.filter(change_message=f"{days} days ago").update(
            action_time=START - timedelta(days=days)
        )
    with at(0):
        settings.KEEP_DAYS = settings.KEEP_DAYS | {"history": 0}
        assert clear_deliveries() == {}
        settings.KEEP_DAYS = settings.KEEP_DAYS | {"history": 730}
        assert clear_deliveries() == {"lines of history": 1}
    assert LogEntry.objects.get().change_message == "729 days ago"


def test_the_task_is_scheduled_every_hour(db):
    task = PeriodicTask.objects.get(task="crm_sync.clear_deliveries")
    assert (task.enabled, task.interval.every, task.interval.period) == (True, 1, "hours")


def test_the_page_says_that_the_payload_was_removed(hook):
    row = one_of_each(hook)["APPLIED"]
    with at(91):
        clear_deliveries()
    response = client_of(superuser=True).get(f"/admin/crm_sync/receivedevent/{row.pk}/change/")
    text = response.content.decode()
    assert "Payload and headers were removed" in text
    assert 'value="replay"' not in text
    assert "secret person" not in text
