"""Reads with a deadline. The time-out of a socket would start again with each byte."""

import errno
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import connection, connectionpool
from urllib3.util.ssl_ import create_urllib3_context


class _Thread(threading.local):
    until: float | None = None


_thread = _Thread()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End this thread's reads from `Bounded` sockets with TimeoutError after `seconds`."""
    before, _thread.until = _thread.until, time.monotonic() + seconds
    try:
        yield
    finally:
        _thread.until = before  # a callback may call the sandbox in this thread


def _bounded(self: socket.socket, read: Callable[..., Any], *arguments: Any) -> Any:
    if _thread.until is not None:
        left = _thread.until - time.monotonic()
        # With this error number gunicorn closes the connection without an answer of its own.
        late = TimeoutError(errno.ECONNRESET, "it took too long")
        if left <= 0:
            raise late
        self.settimeout(left)
        try:
            return read(*arguments)
        except TimeoutError as error:
            raise late from error
    return read(*arguments)


class Bounded(socket.socket):
    """A connection whose reads end before the deadline of `within`."""

    @classmethod
    def of(cls, connection: socket.socket) -> "Bounded":
        """Wrap a connection, so that all reads and a TLS handshake end in time."""
        seconds = connection.gettimeout()
        if _thread.until is not None:
            seconds = max(0.001, _thread.until - time.monotonic())
        taken = cls(fileno=connection.detach())
        taken.settimeout(seconds)
        return taken

    def recv(self, *arguments: Any) -> Any:
        return _bounded(self, super().recv, *arguments)

    def recv_into(self, *arguments: Any) -> Any:
        return _bounded(self, super().recv_into, *arguments)


class BoundedTls(ssl.SSLSocket):
    """The same with encryption."""

    def recv_into(self, *arguments: Any) -> Any:
        return _bounded(self, super().recv_into, *arguments)


class _Connection(connection.HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return Bounded.of(super()._new_conn())


class _TlsConnection(connection.HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return Bounded.of(super()._new_conn())


# These names are part of error messages.
class HTTPConnectionPool(connectionpool.HTTPConnectionPool):
    ConnectionCls = _Connection


class HTTPSConnectionPool(connectionpool.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class _Adapter(HTTPAdapter):
    """Makes connections that are `Bounded`."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        context = create_urllib3_context()
        context.sslsocket_class = BoundedTls
        super().init_poolmanager(*arguments, ssl_context=context, **options)
        self.poolmanager.pool_classes_by_scheme = {
            "http": HTTPConnectionPool,
            "https": HTTPSConnectionPool,
        }


def session() -> requests.Session:
    """Return a session whose calls end before the deadline of `within`."""
    made = requests.Session()
    made.trust_env = False  # calls to the loopback use no proxy of the environment
    made.verify = os.environ.get("REQUESTS_CA_BUNDLE") or True
    for scheme in "http://", "https://":
        made.mount(scheme, _Adapter())
    return made
