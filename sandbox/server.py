"""The sandbox on a port: gunicorn, and the threads beside the requests."""

import logging
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.http import errors
from gunicorn.http.wsgi import Response
from gunicorn.workers.gthread import ThreadWorker

from sandbox.app import Environ, Sandbox, StartResponse
from sandbox.deadline import Bounded, within
from sandbox.state.saving import Saver
from sandbox.wire import Refused, encode

log = logging.getLogger("sandbox")

REQUEST_SECONDS = 10  # for a whole request, so that a slow caller does not hold a thread longer
THREADS = 256  # each slow caller, and each caller with a late answer, holds one


def listen(host: str, port: int) -> socket.socket:
    """Open the port first, so that a port in use gives one clear message."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise OSError(f"cannot listen on {host} port {port}: {error.strerror}") from error


class Background:
    """The threads beside the requests: callbacks, the autopilot, the state file."""

    def __init__(
        self, box: Sandbox, saver: Saver | None, *, step_seconds: float, senders: int
    ) -> None:
        self._box = box
        self._saver = saver
        self._step_seconds = step_seconds
        self._senders = senders
        self._stop = threading.Event()

    def start(self) -> None:
        """Start all threads."""
        if self._box.pending or self._box.delayed:  # events from before a restart
            self._box.has_pending.set()
        for _ in range(self._senders):
            self._run(self._send)
        if self._step_seconds:
            self._run(self._steer)
        if self._saver:
            self._run(self._save, self._saver)

    def stop(self) -> None:
        """Save once more. The threads end with the process."""
        self._stop.set()
        if self._saver:
            self._saver.save()

    def _run(self, work: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _send(self) -> None:
        while not self._stop.is_set():
            # Wait only briefly while a fault delays events, because no signal announces their time.
            self._box.has_pending.wait(0.1 if self._box.delayed else None)
            self._guarded(self._box.deliver_next)

    def _steer(self) -> None:
        while not self._stop.wait(self._step_seconds):
            self._guarded(self._box.step)

    def _save(self, saver: Saver) -> None:
        while not self._stop.is_set():
            self._guarded(lambda: saver.run(self._stop))

    def _guarded(self, work: Callable[[], object]) -> None:
        """Log an error and continue. A dead thread would silently stop all callbacks or saves."""
        try:
            work()
        except Exception:
            log.exception("a fault of the sandbox itself")
            self._stop.wait(1)


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """One process, because the state is in memory. Threads, because answers may be slow."""

    def __init__(self, box: Sandbox, listener: socket.socket, background: Background) -> None:
        self._box = box
        self._settings = {
            "bind": f"fd://{listener.fileno()}",
            "workers": 1,
            "worker_class": _Worker,
            "threads": THREADS,
            "worker_connections": 1000,
            "keepalive": 75,
            "timeout": 0,
            "graceful_timeout": 10,  # saving a large state takes time
            "loglevel": "warning",
            "control_socket_disable": True,
            "post_worker_init": lambda worker: background.start(),
            "worker_exit": lambda arbiter, worker: background.stop(),
        }
        _show_clock_of(box)
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Callable[[Environ, StartResponse], Iterable[bytes]]:
        return self._box


class _Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Answers malformed HTTP with the documented error body (A4) instead of a page."""

    def handle(self, conn: Any) -> Any:
        """Read and answer a request in a thread. A body that takes too long is a 408."""
        if not isinstance(conn.sock, Bounded):
            conn.sock = Bounded.of(conn.sock)
        with within(REQUEST_SECONDS):
            goes_on = super().handle(conn)
        if goes_on is False:
            # This waits for the caller, so the thread that accepts connections must not do it.
            conn.close(graceful=True)
            conn.close = _is_closed
        return goes_on

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        if not isinstance(exc, errors.ParseException):
            log.error("a fault of the sandbox itself", exc_info=exc)
        refused = Refused(_status_of(exc), "this is no request that HTTP knows")
        content = encode(refused.body())
        head = (
            f"HTTP/1.1 {refused.status} {refused.body()['error']}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        try:
            client.sendall(head.encode("ascii") + content)
        except OSError:
            log.debug("the caller is gone")


def _is_closed(graceful: bool = False) -> None:
    """Do nothing: it replaces `close` of a connection that is closed already."""


def _status_of(error: Exception) -> int:
    match error:
        case errors.LimitRequestLine():
            return 414
        case errors.LimitRequestHeaders():
            return 431
        case errors.ExpectationFailed():
            return 417
        case errors.ParseException():
            return 400
    return 500


def _show_clock_of(box: Sandbox) -> None:
    """Send the sandbox's time as `Date`, instead of the machine's time from gunicorn."""
    headers_of_gunicorn = Response.default_headers

    def dated(response: Any) -> list[str]:
        headers: list[str] = headers_of_gunicorn(response)
        ours = f"Date: {box.date()}\r\n"
        return [ours if line.startswith("Date:") else line for line in headers]

    Response.default_headers = dated
