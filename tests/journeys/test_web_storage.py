"""What cannot be stored gets no 200 and comes by the history; the ack is fast (I15, I25)."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from shutil import which

import psycopg
import pytest
import requests

from tests.conftest import NewDatabase
from tests.journeys.callers import PATIENCE, Line, at_a_rate, event
from tests.journeys.rows import ask, connect, is_sqlite, locked
from tests.processes import Installation, free_port, wait_until

pytestmark = pytest.mark.processes
EVENTS = 6  # the history keeps ten
LOCK = 30.0  # seconds: longer than the database waits, as long as the platform does
SOURCES = "select source, count(*) from crm_sync_receivedevent group by source"
DROPPED = "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s"


def installed(folder: Path, url: str, **environment: str) -> Installation:
    return Installation(folder, url, WEB_CONCURRENCY="2", **environment)


@pytest.fixture
def installation(tmp_path: Path, database_url: str) -> Iterator[Installation]:
    one = installed(tmp_path, database_url)
    yield one
    one.stop()


def start(installation: Installation) -> str:
    """Start platform and web; the callback address."""
    installation.start_sandbox(step=3600)
    url = installation.run("-m", "tests.journeys.hook", installation.sandbox).strip()
    installation.start_web()
    assert Line(url).call(event("before")) == 200
    return url


def happen(installation: Installation, count: int) -> None:
    for _ in range(count):
        path = "/_sandbox/properties/201/marketing"
        answer = requests.post(installation.sandbox + path, json={}, timeout=10)
        assert answer.ok, answer.text


def answers(installation: Installation, count: int) -> list[int | None]:
    """What the platform was answered, once it has tried so often."""

    def tried() -> list[int | None]:
        history = installation.state()["history"]
        return [one.get("statusCode") for one in history] if len(history) >= count else []

    found: list[int | None] = wait_until("the platform has tried", tried, limit=2 * PATIENCE)
    return found


def refuses_and_recovers(
    installation: Installation, url: str, failure: Callable[[], AbstractContextManager[None]]
) -> None:
    """Let events happen while nothing can be stored: 503 for each, and later each is there."""
    start(installation)
    with failure():
        happen(installation, EVENTS)
        assert answers(installation, EVENTS) == [503] * EVENTS
    assert ask(url, SOURCES) == [("CALLBACK", 1)]
    happen(installation, 1)
    assert answers(installation, EVENTS + 1)[-1] == 200
    for _ in range(2):  # the poll, then what it found
        installation.manage("work")
    assert sorted(ask(url, SOURCES)) == [("CALLBACK", 2), ("HISTORY", EVENTS)]
    assert ask(url, "select count(*) from crm_sync_receivedevent where state = 'RECEIVED'") == [
        (0,)
    ]


@contextmanager
def a_full_disk(folder: Path) -> Iterator[None]:
    """Fill what is left of the file system."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
    try:
        yield
    finally:
        filler.unlink()


@pytest.mark.rule("I15")
@pytest.mark.once
def test_with_a_full_disk_nothing_is_acknowledged_and_nothing_lost(
    tmp_path: Path, new_database: NewDatabase
):
    if os.environ.get("DATABASE_URL", "").startswith("postgres"):
        pytest.skip("the disk of a PostgreSQL server is not ours to fill")
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system, where the machine allows it")
    try:
        with new_database(folder) as url:
            installation = installed(tmp_path, url)
            try:
                refuses_and_recovers(installation, url, lambda: a_full_disk(folder))
            finally:
                installation.stop()
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.rule("I15")
def test_while_the_database_is_down_nothing_is_acknowledged(installation, database_url):
    if is_sqlite(database_url):
        pytest.skip("SQLite has no server that could be down")
    server, name = database_url.rpartition("/")[0], database_url.rpartition("/")[2]

    @contextmanager
    def down() -> Iterator[None]:
        with closing(psycopg.connect(f"{server}/postgres", autocommit=True)) as admin:
            admin.execute(f"alter database {name} with allow_connections false")
            admin.execute(DROPPED, [name])
            try:
                yield
            finally:
                admin.execute(f"alter database {name} with allow_connections true")

    refuses_and_recovers(installation, database_url, down)


@pytest.mark.chaos
def test_while_the_table_is_locked_for_long_nothing_is_acknowledged(installation, database_url):
    @contextmanager
    def lock() -> Iterator[None]:
        began = time.monotonic()
        with locked(database_url):
            yield
            time.sleep(max(0.0, LOCK - (time.monotonic() - began)))

    refuses_and_recovers(installation, database_url, lock)


@pytest.mark.rule("I25", "6.1 rule 3", "8 response time")
def test_neither_a_frozen_broker_nor_a_busy_database_keeps_the_platform_waiting(
    tmp_path: Path, database_url: str
):
    if which("redis-server") is None:
        pytest.skip("there is no redis-server")
    port = free_port()
    command = ["redis-server", "--port", str(port), "--save", "", "--dir", str(tmp_path)]
    redis = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    installation = installed(tmp_path, database_url, CELERY_BROKER_URL=f"redis://127.0.0.1:{port}")
    answers: list[tuple[int, float]] = []
    done = threading.Event()
    busy = threading.Thread(target=write_now_and_then, args=(database_url, done))
    try:
        url = installation.run("-m", "tests.journeys.hook").strip()
        installation.start_web()
        redis.send_signal(signal.SIGSTOP)
        busy.start()
        at_a_rate(url, 50, 50.0, lambda *one: answers.append(one))
    finally:
        done.set()
        if busy.ident:
            busy.join()
        redis.kill()
        redis.wait()
        installation.stop()
    assert [status for status, _ in answers] == [200] * 50
    assert max(seconds for _, seconds in answers) < PATIENCE
    assert ask(database_url, SOURCES) == [("CALLBACK", 50)]


def write_now_and_then(url: str, done: threading.Event) -> None:
    """Hold the lock of another writer for 300 ms, again and again."""
    with closing(connect(url)) as connection:
        while not done.wait(0.3):
            connection.execute("begin immediate" if is_sqlite(url) else "begin")
            connection.execute("update crm_sync_workspace set slug = slug")
            time.sleep(0.3)
            connection.execute("commit")
