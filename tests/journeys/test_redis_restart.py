"""Redis goes away for a moment while workers work: they reconnect (config/redis_broker.py)."""

import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from celery import Celery
from kombu.exceptions import OperationalError

from config import broker
from tests.journeys.rows import ask
from tests.processes import Installation, wait_until
from tests.redis import Redis

pytestmark = [
    pytest.mark.processes,
    pytest.mark.once,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="there is no redis-server"),
]
RESTARTS = int(os.environ.get("CHAOS_REDIS_RESTARTS", "3"))
AWAY, SOON = 45.0, 10.0  # seconds
DUE = "select count(*) from properties_property where due_at is not null"
SEED = int(os.environ.get("CHAOS_SEED", "1"))


class Caller:
    """Whoever rings: a broker that is away costs it nothing but the ring."""

    def __init__(self, url: str, folder: Path):
        broker.use()
        self.app, self.folder = Celery("caller", broker=url, set_as_current=False), folder
        folder.mkdir()

    def ring(self, seconds: float) -> None:
        with suppress(OperationalError):
            self.app.send_task("tests.slow", (seconds, str(self.folder)), retry=False)

    def answered(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}

    def forget(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path)
    yield server
    server.stop(kill=True)


@pytest.fixture
def installation(tmp_path: Path, database_url: str, redis: Redis) -> Iterator[Installation]:
    url = f"redis://127.0.0.1:{redis.port}/0"
    running = Installation(tmp_path, database_url, CELERY_BROKER_URL=url)
    yield running
    running.stop()


@pytest.mark.rule("I12")
def test_a_redis_that_restarts_ends_no_worker(tmp_path: Path, installation, redis):
    for name in ("first", "second"):
        installation.start_worker(name, "--include", "tests.journeys.slow_task")
    workers = {name: process.pid for name, process in installation.processes.items()}
    caller = Caller(installation.environment["CELERY_BROKER_URL"], tmp_path / "answers")
    rng = random.Random(SEED)

    def both_work() -> bool:
        """Leave each of them room for more: who is full does not listen to Redis."""
        for _ in range(4):
            caller.ring(seconds=0.2)
        time.sleep(0.5)
        return caller.answered() == {str(pid) for pid in workers.values()}

    for number in range(RESTARTS):
        wait_until(f"both work after {number} restarts", both_work, limit=30)
        for _ in range(4):  # in the middle of some, and ready for more
            caller.ring(seconds=4)
        time.sleep(rng.uniform(0.2, 0.5))
        redis.stop(kill=rng.random() < 0.5)
        time.sleep(rng.uniform(0.2, 1.5))
        redis.start()
        caller.forget()
    wait_until("both work in the end", both_work, limit=30)
    ended = {name: process.poll() for name, process in installation.processes.items()}
    assert ended == {"first": None, "second": None}, _logs(installation)


def test_an_edit_that_is_made_while_redis_is_away_is_pushed_within_ten_seconds_of_its_return(
    installation, redis, database_url
):
    """It was away for so long that worker and beat had all reason to ask rarely."""
    installation.start_sandbox()
    installation.run("-m", "tests.journeys.driver", "rows", "1", "6")
    installation.start_worker()
    installation.start_beat()

    def is_pushed() -> bool:
        return ask(database_url, DUE) == [(0,)]

    wait_until("it works before", is_pushed, limit=30)
    redis.stop(kill=True)
    time.sleep(AWAY / 2)
    installation.run("-m", "tests.journeys.driver", "again")
    time.sleep(AWAY / 2)
    assert not is_pushed()
    redis.start()
    wait_until("it is pushed", is_pushed, limit=SOON)
    titles = [one.get("title") for one in installation.state()["properties"].values()]
    assert titles.count("Once more") == 1


def _logs(installation: Installation) -> str:
    return "".join(path.read_text()[-2000:] for path in installation.folder.glob("*.log"))
