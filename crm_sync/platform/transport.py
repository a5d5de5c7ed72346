"""HTTP with a hard end: no call outlives its deadline, no body its limit (I13, S15).

A `requests` time-out bounds the silence between two bytes, not the call: a server that drips one
byte a second holds it for ever. So a watchdog shuts the socket down, which a lease can trust. Until
the first byte is sent, asking for the name of the host, connecting and the TLS handshake have the
time that is left, no more.
"""

import functools
import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from requests.adapters import BaseAdapter
from requests.exceptions import InvalidSchema
from urllib3 import Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import (
    ConnectTimeoutError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)
from urllib3.exceptions import HTTPError as Urllib3Error
from urllib3.util import parse_url

from crm_sync.platform import names
from crm_sync.platform.deadline import watchdog
from crm_sync.platform.errors import (
    BAD_CERTIFICATE,
    CANNOT_CONNECT,
    NO_ANSWER,
    NOT_IN_TIME,
    TOO_MUCH,
    TransientError,
)

CONNECT_TIMEOUT = 5.0  # seconds
BODY_LIMIT = 5 * 1024 * 1024  # bytes
PIECE = 64 * 1024  # bytes of a body that are read at a time
HOSTS = 10  # to which a thread keeps its connections open

HEADERS = dict(requests.utils.default_headers()) | {"User-Agent": "crm-sync"}
NO_HEADERS: Mapping[str, str] = MappingProxyType({})

# An address whose path `requests` would send as it is, so without "." and ".." as a segment; user
# and password go the longer way.
_PLAIN = re.compile(
    r"(?P<origin>https?://[^/?#@\s]+)(?P<path>(?:/(?!\.\.?(?:/|\Z))(?:[\w.~-]|%[0-9A-F]{2})*)+)",
    re.ASCII,
)

_SILENT = (requests.exceptions.ReadTimeout, ReadTimeoutError)

# More transports by URL prefix, over the network's own; the tests put the sandbox here.
MOUNTS: dict[str, BaseAdapter] = {}


@dataclass
class Call:
    """The call that a thread has under way, and the socket that the watchdog may close.

    Attributes:
        end: when its time is over, on the monotonic clock.
        expired: the watchdog has ended it.
        begun: a request was about to be sent: it may have arrived (I9).
    """

    end: float
    sock: socket.socket | None = None
    expired: bool = False
    begun: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def left(self) -> float:
        """Return the seconds that are left; ConnectTimeoutError when there are none."""
        left = self.end - time.monotonic()
        if left <= 0:
            self.expired = True
            raise ConnectTimeoutError("the time of the call is over")
        return left

    def begin(self, sock: socket.socket) -> None:
        """Watch the socket that a request goes out by now; ConnectTimeoutError when it is late."""
        with self.lock:
            self.left()
            self.sock, self.begun = sock, True

    def expire(self) -> None:
        with self.lock:
            self.expired = True
            if self.sock is not None:
                try:
                    # Not the method of a TLS socket: it would go on in plain text.
                    socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
                except OSError:
                    self.sock = None  # closed by the other side meanwhile


def ca_bundle() -> str:
    """Return the path of the file with the CAs that are trusted."""
    return settings.CA_BUNDLE or str(requests.utils.DEFAULT_CA_BUNDLE_PATH)


class _Local(threading.local):
    call: Call

    def __init__(self) -> None:
        self.pools: dict[tuple[str, str, str], HTTPConnectionPool] = {}


_local = _Local()


@contextmanager
def watched(deadline: float) -> Iterator[Call]:
    """Let the watchdog shut the socket of this thread's call after `deadline` seconds."""
    call = _local.call = Call(time.monotonic() + deadline)
    alarm = watchdog.after(deadline, call.expire)
    try:
        yield call
    finally:
        alarm.cancel()


def time_left() -> float:
    """Return the seconds that this thread's call has left; ConnectTimeoutError if there are none.

    Only within `watched`.
    """
    return _local.call.left()


