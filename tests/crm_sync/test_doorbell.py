"""The doorbell: bounded, silent after a failure, never in the way; one message waits (I12, I25)."""

import base64
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis
import time_machine
from django.db import transaction

from crm_sync.work.doorbell import Doorbell
from tests.crm_sync.sockets import free_port, saying, serving
from tests.together import together

ROOT = Path(__file__).parents[2]
REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/9")

Ring = tuple[str, int]


class Bell(Doorbell):
    """A doorbell that notes its rings, and fails while it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.connect(self._note)
        self.rings: list[Ring] = []
        self.broken = False

    def _note(self, queue: str, workspace_id: int) -> None:
        self.rings.append((queue, workspace_id))
        if self.broken:
            raise ConnectionError("no broker")


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(1_700_000_000, tick=False) as traveller:
        yield traveller


@pytest.fixture
def bell(monkeypatch, clock) -> Bell:
    monkeypatch.setattr("crm_sync.work.doorbell.time.monotonic", time.time)
    return Bell()


pytestmark = pytest.mark.django_db(transaction=True)


def test_without_a_transaction_it_rings_at_once(bell):
    bell.ring("received_events", 1)
    assert bell.rings == [("received_events", 1)]


def test_it_rings_after_the_commit_and_not_when_all_is_rolled_back(bell):
    with transaction.atomic():
        bell.ring("received_events", 1)
        assert bell.rings == []
    assert bell.rings == [("received_events", 1)]
    with transaction.atomic():
        bell.ring("properties", 1)
        transaction.set_rollback(True)
    assert bell.rings == [("received_events", 1)]


def test_many_rows_of_one_block_are_rung_for_once_when_it_ends(bell):
    with bell.bulk():
        for queue in ("properties", "received_events", "properties"):
            with transaction.atomic():
                bell.ring(queue, 1)
        with transaction.atomic():
            bell.ring("undone", 1)
            transaction.set_rollback(True)
        with bell.bulk():
            bell.ring("properties", 2)
        assert bell.rings == []
    assert bell.rings == [("properties", 1), ("received_events", 1), ("properties", 2)]
    bell.ring("properties", 1)
    assert len(bell.rings) == 4


def test_what_was_committed_in_a_block_that_fails_is_rung_for(bell):
    with suppress(LookupError), bell.bulk():
        bell.ring("properties", 1)
        raise LookupError
    assert bell.rings == [("properties", 1)]


def test_a_block_of_many_rows_does_not_silence_another_thread(bell):
    with bell.bulk():
        together(lambda: bell.ring("properties", 1), workers=1)
        assert bell.rings == [("properties", 1)]


def test_after_a_failure_it_is_silent_for_five_seconds_and_nobody_hears_of_it(bell, clock, caplog):
    caplog.set_level(logging.WARNING, "crm_sync.work.doorbell")
    bell.broken = True
    bell.ring("received_events", 1)
    for queue in ("received_events", "properties"):
        bell.ring(queue, 2)
    assert len(bell.rings) == 1
    assert caplog.messages == ["the broker does not answer (no broker); the tick rings again"]
    bell.broken = False
    clock.shift(4.9)
    bell.ring("properties", 3)
    assert len(bell.rings) == 1
    clock.shift(0.2)
    bell.ring("properties", 3)
    assert bell.rings[1:] == [("properties", 3)]


def test_a_failing_ring_does_not_stop_what_else_happens_after_the_commit(bell):
    done = []
    bell.broken = True
    with transaction.atomic():
        bell.ring("received_events", 1)
        transaction.on_commit(lambda: done.append(1))
    assert done == [1]


def test_a_doorbell_that_is_not_connected_does_nothing():
    Doorbell().ring("received_events", 1)


# --- with Celery, in a process of its own: Celery reads its settings once

SCRIPT = """
import django, json, time
django.setup()
import kombu.transport.redis  # what is loaded once is not what is measured
from crm_sync.work.doorbell import doorbell
from crm_sync.models import Ring, Workspace
for n in range(7, 57):
    Workspace.objects.create(pk=n, slug=f"w{n}", base_url="http://platform.test")
