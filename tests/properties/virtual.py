"""A worker and a platform on a virtual clock: an hour of waiting takes no time at all."""

import heapq
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import time_machine

from crm_sync.models import Workspace
from crm_sync.work import turn
from properties.models import Property
from properties.push.queue import PROPERTIES
from sandbox.app import Sandbox
from sandbox.state.workspace import Properties
from tests.conftest import PLATFORM
from tests.platforms import Between, Canned, Environ
from tests.properties.workers import Killed

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
CALL = timedelta(seconds=0.05)  # what each call takes


@dataclass(frozen=True)
class Served:
    """One call that came to the platform, and when."""

    at: datetime
    method: str
    path: str

    @property
    def reference(self) -> str:
        return self.path.rpartition("/")[2]


class World:
    """The sandbox under a worker that looks for work at the very moment there is some.

    `meets(environ)` runs ahead of each call: it may answer itself, lose the call (TimeoutError), or
    kill the worker (Killed); `late(environ, delay)` loses it and lets the platform do it later.
    """

    def __init__(self, box: Sandbox, workspace: Workspace, clock: Any) -> None:
        self.box, self.workspace, self.clock = box, workspace, clock
        self.box.workspace.properties = Properties()
        self.calls: list[Served] = []
        self.meets: Callable[[Environ], Canned | None] = lambda _: None
        self.ends: Callable[[Environ], None] = lambda _: None
        self.deaths = 0
        self._late: list[tuple[datetime, int, Environ]] = []
        between = Between(self._serve, PLATFORM)
        between.before = self._before
        between.after = self._after

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)

    def late(self, environ: Environ, delay: timedelta, *, dies: bool = False) -> None:
        """Lose the call now, or the worker with it; the platform does it `delay` later."""
        content = environ["wsgi.input"].read()
        again = environ | {"wsgi.input": io.BytesIO(content)}
        heapq.heappush(self._late, (self.now + delay, len(self.calls), again))
        raise Killed if dies else TimeoutError

    def run(self, seconds: float) -> None:
        """Let so much time pass, and the worker do what becomes due."""
        end = self.now + timedelta(seconds=seconds)
        while (moment := self._next()) is not None and moment <= end:
            if moment > self.now:
                self.clock.move_to(moment, tick=False)
            while self._late and self._late[0][0] <= self.now:
                list(self._serve(heapq.heappop(self._late)[2], lambda *_: None))
            try:
                turn.take(PROPERTIES, self.workspace.pk, seconds=20.0)
            except Killed:
                self.deaths += 1
        self.clock.move_to(max(end, self.now), tick=False)

    def _next(self) -> datetime | None:
        """When there is something to do again."""
        self.workspace.refresh_from_db()
        paused = self.workspace.paused_until or START
        rows = Property.objects.filter(due_at__isnull=False).values_list("due_at", "lease_until")
        moments = [max(due_at, until or START, paused) for due_at, until in rows]
        return min([*moments, *(late[0] for late in self._late)], default=None)

    def _before(self, environ: Environ) -> Canned | None:
        self.clock.shift(CALL)
        self.calls.append(Served(self.now, environ["REQUEST_METHOD"], environ["PATH_INFO"]))
        return self.meets(environ)

    def _after(self, environ: Environ) -> None:
        self.ends(environ)

    def _serve(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve as a platform that takes a second property under one reference (A45)."""
        others = Properties()
        if environ["REQUEST_METHOD"] == "POST":
            others, self.box.workspace.properties = self.box.workspace.properties, others
        chunks = list(self.box(environ, start_response))
        self.box.workspace.properties.update(others)
        return chunks


def refuses(status: str, body: bytes = b"{}", **headers: str) -> Canned:
    """Return an answer that the platform gives without doing anything."""
    return status, [(name.replace("_", "-"), value) for name, value in headers.items()], body


def virtual_clock() -> Any:
    return time_machine.travel(START, tick=False)
