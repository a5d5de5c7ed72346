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
from tests.processes import Installation, wait_until
from tests.redis import Redis

pytestmark = [
    pytest.mark.processes,
    pytest.mark.once,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="there is no redis-server"),
]
RESTARTS = int(os.environ.get("CHAOS_REDIS_RESTARTS", "3"))
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
    running.start_worker("threads", "--include", "tests.journeys.slow_task")
    running.start_worker("prefork", "--include", "tests.journeys.slow_task", pool="prefork")
    yield running
    running.stop()


def test_a_redis_that_restarts_ends_no_worker(tmp_path: Path, installation, redis):
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
    assert ended == {"threads": None, "prefork": None}, _logs(installation)


def _logs(installation: Installation) -> str:
    return "".join(path.read_text()[-2000:] for path in installation.folder.glob("*.log"))