took = []
for rings in (1, 50):
    started = time.monotonic()
    for n in range(rings):
        doorbell.ring("received_events", 7 + n)
    took.append(time.monotonic() - started)
print(json.dumps([*took, Ring.objects.filter(rung_at__isnull=False).count()]))
"""


TICK = """
import django, json, uuid
django.setup()
from django.utils import timezone
from crm_sync import tasks
from crm_sync.models import Heartbeat, ReceivedEvent, Ring, Workspace
one = Workspace.objects.create(slug="main", base_url="http://platform.test")
ReceivedEvent.objects.create(workspace=one, digest="a", body=b"?", due_at=timezone.now())
ticked = tasks.tick()
print(json.dumps([ticked, Heartbeat.objects.count(), Ring.objects.exclude(rung_at=None).count()]))
"""


def ring_through(
    broker_url: str, database_url: str, folder: Path, script: str = SCRIPT
) -> tuple[list[float], str]:
    """Run the script with this broker; return what it printed, and the log.

    By default it rings once, then fifty times, and prints the seconds of both and what is marked.
    """
    environment = os.environ | {
        "CELERY_BROKER_URL": broker_url,
        "DATA_DIR": str(folder),
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return json.loads(done.stdout), done.stderr


@pytest.fixture
def server() -> Iterator[redis.Redis]:
    connection = redis.Redis.from_url(REDIS, socket_connect_timeout=1)
    try:
        connection.ping()
    except redis.RedisError as error:
        text = f"no Redis at {REDIS.rpartition('/')[0]} ({error})"
        if os.environ.get("CI") == "true":
            pytest.fail(text)
        pytest.skip(text)
    connection.delete("celery")
    yield connection
    connection.delete("celery")
    connection.close()


@pytest.mark.rule("S21")
@pytest.mark.once
@pytest.mark.processes
def test_a_ring_reaches_redis_as_a_task_that_carries_ids_alone(server, database_url, tmp_path):
    (_, _, marked), log = ring_through(REDIS, database_url, tmp_path)
    assert log == ""
    assert (
        server.llen("celery") == marked == 50
    )  # one waits already when it rings for the first again
    message = json.loads(server.lindex("celery", -1))
    arguments, keywords, _ = json.loads(base64.b64decode(message["body"]))
    assert (message["headers"]["task"], arguments, keywords) == (
        "crm_sync.work",
        ["received_events", 7],
        {},
    )


@pytest.mark.rule("I12")
@pytest.mark.once
@pytest.mark.processes
@pytest.mark.parametrize("kind", ["refused", "frozen"])
def test_a_broker_that_is_away_costs_a_moment_and_only_once(kind, database_url, tmp_path):
    with serving(saying()) as frozen:
        port = frozen.port if kind == "frozen" else free_port()
        (first, rest, marked), log = ring_through(
            f"redis://127.0.0.1:{port}/0", database_url, tmp_path
        )
    # 0.6 s on an idle machine; without our settings it hangs for more than a minute.
    assert first < 5.0
    assert rest < 2.5
    assert marked == 0  # so the tick sends what the broker did not take
    assert log.count("the broker does not answer") == 1
    assert "Traceback" not in log


@pytest.mark.once
@pytest.mark.processes
def test_a_tick_whose_broker_is_away_says_so_and_leaves_all_to_the_next(database_url, tmp_path):
    away = f"redis://127.0.0.1:{free_port()}/0"
    found, log = ring_through(away, database_url, tmp_path, TICK)
    assert found == [0, 1, 0]  # nothing was sent, it ran, and no message is believed to wait
    assert log.count("the broker does not answer") == 1
    assert "Traceback" not in log
