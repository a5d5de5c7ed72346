"""The three health pages, which need no login and tell nothing about the data."""

import json
import uuid
from datetime import timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import CommandError, call_command, load_command_class
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import Heartbeat, ReceivedEvent, Slot, WebhookMonitor, Workspace
from crm_sync.observing import health
from crm_sync.observing.health import HealthReport, reports
from crm_sync.work import heartbeat, slots, turn
from crm_sync.work.heartbeat import Kind

OK = (200, {"status": "ok"})
CANNOT = (503, {"status": "the database takes nothing"})


@pytest.fixture(autouse=True)
def another_process() -> None:
    """Forget what this process has proved."""
    heartbeat.forget()


def get(path: str) -> tuple[int, dict]:
    response = Client().get(path, headers={"Host": "localhost"})
    return response.status_code, response.json()


def seen(kind: Kind, seconds: int) -> None:
    at = timezone.now() - timedelta(seconds=seconds)
    Heartbeat.objects.create(kind=kind, name=f"{kind}@a", started_at=at, seen_at=at)


def all_run() -> None:
    for kind in (Kind.WORKER, Kind.BEAT, Kind.TICK):
        seen(kind, 3)


def due_since(seconds: int, *, count: int = 1, **columns) -> Workspace:
    workspace = Workspace.objects.create(slug="main", base_url="http://x.test")
    due_at = timezone.now() - timedelta(seconds=seconds)
    ReceivedEvent.objects.bulk_create(
        ReceivedEvent(workspace=workspace, digest=str(n), body=b"?", due_at=due_at, **columns)
        for n in range(count)
    )
    return workspace


def _broken(execute, sql, params, many, context):
    raise OperationalError("canary: the server closed the connection")


def _read_only(execute, sql, params, many, context):
    if sql.startswith(("INSERT", "UPDATE", "DELETE")):
        raise OperationalError("canary: attempt to write a readonly database")
    return execute(sql, params, many, context)


def test_a_process_that_answers_is_alive_even_without_a_database(transactional_db):
    with connection.execute_wrapper(_broken):
        assert get("/healthz") == OK
        assert get("/readyz") == CANNOT
        assert get("/workersz") == (503, {"status": "no database"})
    assert get("/readyz") == OK


def test_a_database_that_can_only_be_read_takes_no_callbacks(transactional_db):
    with connection.execute_wrapper(_read_only):
        assert get("/readyz") == CANNOT
    assert get("/readyz") == OK


def test_a_database_that_is_older_than_the_version_takes_no_callbacks(db):
    health._require_migrations.cache_clear()
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("crm_sync", "0020_secret_sent")
    for _ in range(2):
        assert get("/readyz") == (503, {"status": "the database lacks 1 migration"})
    recorder.record_applied("crm_sync", "0020_secret_sent")
    assert get("/readyz") == OK


def test_a_database_that_is_replaced_by_an_older_one_under_a_process_is_seen_within_a_minute(db):
    assert get("/readyz") == OK
    MigrationRecorder(connection).record_unapplied("crm_sync", "0020_secret_sent")
    with time_machine.travel(timezone.now() + timedelta(minutes=1)):
        assert get("/readyz") == (503, {"status": "the database lacks 1 migration"})


def test_whoever_asks_often_costs_one_row_and_one_write_a_second(db, django_assert_num_queries):
    assert get("/readyz") == OK
    with django_assert_num_queries(0):
        assert [get("/readyz") for _ in range(5)] == [OK] * 5
    assert Heartbeat.objects.filter(kind=Kind.WEB).count() == 1


def test_a_web_process_without_any_worker_takes_callbacks(db):
    due_since(3600)
    assert get("/readyz") == OK


def test_where_no_worker_and_no_beat_ever_ran_both_are_missing(db):
    expected = {"status": "work is stalled", "missing": ["worker", "beat"], "stalled": []}
    assert get("/workersz") == (503, expected)


@pytest.mark.parametrize("kind", [Kind.WORKER, Kind.BEAT])
def test_the_one_that_fell_silent_is_missing(db, kind):
    for other in (Kind.WORKER, Kind.BEAT):
        seen(other, 60 if other == kind else 3)
    expected = {"status": "work is stalled", "missing": [str(kind)], "stalled": []}
    assert get("/workersz") == (503, expected)


@pytest.mark.parametrize(("seconds", "away"), [(25, False), (45, True), (None, True)])
def test_a_broker_through_which_no_tick_comes_is_missing(db, seconds, away):
    seen(Kind.WORKER, 3)
    seen(Kind.BEAT, 3)
    if seconds:
        seen(Kind.TICK, seconds)
    expected = {"status": "work is stalled", "missing": ["broker"], "stalled": []}
    assert get("/workersz") == ((503, expected) if away else OK)


