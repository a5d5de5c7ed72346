"""Workers that stop at every call they make, and go on later, or never."""

import io
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connections

from crm_sync.work.leases import Claim, LeaseLost
from properties.models import Property
from tests.platforms import Between, Canned, Environ

PATIENCE = 20  # seconds for a worker to come to its next stop; more is a deadlock

Order = Callable[[], Canned | None]


class Killed(BaseException):
    """The process died: nothing more of it runs, and no ending is written."""


def let_it_pass() -> None:
    """The order that changes nothing: the call goes out, the answer comes in."""


def die() -> None:
    raise Killed


def lose() -> None:
    raise TimeoutError


@dataclass(eq=False)
class Call:
    """One call as it left its worker, so that its effect can come at any later time.

    Attributes:
        shows: leaf to value as the answer tells it; None where it tells of no property.
        is_record: it stands in the record of a claim, and nobody sends this one.
    """

    worker: "Worker"
    environ: Environ
    content: bytes
    sent_at: datetime
    shows: dict[str, str] | None = None
    is_record: bool = False

    @property
    def method(self) -> str:
        return self.environ["REQUEST_METHOD"]

    @property
    def changes(self) -> bool:
        return self.method != "GET"

    def again(self) -> Environ:
        return self.environ | {"wsgi.input": io.BytesIO(self.content)}


@dataclass(eq=False)
class Worker:
    """A push in a thread of its own, which runs only while the test waits for it.

    It shares the connection of the test and so its transaction. Since one thread runs at a time,
    all of it is one sequence of steps that can be replayed and shrunk.

    Attributes:
        point: where it stands: "request" before a call leaves, "answer" before its answer arrives,
            "end".
        taken_at: when another worker took its row over.
        ended_at: when its push returned by itself.
        read: the moment, in the model's numbers, that its last read shows.
        clears: the calls whose outcome is known when it ends by itself.
    """

    claim: Claim[Property]
    work: Callable[[], str]
    point: str = "start"
    call: Call | None = None
    result: str | None = None
    taken_at: datetime | None = None
    ended_at: datetime | None = None
    read: int | None = None
    clears: set[Call] = field(default_factory=set)
    order: Order = let_it_pass
    error: BaseException | None = None
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    stopped: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __post_init__(self) -> None:
        thread = threading.Thread(target=self._run, args=(connections["default"],), daemon=True)
        thread.worker = self  # type: ignore[attr-defined]
        thread.start()

    @property
    def ended(self) -> bool:
        return self.point == "end"

    def go_on(self, order: Order = let_it_pass) -> None:
        """Carry out `order` where the worker stands, and let it run to its next stop."""
        self.order = order
        self.go.release()
        assert self.stopped.acquire(timeout=PATIENCE), "the worker does not come back"
        if self.error is not None:
            raise self.error

    def stop(self, point: str) -> Canned | None:
        """Wait, in the worker's own thread, for the order of what happens here."""
        self.point = point
        self.stopped.release()
        self.go.acquire()
        return self.order()

    def _run(self, shared: Any) -> None:
        connections["default"] = shared
        self.go.acquire()
        try:
            self.order()
            self.result = self.work()
        except Killed:
            self.result = None
        except LeaseLost:
            self.result = "lost"
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the test
            self.error = error
        self.point = "end"
        self.stopped.release()


def running() -> Worker | None:
    """Return the worker whose thread this is; None in the thread of the test."""
    return getattr(threading.current_thread(), "worker", None)


def stop_at_calls(between: Between, clock: Callable[[], datetime]) -> None:
    """Let every worker stop before each call leaves and again before its answer arrives."""

    def request(environ: Environ) -> Canned | None:
        content = environ["wsgi.input"].read()
        environ["wsgi.input"] = io.BytesIO(content)
        worker = running()
        assert worker is not None
        environ["test.call"] = worker.call = Call(worker, environ, content, clock())
        return worker.stop("request")

    def answer(environ: Environ) -> None:
        worker = running()
        if worker is not None:
            worker.stop("answer")

    between.before, between.after = request, answer
