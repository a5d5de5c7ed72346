"""Looks at an installation from outside while it works: what stands still, what piles up."""

import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.journeys.rows import connect, is_sqlite
from tests.processes import Installation

WORKERS = ("worker-1", "worker-2")
INTERVAL = 0.25  # seconds between two checks
# Queue to its table, and whether its work calls the platform: then it waits while that is paused.
QUEUES = {
    "properties": ("properties_property", True),
    "imports": ("properties_import", False),
    "received_events": ("crm_sync_receivedevent", False),
    "orders": ("orders_order", True),
    "assignments": ("orders_assignment", True),
    "materials": ("orders_materialset", True),
    "users": ("orders_userlist", True),
    "webhooks": ("crm_sync_webhookmonitor", True),
}
AWAKE = (
    " and workspace_id in (select id from crm_sync_workspace"
    " where paused_until is null or paused_until <= {now})"
)
FREE = "due_at <= {now} and (lease_until is null or lease_until <= {now})"
STATE = (
    "select workspace_id, sum(case when {free} then 1 else 0 end), count(*), count(lease_token),"
    " max(lease_until) from {table} where due_at is not null group by workspace_id"
)
Key = tuple[str, int]  # queue, workspace


@dataclass(frozen=True)
class Still:
    """A time in which something was due, the platform was there, and nothing was done."""

    seconds: float
    queue: str
    workspace: int
    ended_at: float


@dataclass
class Seen:
    """The largest of what was seen.

    Attributes:
        rings: messages waiting at the broker.
        memory: MiB of all our processes together.
        connections: to the database.
        stills: the longest of each queue of a workspace.
    """

    rings: int = 0
    memory: float = 0.0
    connections: int = 0
    looks: int = 0
    stills: dict[Key, Still] = field(default_factory=dict)


class Watcher(threading.Thread):
    """Looks four times a second until it is stopped."""

    def __init__(self, installation: Installation, url: str, broker: Any = None) -> None:
        super().__init__(daemon=True)
        self.installation, self.url, self.broker = installation, url, broker
        self.seen = Seen()
        self.error: Exception | None = None
        self._since: dict[Key, float] = {}
        self._last: dict[Key, tuple[Any, ...]] = {}
        self._ends = threading.Event()
        self._excused_until = 0.0

    def excuse(self, seconds: float) -> None:
        """Count nothing for so long: the platform does not answer, or no worker is there."""
        self._excused_until = time.monotonic() + seconds

    def stop(self) -> Seen:
        self._ends.set()
        self.join()
        if self.error:
            raise AssertionError(f"nobody looked any more: {self.error}") from self.error
        return self.seen

    def run(self) -> None:
        try:
            with closing(connect(self.url)) as connection:
                while not self._ends.wait(INTERVAL):
                    self._look(connection)
        except Exception as error:  # noqa: BLE001 - raised again by `stop`
            self.error = error

    def _look(self, connection: Any) -> None:
        self.seen.looks += 1
        at = time.monotonic()
        if at < self._excused_until:
            self._since.clear()
        else:
            for queue, (table, calls) in QUEUES.items():
                self._compare(queue, connection.execute(self._query(table, calls)).fetchall(), at)
        if self.seen.looks % 4 == 0:
            self._measure(connection)

    def _query(self, table: str, calls: bool) -> str:
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        now = f"'{now}'" if is_sqlite(self.url) else f"'{now}+00'"
        free = (FREE + (AWAKE if calls else "")).format(now=now)
        return STATE.format(free=free, table=table)

    def _compare(self, queue: str, rows: list[tuple[Any, ...]], at: float) -> None:
        """Something was done where other rows are held than before, or fewer are due."""
        found = {row[0]: row for row in rows}
        for key in [key for key in self._since if key[0] == queue and key[1] not in found]:
            del self._since[key]
        for workspace, (_, free, due, held, until) in found.items():
            key = (queue, workspace)
            before = self._last.get(key, (due, held, until))
            self._last[key] = (due, held, until)
            if not free or due < before[0] or (held, until) != before[1:]:
                self._since.pop(key, None)
                continue
            still = Still(at - self._since.setdefault(key, at), queue, workspace, time.time())
            longest = self.seen.stills.get(key)
            if longest is None or still.seconds > longest.seconds:
                self.seen.stills[key] = still

    def _measure(self, connection: Any) -> None:
        sizes = [memory(p.pid) for n, p in self.processes() if n != "sandbox"]
        self.seen.memory = max(self.seen.memory, sum(sizes))
        if not is_sqlite(self.url):
            asked = "select count(*) from pg_stat_activity where datname = current_database()"
            count = connection.execute(asked).fetchone()[0] - 1  # ours
            self.seen.connections = max(self.seen.connections, count)
        if self.broker is not None:
            with suppress(Exception):  # it is restarted meanwhile
                self.seen.rings = max(self.seen.rings, self.broker.waiting())

    def processes(self) -> list[tuple[str, Any]]:
        return list(self.installation.processes.items())


def members(session: int) -> list[Path]:
    """The processes of a session, as folders of /proc."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                words = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(words[3]) == session:
                    found.append(folder)
    return found


def memory(session: int) -> float:
    """MiB that the processes of a session hold; what several share is divided among them."""
    return _rolled_up(session, "Pss")


def anonymous(session: int) -> float:
    """MiB that they hold of their own: it stays the same when others start that share files."""
    return _rolled_up(session, "Pss_Anon")


def _rolled_up(session: int, name: str) -> float:
    total = 0.0
    for folder in members(session):
        with suppress(OSError):
            for line in (folder / "smaps_rollup").read_text().splitlines():
                if line.startswith(f"{name}:"):
                    total += int(line.split()[1]) / 1024
    return total


def processor(session: int) -> float:
    """Seconds of processor that the processes of a session have used."""
    ticks = 0
    for folder in members(session):
        with suppress(OSError):
            words = (folder / "stat").read_text().rpartition(")")[2].split()
            ticks += int(words[11]) + int(words[12])
    return ticks / 100.0
