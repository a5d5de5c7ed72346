"""Measure the costs: an installation with servers of its own does one kind of work after the other.

From what its processes use in a phase, what they use while nothing is due is taken away.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import redis
import requests

from lab.benchmarks import page
from lab.benchmarks.databases import migrate
from lab.benchmarks.drain import stream
from lab.benchmarks.sandbox import write_many
from lab.model import meter
from lab.model.growth import Work
from lab.model.meter import Meter
from lab.progress import Steps
from tests.cluster import Cluster
from tests.journeys.callers import HEADERS
from tests.processes import Installation
from tests.redis import Redis

WORKSPACES, MORE = 200, 1_000  # with something to do, and beside them to see what a tick costs
EACH = 5  # properties of a workspace
IDLE = 20.0  # seconds
RATE, EVENTS = 40, 1_200  # a second, and in all
MANY = 1_500  # events of one workspace at once
MESSAGES = 5_000
PATIENCE = 300.0  # seconds for any phase
# A kind of row of `python -m lab.benchmarks sizes` → its name here.
SIZES = {
    "a property in sync, the largest of examples/swissrets.xml": "property",
    "an edit of one field in the history": "edit",
    "an applied event": "event",
    "an event whose payload was removed": "cleared event",
    "an order": "order itself",
    "an assignment of it": "assignment",
    "a line of its timeline": "line",
    "a workspace with its webhook": "workspace",
}
LINES = 10  # of the timeline of an order


def measure() -> dict[str, Any]:
    """Return the costs as costs.json has them."""
    steps = Steps("what each kind of work costs")
    with tempfile.TemporaryDirectory() as name, _servers(Path(name)) as (cluster, broker):
        folder = Path(name)
        found: dict[str, Any] = {"measured": page.machine(), "bytes": {}}
        rows = stream("lab.benchmarks.sizes_rounds", folder=name, database_url=_new(cluster))
        each = {SIZES[one["what"]]: round(one["bytes"]) for one in rows}
        each["order"] = each.pop("order itself") + each.pop("assignment") + LINES * each.pop("line")
        steps.say(f"bytes of a row: {each}")
        installation = Installation(
            folder, cluster.url, CELERY_BROKER_URL=broker.url, DJANGO_SETTINGS_MODULE=SETTINGS
        )
        try:
            found |= _Scene(installation, broker, steps).measure()
            each["message"] = round(_message(installation, broker))
        finally:
            installation.stop()
        found["bytes"] = each
    return found


SETTINGS = "config.settings"


@contextmanager
def _servers(folder: Path) -> Iterator[tuple[Cluster, Redis]]:
    """Start a PostgreSQL that counts statements, and a Redis."""
    cluster = Cluster()
    try:
        with psycopg.connect(_plain(cluster.url), autocommit=True) as connection:
            connection.execute("alter system set shared_preload_libraries = pg_stat_statements")
        cluster.stop()
        cluster.start()
        with psycopg.connect(_plain(cluster.url), autocommit=True) as connection:
            connection.execute("create extension pg_stat_statements")
        broker = Redis(folder)
        try:
            yield cluster, broker
        finally:
            broker.stop(kill=True)
    finally:
        cluster.remove()


def _new(cluster: Cluster) -> str:
    with psycopg.connect(_plain(cluster.url), autocommit=True) as connection:
        connection.execute("create database sizes")
    url = cluster.url.rpartition("/")[0] + "/sizes"
    migrate(url)
    return url


def _message(installation: Installation, broker: Redis) -> float:
    """Return the bytes that a message takes in Redis: of many like a tick that no worker takes."""
    if "worker" in installation.processes:
        installation.kill("worker")
    time.sleep(3)
    with closing(redis.Redis(port=broker.port)) as client:
        message = client.lindex("tick", 0)
        before = client.info("memory")["used_memory"]
        for _ in range(MESSAGES):
            client.lpush("measured", message)
        return (client.info("memory")["used_memory"] - before) / MESSAGES


def _plain(url: str) -> str:
    return url.replace("postgres://", "postgresql://")


class _Scene:
    """The installation while it is measured."""

    idle: Work

    def __init__(self, installation: Installation, broker: Redis, steps: Steps) -> None:
        self.installation, self.steps = installation, steps
        url = _plain(installation.environment["DATABASE_URL"])
        self.database = psycopg.connect(url, autocommit=True)
        self.broker = broker

    def measure(self) -> dict[str, Any]:
        made = self._begin()
        few = self._phase("idle", lambda: time.sleep(IDLE), IDLE, Work())
        self._run("more", str(MORE))
        self.idle = self._phase("idle, more workspaces", lambda: time.sleep(IDLE), IDLE, Work())
        # Two phases differ by chance, too: the cost of a workspace is not below nothing.
        pairs = zip(few.parts(), self.idle.parts(), strict=True)
        tick = Work(*(max(0.0, (b - a) / MORE) for a, b in pairs))
        work = {"idle": few, "tick of a workspace": tick, **dict(self._kinds(made["paths"]))}
        for name in ("swept", "page"):
            work[name] = self._alone({"page": "pages"}.get(name, name))
        pids = {name: one.pid for name, one in self.installation.processes.items()}
        memory = {name: round(meter.memory(pids[name])) for name in ("web", "worker", "beat")}
        cleared = self._run("clear")["cleared"]
        rounded = {name: _rounded(one) for name, one in work.items()}
        return {"work": rounded, "memory": memory, "cleared": round(cleared)}

    def _begin(self) -> dict[str, Any]:
        box, folder = self.installation, self.installation.folder
        write_many(folder / "state.json", WORKSPACES * EACH)
        box.manage("migrate", "--verbosity", "0")
        box.start_sandbox("--state", str(folder / "state.json"))
        made = self._run("make", str(WORKSPACES), box.sandbox)
        box.start_web()
        box.start_worker()
        box.start_beat()
        roots = {name: [box.processes[name].pid] for name in ("web", "worker", "beat")}
        roots |= {"postgresql": [meter.postmaster(self.database)]}
        roots |= {"redis": [self.broker.process.pid]}
        self.meter = Meter(roots, self.database)
        self._due("", f"id % {EACH} = 0")()
        time.sleep(15)  # what a process or a workspace does once is not counted
        return made

    def _kinds(self, paths: list[str]) -> Iterator[tuple[str, Work]]:
        """Measure each kind of work in turns of its own, and then what comes in numbers."""
        for name, change in (
            ("push", "desired = jsonb_set(desired, '{title}', to_jsonb('Edited ' || id)),"),
            ("read", ""),
        ):
            for words, some in (("", f"id % {EACH} = 0"), (" of many", "true")):
                act = self._due(change, some)
                count = WORKSPACES * (1 if not words else EACH)
                used = self._phase(f"{name}{words}", act, count)
                yield f"{name}{words}", used
        used = self._phase("polls", self._polls, WORKSPACES)
        yield "poll", used
        self.database.execute("delete from crm_sync_webhookmonitor")  # it would be polled on
        self._send(paths, RATE, len(paths), 0)  # each order is seen for the first time, and read
        self._wait("crm_sync_receivedevent", "due_at is not null")
        time.sleep(5)
        for table in ("orders_order", "orders_assignment"):  # read later: a read is no event
            later = "due_at = now() + interval '1 hour'"
            self.database.execute(f"update {table} set {later} where due_at is not null")
        used = self._phase("events", lambda: self._events(paths, RATE, EVENTS, 1), EVENTS)
        yield from self._halves("", used)
        used = self._phase("many events", lambda: self._many(paths[0]), MANY)
        yield from self._halves(" of many", used)

    def _halves(self, words: str, used: Work) -> Iterator[tuple[str, Work]]:
        """Divide the cost of an event: the web stores it with one statement."""
        stored = Work(web=used.web, statements=1.0)
        if not words:
            yield "callback", stored
        rest = {part: getattr(used, part) for part in ("worker", "beat", "postgresql", "redis")}
        yield f"event{words}", Work(**rest, statements=used.statements - 1, wal=used.wal)

    def _phase(
        self, name: str, act: Callable[[], object], count: float, idle: Work | None = None
    ) -> Work:
        """Return what each of so many costs beside what an idle installation uses."""
        began, before = time.monotonic(), self.meter.read()
        act()
        seconds, after = time.monotonic() - began, self.meter.read()
        unused = (self.idle if idle is None else idle) * seconds
        parts = zip(after.parts(), before.parts(), unused.parts(), strict=True)
        work = Work(*(max(0.0, (a - b - c) / count) for a, b, c in parts))
        self.steps.say(f"{name}: {count:,.0f} in {seconds:.1f} s, each {_rounded(work)}")
        return work

    def _alone(self, name: str) -> Work:
        """Return the cost of what a process of its own did, which counts its processor itself."""
        self._run(name) if name == "swept" else None
        before = self.meter.read()
        began = time.monotonic()
        found = self._run(name)
        used, count = self.meter.read(), found.pop("count")
        idle = self.idle * (time.monotonic() - began)
        rest = {
            part: max(0.0, getattr(used, part) - getattr(before, part) - getattr(idle, part))
            / count
            for part in ("postgresql", "statements", "wal")
        }
        work = Work(**found, **rest)
        self.steps.say(f"{name}: {count:,} rows, each {_rounded(work)}")
        return work

    def _events(self, paths: list[str], rate: float, count: int, first: int) -> None:
        self._send(paths, rate, count, first)
        self._wait("crm_sync_receivedevent", "due_at is not null")

    def _many(self, path: str) -> None:
        """Let events of one workspace wait, then let them all be applied."""
        self._send([path], 10_000, MANY, 10_000)
        self._wait("crm_sync_receivedevent", "due_at is not null")

    def _send(self, paths: list[str], rate: float, count: int, first: int) -> None:
        """Send events of one order of each workspace, that contradict nothing we know."""
        address = f"http://127.0.0.1:{self.installation.web_port}"
        start, now = time.monotonic(), datetime.now(UTC) - timedelta(hours=1)

        def call(number: int) -> None:
            time.sleep(max(0.0, start + number / rate - time.monotonic()))
            event = {
                "event": "ESTIMATED_DELIVERY_UPDATED",
                "orderId": f"order-{number % len(paths)}",
                "assignmentId": f"order-{number % len(paths)}-1",
                "assignmentType": "PHOTO",
                "occurredAt": (now + timedelta(milliseconds=first + number)).isoformat(),
                "estimatedDeliveryAt": f"2026-02-{1 + number % 28:02}",
            }
            path = paths[number % len(paths)]
            answer = requests.post(f"{address}{path}", json=event, headers=HEADERS, timeout=30)
            answer.raise_for_status()

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(call, range(count)))

    def _due(self, change: str, some: str) -> Callable[[], None]:
        def act() -> None:
            self.database.execute(
                f"update properties_property set {change} revision = revision + 1, due_at = now()"
                f" where {some}"
            )
            self._wait("properties_property", "due_at is not null")

        return act

    def _polls(self) -> None:
        self._run("watch")
        self._wait("crm_sync_webhookmonitor", "polled_at is null")

    def _wait(self, table: str, condition: str) -> None:
        """Wait until no row is like this."""
        end = time.monotonic() + PATIENCE
        asked = f"select count(*) from {table} where {condition}"
        while (left := self.database.execute(asked).fetchone()[0]) > 0:
            if time.monotonic() > end:
                raise TimeoutError(f"{left} of {table} where {condition}")
            time.sleep(0.25)

    def _run(self, *arguments: str) -> dict[str, Any]:
        printed = self.installation.run("-m", "lab.model.scene", *arguments)
        lines = [line for line in printed.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}


def _rounded(work: Work) -> dict[str, float]:
    names = ("web", "worker", "beat", "postgresql", "redis", "statements", "wal")
    parts = zip(names, work.parts(), strict=True)
    return {name: float(f"{part:.3g}") for name, part in parts if part}
