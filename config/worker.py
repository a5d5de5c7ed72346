"""gunicorn's threaded worker, where a thread gets a request only when all of it has arrived.

gunicorn reads head and body in the thread that answers: eight callers who stop in the middle hold
eight threads for ever. Here the loop of the process collects what comes, and every wait for a
caller ends at a moment that is set when it begins, whatever drips in meanwhile (S7, decision 10).
"""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ
from typing import Any

from django.conf import settings
from gunicorn.errors import ConfigError
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers.gthread import TConn, ThreadWorker

from config.arrival import Arrival

ARRIVAL_SECONDS = 10.0  # from the connection, or the first byte on a kept one, to a whole request
ANSWER_SECONDS = 120.0  # from there to the last byte of the answer
BODY_PACE = 64 * 1024  # bytes a second, of a body that is too large to be waited for
BODY_SECONDS_MOST = 600.0
CLOSE_SECONDS = 2.0  # for the caller to read the last answer and hang up
PIECE = 64 * 1024  # bytes
# Of what has not wholly arrived; past it, whoever has been at it longest gives way.
ARRIVING_MOST = 500
ARRIVING_BYTES_MOST = 64 * 1024**2
LOG_SECONDS = 60.0  # between two lines of log about requests that did not arrive

LATE = "408 Request Timeout"
HEAD_TOO_LARGE = "431 Request Header Fields Too Large"