class _Response(http.client.HTTPResponse):
    """An answer without chunks of a negative size: -1 would be read to the end of the connection.

    `read1` would do, too, but takes a tenth longer for an answer in two chunks.
    """

    def _safe_read(self, amt: int) -> Any:
        if amt < 0:
            raise http.client.IncompleteRead(b"")
        return super()._safe_read(amt)  # type: ignore[misc]


class _Watched:
    """Mixed into urllib3's connections: none outlives its call, which learns when it has begun."""

    response_class: Any = _Response
    sock: Any
    timeout: Any
    host: Any
    port: Any
    _dns_host: Any

    def _new_conn(self) -> Any:
        """Connect to the first address that answers; urllib3 gives each the whole time-out."""
        name, problem = self._dns_host, None
        try:
            for address in self._addresses():
                self._dns_host = address
                self.timeout = min(self.timeout, _local.call.left())
                try:
                    self.sock = super()._new_conn()  # type: ignore[misc]
                except (ConnectTimeoutError, NewConnectionError) as error:
                    problem = error
                else:
                    # One time-out is for all of a TLS handshake.
                    self.sock.settimeout(min(self.timeout, _local.call.left()))
                    return self.sock
        finally:
            self._dns_host = name
        raise problem or ConnectTimeoutError(f"{name} has no address")

    def _addresses(self) -> list[str]:
        try:
            return names.look_up(self._dns_host, self.port, within=time_left())
        except TimeoutError as error:
            raise ConnectTimeoutError(str(error)) from error
        except (socket.gaierror, UnicodeError) as error:
            raise NameResolutionError(self.host, self, error) from error  # type: ignore[arg-type]

    def endheaders(self, *args: Any, **options: Any) -> None:
        """Send the head: before its first byte the socket is connected and watched."""
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
        _local.call.begin(self.sock)
        super().endheaders(*args, **options)  # type: ignore[misc]


class _WatchedHTTP(_Watched, HTTPConnection):
    pass


class _WatchedHTTPS(_Watched, HTTPSConnection):
    pass


class HTTPPool(HTTPConnectionPool):
    ConnectionCls = _WatchedHTTP


class HTTPSPool(HTTPSConnectionPool):
    """Connections to servers with a certificate that one of our CAs vouches for."""

    ConnectionCls = _WatchedHTTPS

    def __init__(self, host: str, port: int | None, **options: Any) -> None:
        super().__init__(host, port, cert_reqs="CERT_REQUIRED", ca_certs=ca_bundle(), **options)


