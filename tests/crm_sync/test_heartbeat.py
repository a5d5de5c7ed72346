"""Workers and beat say that they live, and who asks hears it (crm_sync/work/heartbeat.py)."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crm_sync.models import Heartbeat
from crm_sync.work import heartbeat
from crm_sync.work.heartbeat import (
    GONE_AFTER,
    Kind,
    Presence,
    beat,
    died,
    leave,
    presences,
)

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
WORKER = (Kind.WORKER, "celery@a")


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def row(name: str = "celery@a") -> tuple[datetime, datetime, datetime | None]:
    found = Heartbeat.objects.get(name=name)
    return found.started_at, found.seen_at, found.stopped_at


@pytest.fixture(autouse=True)
def another_process() -> Iterator[None]:
    """Forget what this process has written, as if it were another one."""
    heartbeat.forget()
    yield
    heartbeat.forget()


def test_where_nothing_ever_ran_both_are_missing():
    assert presences(NOON) == [Presence(Kind.WORKER, None), Presence(Kind.BEAT, None)]
    assert [one.is_missing for one in presences(NOON)] == [True, True]


def test_a_process_writes_one_row_and_at_most_every_five_seconds():
    written = [beat(*WORKER, after(seconds)) for seconds in (0, 1, 4.9, 5, 6, 10)]
    assert written == [True, False, False, True, False, True]
    assert row() == (NOON, after(10), None)


def test_a_beat_costs_one_statement_and_one_that_is_early_none():
    beat(*WORKER, NOON)
    with CaptureQueriesContext(connection) as queries:
        assert beat(*WORKER, after(5))
        assert not beat(*WORKER, after(6))
    assert [sql["sql"].split()[0] for sql in queries if "INSERT" in sql["sql"]] == ["INSERT"]
    assert [sql["sql"] for sql in queries if sql["sql"].split()[0] in ("UPDATE", "DELETE")] == []


def test_a_clock_that_was_set_back_silences_nobody():
    beat(*WORKER, NOON)
    assert beat(*WORKER, after(-3600))
    assert row()[1] == after(-3600)


def test_inside_a_transaction_of_somebody_else_nothing_is_written():
    with transaction.atomic():
        assert not beat(*WORKER, NOON)
    assert not Heartbeat.objects.exists()
    assert beat(*WORKER, NOON)


def test_the_age_of_the_youngest_counts():
    beat(Kind.WORKER, "celery@old", NOON)
    beat(Kind.WORKER, "celery@new", after(50))
    assert presences(after(54))[0] == Presence(Kind.WORKER, timedelta(seconds=4))


@pytest.mark.parametrize(("silence", "is_missing"), [(30, False), (31, True)])
def test_half_a_minute_without_a_sign_is_a_death(silence, is_missing):
    beat(*WORKER, NOON)
    assert presences(after(silence)) == [
        Presence(Kind.WORKER, timedelta(seconds=silence)),
        Presence(Kind.BEAT, None),
    ]
    assert [one.is_missing for one in presences(after(silence))] == [is_missing, True]
    assert [one.name for one in died(after(silence))] == (["celery@a"] if is_missing else [])


def test_who_ended_properly_has_not_died():
    beat(*WORKER, NOON)
    leave(*WORKER, after(2))
    assert row() == (NOON, NOON, after(2))
    assert died(after(60)) == []


def test_one_that_starts_again_takes_its_row_over():
    beat(*WORKER, NOON)
    leave(*WORKER, after(2))
    heartbeat.forget()
    beat(*WORKER, after(9))
    assert row() == (after(9), after(9), None)


def test_a_row_that_somebody_removed_comes_back_as_it_was():
    beat(*WORKER, NOON)
    Heartbeat.objects.all().delete()
    beat(*WORKER, after(5))
    assert row() == (NOON, after(5), None)


def test_rows_of_the_long_gone_go_when_somebody_starts():
    beat(Kind.WORKER, "celery@gone", NOON)
    beat(Kind.WORKER, "celery@late", after(10))
    now = NOON + GONE_AFTER + timedelta(seconds=5)
    beat(*WORKER, now)
    assert sorted(Heartbeat.objects.values_list("name", flat=True)) == ["celery@a", "celery@late"]
    assert [one.name for one in died(now)] == ["celery@late"]


def test_the_last_of_a_kind_is_remembered_however_long_ago():
    beat(*WORKER, NOON)
    beat(Kind.BEAT, "beat@a", NOON + timedelta(days=9))
    worker, _ = presences(NOON + timedelta(days=9))
    assert worker == Presence(Kind.WORKER, timedelta(days=9))


def test_the_moment_of_another_clock_that_is_ahead_is_now():
    beat(*WORKER, after(7))
    assert presences(NOON)[0] == Presence(Kind.WORKER, timedelta(0))


def test_a_database_that_does_not_answer_is_said_once_and_once_when_it_is_back(caplog):
    def refuse(*_):
        raise OperationalError("no route")

    caplog.set_level(logging.WARNING)
    with connection.execute_wrapper(refuse):
        assert [beat(*WORKER, after(seconds)) for seconds in (0, 5, 10)] == [False] * 3
        leave(*WORKER, after(11))
    assert beat(*WORKER, after(15))
    assert caplog.messages == [
        "the heartbeat of worker celery@a is not written: no route",
        "could not record the end of worker celery@a: no route",
        "the heartbeat of worker celery@a is written again",
    ]
    assert row()[0] == NOON


@pytest.mark.rule("I29")
def test_a_worker_that_a_wrong_clock_has_seen_is_not_alive(db):
    now = timezone.now()
    ahead = now + timedelta(days=1)
    Heartbeat.objects.create(kind="worker", name="dead", started_at=ahead, seen_at=ahead)
    (worker,) = heartbeat.presences(now, (heartbeat.Kind.WORKER,))
    assert worker.is_missing