class _Unreader(SocketUnreader):  # type: ignore[misc]  # gunicorn has no types
    """Holds what has arrived; the socket is asked for the rest of a large body alone."""

    rest = 0

    def chunk(self, size_hint: int | None = None) -> bytes:
        if self.rest <= 0:
            return b""
        piece: bytes = self.sock.recv(min(self.rest, max(size_hint or 0, PIECE)))
        self.rest -= len(piece)
        return piece


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """A connection arrives, is worked at by a thread, and is kept or closed.

    All but `handle` runs in the loop, so the tables need no lock. Each is in the order of its
    moments, so the first entry is the next to end.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._arriving: dict[TConn, tuple[Arrival, float]] = {}
        self._arriving_bytes = 0
        self._working: dict[TConn, float] = {}
        self._closing: dict[TConn, float] = {}
        self._ended = 0
        self._logged_at = -LOG_SECONDS

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Refuse TLS, whose bytes only gunicorn itself can collect."""
        if cfg.is_ssl:
            raise ConfigError("TLS is the proxy's business: see docs/operations.md")
        super().check_config(cfg, log)

    # --- a request arrives ---

    def enqueue_req(self, conn: TConn) -> None:
        """Take a new connection, or a kept one on which something came; threads come later."""
        if conn.parser is None:
            conn.parser = RequestParser(self.cfg, conn.sock, conn.client)
            conn.parser.unreader = _Unreader(conn.sock)
            conn.initialized = conn.data_ready = True
        held = conn.parser.unreader.take_buffered()
        conn.sock.setblocking(False)
        arrival = Arrival(settings.CALLBACK_BODY_LIMIT)
        self._arriving[conn] = arrival, time.monotonic() + ARRIVAL_SECONDS
        if held and arrival.take(held):
            self._hand_over(conn, arrival)
            return
        self._arriving_bytes += len(held)
        self._on_more(conn)
        if conn in self._arriving:
            self._listen(conn, self._on_more)
        self._make_room()

    def _on_more(self, conn: TConn) -> None:
        arrival, _ = self._arriving[conn]
        try:
            piece = conn.sock.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self._arriving_bytes += len(piece)
        is_here = arrival.take(piece) if piece else bool(arrival.data)
        if not piece and not is_here:
            self._forget(conn)
            self._end(conn)
        elif is_here:
            self._forget(conn)
            self._hand_over(conn, arrival)
        elif arrival.expects_word:
            arrival.expects_word = False
            with suppress(OSError):
                conn.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _hand_over(self, conn: TConn, arrival: Arrival) -> None:
        self._arriving.pop(conn, None)
        if arrival.is_head_too_large:
            self._refuse(conn, HEAD_TOO_LARGE)
            return
        conn.parser.unreader.unread(bytes(arrival.data))
        conn.parser.unreader.rest = arrival.rest
        body_seconds = min(arrival.rest / BODY_PACE, BODY_SECONDS_MOST)
        self._working[conn] = time.monotonic() + ANSWER_SECONDS + body_seconds
        super().enqueue_req(conn)

    def _make_room(self) -> None:
        while len(self._arriving) > ARRIVING_MOST or self._arriving_bytes > ARRIVING_BYTES_MOST:
            self._give_up(next(iter(self._arriving)))

    def _give_up(self, conn: TConn) -> None:
        arrival, _ = self._arriving[conn]
        self._forget(conn)
        if arrival.data:
            self._ended += 1
            self._refuse(conn, LATE)
        else:
            self._end(conn)

    def _forget(self, conn: TConn) -> None:
        arrival, _ = self._arriving.pop(conn)
        self._arriving_bytes -= len(arrival.data)
        with suppress(KeyError):  # what comes whole is never listened to
            self.poller.unregister(conn.sock)

    # --- a thread has done its part ---

    def _keepalive_after(self, conn: TConn, keepalive: bool) -> bool:
        """Do not wait in a thread for the rest of a body that nobody wanted."""
        return conn.parser.unreader.rest <= 0 and bool(super()._keepalive_after(conn, keepalive))

    def finish_request(self, conn: TConn, fs: "Future[Any]") -> None:
        """Keep the connection, or close it without the two seconds that gunicorn's loop waits."""
        self._working.pop(conn, None)
        if not fs.cancelled() and fs.exception() is None and fs.result():
            super().finish_request(conn, fs)
        else:
            self._close(conn)

    # --- the end of a connection ---

    def _refuse(self, conn: TConn, status: str) -> None:
        answer = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        with suppress(OSError):
            conn.sock.send(answer.encode("ascii"))
        self._close(conn)

    def _close(self, conn: TConn) -> None:
        """Say that nothing more comes, and let the caller read that (RFC 9112, 9.6)."""
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._end(conn)
            return
        self._closing[conn] = time.monotonic() + CLOSE_SECONDS
        self._listen(conn, self._on_leftover)

    def _on_leftover(self, conn: TConn) -> None:
        try:
            if conn.sock.recv(PIECE):
                return
        except BlockingIOError:
            return
        except OSError:
            self.log.debug("a connection broke while it was closed")
        self._end_closing(conn)

    def _end_closing(self, conn: TConn) -> None:
        del self._closing[conn]
        self.poller.unregister(conn.sock)
        self._end(conn)

    def _end(self, conn: TConn) -> None:
        self.nr_conns -= 1
        conn.close()

    # --- the clock ---

    def murder_pending(self) -> None:
        """End what is late; the loop calls this after each event and each second."""
        now = time.monotonic()
        for conn in _late(((conn, until) for conn, (_, until) in self._arriving.items()), now):
            self._give_up(conn)
        for conn in _late(iter(self._closing.items()), now):
            self._end_closing(conn)
        for conn in [conn for conn, until in self._working.items() if until < now]:
            del self._working[conn]  # its thread wakes up, and ends it
            with suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RDWR)
        if not self.alive:  # nobody has begun to say anything on these
            for conn in [conn for conn, (one, _) in self._arriving.items() if not one.data]:
                self._give_up(conn)
        self._log_ended(now)

    def _log_ended(self, now: float) -> None:
        if self._ended and now - self._logged_at >= LOG_SECONDS:
            self.log.warning(
                "%s requests were given up: not whole within %g seconds, or too many at once",
                self._ended,
                ARRIVAL_SECONDS,
            )
            self._ended, self._logged_at = 0, now

    def _listen(self, conn: TConn, heard: Callable[[TConn], None]) -> None:
        self.poller.register(conn.sock, EVENT_READ, partial(_hear, heard, conn))


def _hear(heard: Callable[[TConn], None], conn: TConn, _socket: socket.socket) -> None:
    heard(conn)


def _late(entries: Iterator[tuple[TConn, float]], now: float) -> list[TConn]:
    """Return those whose moment is over; they stand in the order of their moments."""
    found = []
    for conn, until in entries:
        if until > now:
            break
        found.append(conn)
    return found
