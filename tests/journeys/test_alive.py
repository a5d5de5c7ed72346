"""Real processes: each says that it lives, and what one that was killed leaves behind."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.journeys.rows import ask
from tests.processes import Installation, free_port, wait_until

pytestmark = pytest.mark.processes
LIMIT = 30  # seconds for a process to start or to end

Rows = list[tuple[str, str, bool]]
READ = "select kind, name, stopped_at is not null from crm_sync_heartbeat order by kind, name"


@pytest.fixture
def installation(tmp_path: Path, database_url: str) -> Iterator[Installation]:
    running = Installation(tmp_path, database_url)
    yield running
    running.stop()


@pytest.fixture
def rows(database_url: str) -> Callable[[], Rows]:
    """Read the heartbeats as (kind, name, whether it ended by itself)."""

    def read() -> Rows:
        return [
            (kind, name.partition("@")[0], bool(ended))
            for kind, name, ended in ask(database_url, READ)
        ]

    return read


def test_workers_and_beat_say_that_they_live_and_that_they_end(installation, rows):
    installation.start_worker("threads")
    installation.start_loop("loop")
    installation.start_beat()
    names = [("beat", "beat"), ("tick", "tick"), ("worker", "threads"), ("worker", "work")]
    running = [(kind, name, False) for kind, name in names]
    wait_until("all live, and messages come", lambda: rows() == running, limit=LIMIT)
    for name in ("threads", "beat"):
        process = installation.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        assert (name, process.wait(LIMIT)) == (name, 0)
    installation.kill("loop")
    assert rows() == [(kind, name, name in ("beat", "threads")) for kind, name in names]


@pytest.mark.once
def test_a_worker_that_never_reached_its_broker_says_that_it_lives(installation, rows):
    nobody = f"redis://127.0.0.1:{free_port()}/0"
    installation.environment |= {"CELERY_BROKER_URL": nobody}
    installation.start_worker()
    wait_until("it lives", lambda: rows() == [("worker", "worker", False)], limit=LIMIT)
