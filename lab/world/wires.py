"""How programs and people of the scene reach the processes: by requests and by jobs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import requests

from lab.world import process
from lab.world.judge import Judge
from lab.world.scheduler import Scheduler
from sandbox.state import callbacks
from tests.wsgi import environ_of

OURS = "http://crm.test"
Answered = Callable[[int | None, bytes], None]  # status and body; None if no answer came


@dataclass(frozen=True)
class Reply:
    """An answer of the web."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Wires:
    """Takes requests and jobs to threads that are free.

    Args:
        tokens: of programs that call our API, by their names.
    """

    def __init__(self, world: Scheduler, judge: Judge, tokens: Mapping[str, str]) -> None:
        self.world, self.judge, self.tokens = world, judge, tokens

    def ask(
        self,
        method: str,
        path: str,
        body: Any,
        answered: Answered,
        *,
        key: str = "",
        program: str = "ERP",
    ) -> None:
        """Let a program call our API."""
        headers = {"Authorization": f"Bearer {self.tokens[program]}"}
        if key:
            headers["Idempotency-Key"] = key
        content = json.dumps(body).encode()
        self.request(method, f"{OURS}/api/v1{path}", headers, content, answered)

    def request(
        self, method: str, url: str, headers: dict[str, str], content: bytes, answered: Answered
    ) -> None:
        """Send a request with JSON to the web; see `send`."""
        headers = {"Content-Type": "application/json", **headers}

        def got(reply: Reply | None) -> None:
            answered(*((reply.status, reply.body) if reply else (None, b"")))

        self.send(requests.Request(method, url, headers, data=content), got)

    def send(self, request: requests.Request, got: Callable[[Reply | None], None]) -> None:
        """Send a request to the web; without a thread that is free it waits a little.

        Args:
            got: gets None if no answer came in time.
        """
        began = self.world.now
        packed = process.packed(environ_of(request.prepare()))

        def done(result: Any) -> None:
            if result is None or self.world.now - began > callbacks.SECONDS:
                got(None)
            elif result[0] == "failed":
                self.judge.record.wrong.append(f"the web failed: {result[1]}")
            else:
                got(Reply(*result[1:]))

        def give() -> None:
            thread = self.world.idle("web")
            if thread is not None:
                self.world.give(thread, ("request", *packed), done)
            elif "web" not in self.world.procs or self.world.now - began > callbacks.SECONDS:
                got(None)
            else:
                self.world.at(self.world.now + 0.01, give)

        give()

    def give(self, job: tuple[Any, ...], done: Callable[[Any], None], kind: str = "worker") -> None:
        """Give a job to the next thread that is free of a worker, or of another kind of process.

        Args:
            done: gets how it ended.
        """
        thread = self.world.idle(kind)

        def ended(result: Any) -> None:
            if result and result[0] == "failed" and "database is locked" not in result[1]:
                self.judge.record.wrong.append(f"{job} failed: {result[1]}")
            done(result)

        if thread:
            self.world.give(thread, job, ended)
        else:
            self.world.at(self.world.now + 0.1, lambda: self.give(job, done, kind))

    def job(self, *job: Any) -> Any:
        """Let a worker do a job to its end; return how it ended."""
        ended: list[Any] = []
        self.give(job, ended.append)
        self.world.run(self.world.now + 120, lambda: bool(ended))
        return ended[0] if ended else ("not ended",)


def is_done(result: Any) -> bool:
    """Return whether a command came to a good end."""
    return bool(result) and result[:2] == ("ended", 0)