@dataclass(frozen=True)
class RawAnswer:
    """Status, headers, at most BODY_LIMIT bytes of body, and the seconds that it took."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    took: float


def send(
    method: str,
    url: str,
    *,
    deadline: float,
    headers: Mapping[str, str] = NO_HEADERS,
    params: Mapping[str, Any] | None = None,
    json: Any = None,
) -> RawAnswer:
    """Send one request and read its whole answer within `deadline` seconds.

    A redirect is an answer like any other.

    Raises:
        TransientError: no answer, or one that is too slow or too large; `unclear` says whether the
            request may have reached the platform.
    """
    with watched(deadline) as call:
        return _send(call, method, url, deadline, {**HEADERS, **headers}, params, json)


def _send(
    call: Call,
    method: str,
    url: str,
    deadline: float,
    headers: Mapping[str, str],
    params: Mapping[str, Any] | None,
    json: Any,
) -> RawAnswer:
    started = time.monotonic()
    what = f"{method} {url}"
    try:
        prepared = _prepared(method, url, headers, params, json)
        with _answering(call, prepared, deadline) as (status, answered, pieces):
            body = _whole(pieces, what)
        if call.expired:  # a body without a length ends like a whole one
            raise TransientError(f"{what}: {NOT_IN_TIME} {deadline:g} s", unclear=True)
    except (requests.RequestException, Urllib3Error, OSError) as error:
        message = f"{what}: {_reason(error, call, deadline)}"
        raise TransientError(message, unclear=call.begun) from error
    return RawAnswer(status, answered, body, time.monotonic() - started)


def _prepared(
    method: str,
    url: str,
    headers: Mapping[str, str],
    params: Mapping[str, Any] | None,
    json: Any,
) -> requests.PreparedRequest:
    """Prepare a request; of the same few origins only once what `requests` makes of an address."""
    plain = None if params else _PLAIN.fullmatch(url)
    if plain is None:
        request = requests.Request(method, url, headers=dict(headers), params=params, json=json)
        return request.prepare()
    prepared = requests.PreparedRequest()
    prepared.prepare_method(method)
    prepared.url = _origin(plain["origin"]) + plain["path"]
    prepared.prepare_headers(headers)
    prepared.prepare_body(None, None, json)
    return prepared


@functools.lru_cache(maxsize=256)
def _origin(origin: str) -> str:
    """Return scheme, host and port as `requests` sends them, such as a name in Punycode.

    Raises:
        InvalidURL: there is no such host.
    """
    return str(requests.Request("GET", f"{origin}/").prepare().url).removesuffix("/")


@contextmanager
def _answering(
    call: Call, request: requests.PreparedRequest, deadline: float
) -> Iterator[tuple[int, Mapping[str, str], Iterator[bytes]]]:
    """Send a request, and yield the status, the headers and the pieces of the body of its answer.

    By urllib3 itself. What a session and an adapter of `requests` do besides takes as long again,
    and must not be: no proxy or netrc from the environment and no redirect that carries the token
    to another host (S15), no cookie of one workspace's call in another's (S12).
    """
    connect = min(CONNECT_TIMEOUT, deadline)
    for prefix, adapter in MOUNTS.items():
        if str(request.url).startswith(prefix):
            call.begun = True
            with adapter.send(request, stream=True, timeout=(connect, deadline)) as mounted:
                yield mounted.status_code, mounted.headers, mounted.iter_content(PIECE)
            return
    response = _pool(str(request.url)).urlopen(
        str(request.method),
        request.path_url,
        body=request.body,
        headers=request.headers,
        timeout=Timeout(connect=connect, read=deadline),
        retries=False,
        redirect=False,
        assert_same_host=False,
        preload_content=False,
        decode_content=False,
    )
    try:
        yield response.status, response.headers, response.stream(PIECE, decode_content=True)
    except BaseException:
        response.close()  # the next call must not read what is left of this answer
        raise
    finally:
        response.release_conn()


def _pool(url: str) -> HTTPConnectionPool:
    """Return this thread's connections to a host, which stay open and which no other thread shares.

    Raises:
        InvalidSchema: it is not an address of the web.
    """
    parts = urlsplit(url)
    key = parts.scheme, parts.netloc, ca_bundle()
    if key not in _local.pools:
        if len(_local.pools) == HOSTS:
            _local.pools.clear()  # which closes their connections
        _local.pools[key] = _made_pool(url)
    return _local.pools[key]


def _made_pool(url: str) -> HTTPConnectionPool:
    parts = parse_url(url)
    if parts.scheme == "https":
        return HTTPSPool(str(parts.host), parts.port)
    if parts.scheme == "http":
        return HTTPPool(str(parts.host), parts.port)
    raise InvalidSchema(f"{parts.scheme} is not an address of the web")


def _whole(pieces: Iterator[bytes], what: str) -> bytes:
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > BODY_LIMIT:
            raise TransientError(f"{what}: {TOO_MUCH} {BODY_LIMIT} bytes", unclear=True)
    return bytes(body)


def certificate_fault(error: BaseException | None) -> str:
    """Return why a certificate was not accepted, as the ssl module says it; "" if it was."""
    why = error.args[0] if isinstance(error, SSLError) and error.args else None
    return str(why.verify_message) if isinstance(why, ssl.SSLCertVerificationError) else ""


def _reason(error: Exception, call: Call, deadline: float) -> str:
    fault = certificate_fault(error)
    if fault:
        return f"{BAD_CERTIFICATE} ({fault})"
    if not call.begun:
        return CANNOT_CONNECT
    if call.expired or isinstance(error, _SILENT):
        return f"{NOT_IN_TIME} {deadline:g} s"
    return f"{NO_ANSWER} ({type(error).__name__})"
