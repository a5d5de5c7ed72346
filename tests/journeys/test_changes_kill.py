"""kill -9 of the web and of writers while programs follow the changes: each once (I37)."""

import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from tests.journeys.rows import ask, is_sqlite
from tests.processes import Installation, wait_until
from tests.sizes import figures, seed_of

KILLS, LIMIT = 5, 7  # changes of a page
PAUSE = 0.11  # seconds: a token may call 600 times a minute
CHANGES = "select number, id from crm_sync_reportedchange order by number"
UNNUMBERED = "select count(*) from crm_sync_reportedchange where number is null"


@dataclass
class Reader:
    """A program that follows by `next`; at times it dies before it has noted what it read."""

    address: str
    token: str
    rng: random.Random
    noted: list[tuple[int, str]] = field(default_factory=list)
    forgotten: list[tuple[int, str]] = field(default_factory=list)  # read, and not noted
    statuses: set[int] = field(default_factory=set)
    cut_off: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def follow(self) -> None:
        address = f"{self.address}?limit={LIMIT}"
        while not self.stopped.wait(PAUSE):
            try:
                answer = requests.get(
                    address, headers={"Authorization": f"Bearer {self.token}"}, timeout=30
                )
                page = answer.json()
            except requests.RequestException:
                self.cut_off += 1
                continue
            self.statuses.add(answer.status_code)
            items = [(one["number"], one["data"]["reference"]) for one in page["items"]]
            if items and self.rng.random() < 0.2:
                self.forgotten += items
                continue
            self.noted += items
            address = f"{self.address}?limit={LIMIT}&after={page['next'].rpartition('after=')[2]}"


@pytest.mark.rule("I37")
@pytest.mark.processes
def test_programs_read_each_change_once_while_the_web_and_writers_are_killed(
    tmp_path: Path, database_url: str
):
    rng, log = random.Random(seed_of("changes")), tmp_path / "written"
    installation = Installation(tmp_path, database_url, WEB_CONCURRENCY="2")
    tokens = installation.run("-m", "tests.journeys.reporting").split()
    address = f"http://127.0.0.1:{installation.web_port}/api/v1/changes"
    readers = [Reader(address, token, random.Random(rng.random())) for token in tokens]
    threads = [threading.Thread(target=one.follow) for one in readers]
    try:
        for one in threads:
            one.start()
        for kill in range(KILLS):
            installation.start_web()
            late = [] if is_sqlite(database_url) or kill else ["late"]  # SQLite has one writer
            for name, how in ("one", late), ("other", []):
                arguments = [f"{name}-{kill}", str(log), *how]
                installation.start(name, "tests.journeys.reporting", *arguments)
            reached = [len(one.noted) + 20 for one in readers]
            wait_until(
                "both go on",
                lambda reached=reached: all(
                    len(one.noted) > far for one, far in zip(readers, reached, strict=True)
                ),
                limit=60,
            )
            time.sleep(rng.random() * 0.3)
            for name in rng.sample(["web", "one", "other"], 3):
                installation.kill(name)
                time.sleep(rng.random() * 0.2)
        installation.start_web()
        rows = wait_until("all have a number", lambda: numbered(database_url), limit=30)
        wait_until(
            "both have read all",
            lambda: all(len(one.noted) == len(rows) for one in readers),
            limit=30,
        )
    finally:
        for one in readers:
            one.stopped.set()
        installation.stop()
        for thread in threads:
            thread.join()
    one, other = readers
    committed = log.read_text().split()
    figures(
        "kills beside readers of changes",
        changes=len(rows),
        read_twice=len(one.forgotten) + len(other.forgotten),
        cut_off=one.cut_off + other.cut_off,
    )
    assert one.statuses | other.statuses == {200}
    assert one.noted == other.noted
    assert [number for number, _ in one.noted] == list(range(1, len(rows) + 1))
    names = [name for _, name in one.noted]
    assert set(committed) <= set(names)
    # What a writer committed and could not note: one for each writer that was killed.
    assert len(names) == len(set(names)) <= len(committed) + 2 * KILLS
    assert set(one.forgotten + other.forgotten) <= set(one.noted)
    if not is_sqlite(database_url):  # whoever had followed the key would have missed some
        assert [key for _, key in rows] != sorted(key for _, key in rows)


def numbered(url: str) -> list[tuple[int, int]]:
    """Return the numbers and keys of all changes, or none while one has no number."""
    return [] if ask(url, UNNUMBERED) != [(0,)] else ask(url, CHANGES)
