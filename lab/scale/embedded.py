"""The Procfile's processes, as a user starts them: many due rows and an upload at once."""

import re
import signal
import threading
import time
from pathlib import Path

import requests

from lab.progress import Steps
from lab.runs import Result, add_workspace, table
from lab.scale import judge
from lab.scale.person import Person
from lab.scale.scene import upload
from lab.scale.size import Size
from lab.scale.watcher import Watcher, memory, processor
from tests.journeys.rows import ask
from tests.processes import Installation

PATIENCE = 10.0  # seconds from SIGTERM; honcho kills after five, which costs a lease and no row
INTERVAL = 1.0
STANDS = 10.0  # seconds in which what is due must be begun (I12)
MISSING = re.compile(r"No (?:worker|beat)\b.{,80}")
DUE = "select count(*) from properties_property where due_at is not null"


def run(folder: Path, url: str, size: Size, result: Result) -> None:
    """Import, start, upload, stop in the middle and start again; then both sides are equal."""
    steps = Steps(f"the Procfile: SQLite, no servers; {size.embedded:,} due, as many uploaded")
    one = Installation(folder, url, DJANGO_SETTINGS_MODULE="config.settings")
    try:
        person = _prepare(one, size)
        steps.say(f"{size.embedded:,} rows are due, and nobody works")
        one.start_procfile("worker")
        one.start_procfile("beat")
        watcher, reader = Watcher(one, url), Reader(person, url)
        watcher.excuse(STANDS)
        watcher.start()
        reader.start()
        _work(one, person, watcher, steps, size, result)
        reader.stop(result)
        _judge(one, watcher, url, size, result)
    finally:
        one.stop()


def _prepare(one: Installation, size: Size) -> Person:
    one.manage("migrate", "--verbosity", "0")
    one.start_sandbox()
    one.start_procfile("web")
    add_workspace(one, "main", one.sandbox)
    one.manage("configure_webhook", "main")
    rules = {"rules": [{"fault": "SLOW", "seconds": size.slow}] if size.slow else []}
    requests.post(f"{one.sandbox}/_sandbox/faults", json=rules, timeout=10).raise_for_status()
    feed = table(one.folder / "due.csv", size.embedded, "D", title="Due")
    one.manage("import_properties", "main", str(feed))
    return Person(one)


def _work(
    one: Installation, person: Person, watcher: Watcher, steps: Steps, size: Size, result: Result
) -> None:
    rows, began, url = size.embedded, time.monotonic(), watcher.url
    feed = table(one.folder / "upload.csv", rows, "U", title="Uploaded")
    upload(person, steps, url, feed, rows=rows, limit=size.limit)

    def there() -> int:
        query = "select count(*) from properties_property where platform_id is not null"
        return int(ask(url, query)[0][0])

    steps.until("half of it on the platform", there, rows, limit=size.limit)
    process = one.processes.pop("worker")
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    seconds = time.monotonic() - asked
    result.figure("the worker ends after SIGTERM", seconds, "s", below=PATIENCE, digits=1)
    watcher.excuse(STANDS)
    one.start_procfile("worker")
    steps.until("all of it on the platform", there, 2 * rows, limit=size.limit)
    steps.until("nothing is due", lambda: int(ask(url, DUE)[0][0] == 0), 1, limit=size.limit)
    speed = 2 * rows / (time.monotonic() - began)
    result.figure("due and uploaded, on the platform", speed, "a second")


def _judge(one: Installation, watcher: Watcher, url: str, size: Size, result: Result) -> None:
    pid = one.processes["worker"].pid
    before = processor(pid)
    time.sleep(5)
    result.figure("processor of the worker, idle", 20 * (processor(pid) - before), "%", digits=1)
    result.figure("memory of the worker", memory(pid), "MiB")
    seen = watcher.stop()
    for still in seen.stills.values():
        what = f"stalled for longest: {still.queue}"
        result.figure(what, still.seconds, "s", below=STANDS, digits=1)
    there = one.state()["properties"]
    ours = {key: one for key, one in there.items() if "objectReferenceId" in one}
    ours = {k: v for k, v in ours.items() if v["objectReferenceId"][:2] in ("D-", "U-")}
    if len(ours) != 2 * size.embedded:
        result.wrong.append(f"{len(ours)} properties are on the platform")
    result.wrong += judge.shortened(judge.properties(url, 1, ours))
    result.wrong += judge.audit(one) + judge.logs(one)


class Reader(threading.Thread):
    """Somebody who looks at the overview each second, and compares it with the database."""

    def __init__(self, person: Person, url: str) -> None:
        super().__init__(daemon=True)
        self.person, self.url, self.slowest, self.looks = person, url, 0.0, 0
        self.wrong: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        began = time.monotonic()
        while not self.ended.wait(INTERVAL):
            if time.monotonic() - began > 2 * STANDS:  # the worker has had time to start
                self._look()

    def _look(self) -> None:
        asked, before = time.monotonic(), ask(self.url, DUE)[0][0]
        words = self.person.overview()
        self.slowest, self.looks = max(self.slowest, time.monotonic() - asked), self.looks + 1
        after = ask(self.url, DUE)[0][0]
        if before and after and "Stalled" in words:
            self.wrong.append("the overview says that something is stalled while it is done")
        if missing := MISSING.search(words):
            self.wrong.append(f"the overview misses a process that runs: {missing[0]}")

    def stop(self, result: Result) -> None:
        self.ended.set()
        self.join()
        result.figure("the overview answers, at the slowest", self.slowest, "s", below=5, digits=1)
        result.figure("looks at the overview", self.looks, "looks")
        result.wrong += judge.shortened(list(dict.fromkeys(self.wrong)))