def test_without_beat_no_tick_can_come_so_the_broker_is_not_blamed(db):
    seen(Kind.WORKER, 3)
    seen(Kind.BEAT, 120)
    seen(Kind.TICK, 120)
    expected = {"status": "work is stalled", "missing": ["beat"], "stalled": []}
    assert get("/workersz") == (503, expected)


@pytest.mark.parametrize(("seconds", "late"), [(30, False), (90, True)])
def test_work_that_nobody_does_for_a_minute_is_told(db, seconds, late):
    all_run()
    due_since(seconds)
    expected = {"status": "work is stalled", "missing": [], "stalled": ["received_events"]}
    assert get("/workersz") == ((503, expected) if late else OK)


def test_work_that_somebody_does_just_now_is_not_late(db):
    all_run()
    until = timezone.now() + timedelta(seconds=60)
    due_since(90, lease_token=uuid.uuid4(), lease_until=until)
    assert get("/workersz") == OK


STALLED = (503, {"status": "work is stalled", "missing": [], "stalled": ["received_events"]})


def test_a_long_backlog_that_a_worker_works_on_is_not_stalled(db):
    all_run()
    workspace = due_since(300)
    with slots.hold_own("received_events", workspace.pk, 1) as slot:
        assert get("/workersz") == OK
        Slot.objects.update(lease_until=timezone.now() - timedelta(seconds=59))  # it was killed
        assert get("/workersz") == OK
        Slot.objects.update(lease_until=timezone.now() - timedelta(seconds=61))
        assert get("/workersz") == STALLED
    assert slot is not None


def test_a_long_backlog_is_not_stalled_between_two_turns(db):
    all_run()
    workspace = due_since(300, count=301)
    assert get("/workersz") == STALLED
    queue = hooks.queue("received_events")
    tally = turn.take(queue, workspace.pk, seconds=0.0)  # no broker: no message is marked
    assert 0 < tally.total < 301
    assert tally.more
    assert not Slot.objects.exclude(lease_until=None).exists()
    assert get("/workersz") == OK
    with time_machine.travel(timezone.now() + timedelta(seconds=61)):
        assert get("/workersz")[1]["stalled"] == ["received_events"]


@pytest.mark.parametrize("seconds", [30, 60, 61, 85])
def test_the_next_poll_of_a_webhook_is_not_late_before_its_moment(db, seconds):
    all_run()
    workspace = Workspace.objects.create(slug="main", base_url="http://x.test")
    at = timezone.now() + timedelta(seconds=seconds)
    WebhookMonitor.objects.create(workspace=workspace, due_at=at)
    assert get("/workersz") == OK


def test_a_person_reads_when_they_were_last_seen(db):
    seen(Kind.WORKER, 4)
    seen(Kind.BEAT, 7)
    seen(Kind.TICK, 3)
    assert reports(timezone.now()) == [
        HealthReport(Kind.WORKER, "Worker last seen 4 s ago"),
        HealthReport(Kind.BEAT, "Beat last seen 7 s ago"),
    ]


def test_a_person_reads_what_is_missing_and_how_to_start_it(db):
    seen(Kind.WORKER, 120)
    worker, beat = reports(timezone.now())
    assert (worker.text, worker.remedy, worker.tone) == (
        "No worker for 2 min",
        "Start one with: manage.py run worker",
        "danger",
    )
    assert (beat.text, beat.remedy, beat.tone) == (
        "No beat ever ran here",
        "Start one with: manage.py run beat",
        "danger",
    )


@pytest.mark.parametrize("words", [["worker"], ["beat"], []])
def test_what_a_person_reads_can_be_run(words):
    parser = load_command_class("crm_sync", "run").create_parser("manage.py", "run")
    assert parser.parse_args(words).process == words


def test_a_process_that_does_not_exist_is_refused():
    with pytest.raises(CommandError) as refused:
        call_command("run", "wroker")
    assert "invalid choice: 'wroker'" in str(refused.value)


def test_a_person_reads_that_no_message_comes_through_the_broker(db):
    seen(Kind.WORKER, 3)
    seen(Kind.BEAT, 3)
    expected = HealthReport(
        Kind.TICK,
        "No message ever came through the broker",
        "Start it, or correct CELERY_BROKER_URL; workers and beat come back by themselves",
        "Nothing that is due begins; nothing is lost.",
        "danger",
    )
    assert reports(timezone.now())[2:] == [expected]
    seen(Kind.TICK, 45)
    assert reports(timezone.now())[2].text == "No message has come through the broker for 45 s"


def test_the_audit_says_where_no_worker_ever_ran_and_holds_all_the_same(db):
    seen(Kind.BEAT, 4)
    out = StringIO()
    call_command("audit", stdout=out)
    assert out.getvalue().splitlines() == [
        "No worker ever ran here. Start one with: manage.py run worker"
    ]
    out = StringIO()
    call_command("audit", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {
        "holds": True,
        "groups": [],
        "missing": ["No worker ever ran here"],
    }
