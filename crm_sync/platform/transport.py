"""HTTP with hard limits for the time of a call and the size of a body (I13, S15).

Callers use the request and response classes of `requests`. Inside, urllib3 connects through the
sockets of `sockets`, which end with the call. Only this module opens connections with urllib3.
"""

import functools
import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from requests.adapters import BaseAdapter
from requests.exceptions import InvalidSchema
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError as Urllib3Error, NewConnectionError, SSLError
from urllib3.util import parse_url

from crm_sync import permits, tracing
from crm_sync.platform import names, sockets
from crm_sync.platform.errors import ErrorKind, TransientError
from crm_sync.sentence import Sentence, sentence
from crm_sync.tracing import SpanKind

CONNECT_TIMEOUT = 5.0  # seconds
BODY_LIMIT = 5 * 1024 * 1024  # bytes
PIECE = 64 * 1024  # bytes of a body that are read at a time
HOSTS = 10  # number of hosts with open connections, for each adapter

HEADERS = dict(requests.utils.default_headers()) | {"User-Agent": "crm-sync"}
NO_HEADERS: Mapping[str, str] = MappingProxyType({})

# An address whose path `requests` sends unchanged, so without "." and ".." as a segment. Addresses
# with a user or password do not match.
_PLAIN = re.compile(
    r"(?P<origin>https?://[^/?#@\s]+)(?P<path>(?:/(?!\.\.?(?:/|\Z))(?:[\w.~-]|%[0-9A-F]{2})*)+)",
    re.ASCII,
)

# The errors of a call, and of reading its answer.
FAILURES = (OSError, Urllib3Error)  # the errors of `requests` are OSErrors

# Other transports by URL prefix, used before the network. The tests mount the sandbox here.
MOUNTS: dict[str, BaseAdapter] = {}


@dataclass
class Call:
    """The current call of a thread.

    Attributes:
        end: when its time is over, on the monotonic clock.
        look_up: returns the IP addresses of a host; see `names.look_up`.
        begun: whether sending has begun, so that the request may have arrived (I9).
        path: returns the path of the address for people, "" if it may hold a key (S5).
    """

    end: float
    look_up: sockets.LookUp = names.look_up
    begun: bool = False
    path: Callable[[], str] = str

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return time.monotonic() >= self.end


def ca_bundle() -> str:
    """Return the path of the file with the trusted CAs."""
    return settings.CA_BUNDLE or str(requests.utils.DEFAULT_CA_BUNDLE_PATH)


class _Local(threading.local):
    call: Call

    def __init__(self) -> None:
        self.adapter = Adapter()


class _Response(http.client.HTTPResponse):
    """An answer that refuses chunks of a negative size: for -1, the base class would read on.

    `read1` would also work, but takes a tenth longer for an answer in two chunks.
    """

    def _safe_read(self, amt: int) -> Any:
        if amt < 0:
            raise http.client.IncompleteRead(b"")
        return super()._safe_read(amt)  # type: ignore[misc]


class _Timed:
    """Mixed into urllib3's connections: ends with the call, and sets `Call.begun`."""

    response_class: Any = _Response
    sock: Any
    port: Any
    timeout: Any
    _dns_host: Any

    def _new_conn(self) -> socket.socket:
        call = _local.call
        try:
            sock = sockets.connect(
                self._dns_host, self.port, call.look_up, end=call.end, silence=CONNECT_TIMEOUT
            )
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise NewConnectionError(self, str(error)) from error  # type: ignore[arg-type]
        return sock

    def endheaders(self, *args: Any, **options: Any) -> None:
        """Send the head, after connecting the socket and checking that there is time left."""
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
            self.sock.settimeout(self.timeout)  # type: ignore[attr-defined]
        self.sock.end = _local.call.end
        self.sock.limit()
        _local.call.begun = True
        super().endheaders(*args, **options)  # type: ignore[misc]


class _TimedHTTP(_Timed, HTTPConnection):
    pass


class _TimedHTTPS(_Timed, HTTPSConnection):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.ssl_context = sockets.tls()


class _HTTPPool(HTTPConnectionPool):
    ConnectionCls = _TimedHTTP


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _TimedHTTPS


class Adapter(BaseAdapter):
    """An adapter for `requests` whose calls have an end and whose connections stay open.

    It always checks certificates, uses no proxy and no cookies, and takes three quarters of the
    time of the adapter of `requests`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pool = functools.lru_cache(maxsize=HOSTS)(_pool)  # a pool that goes is closed

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = True,
        timeout: Any = None,
        *_: Any,
        **__: Any,
    ) -> requests.Response:
        """Return the answer before its body is read. `timeout` limits the silence."""
        origin = urlsplit(str(request.url))
        raw = self._pool(origin.scheme, origin.netloc, ca_bundle()).urlopen(
            str(request.method),
            request.path_url,
            body=request.body,
            headers=request.headers,
            timeout=timeout,
            retries=False,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
            decode_content=False,
        )
        response = requests.Response()
        response.status_code, response.raw = raw.status, raw
        response.headers = raw.headers  # type: ignore[assignment] # in any case of letters, too
        return response

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._pool.cache_clear()


def _pool(scheme: str, netloc: str, cas: str) -> HTTPConnectionPool:
    parts = parse_url(f"//{netloc}")  # of an IPv6 address without a port, http.client makes another
    if scheme == "https":
        return _HTTPSPool(str(parts.host), parts.port or 443, ca_certs=cas)
    if scheme == "http":
        return _HTTPPool(str(parts.host), parts.port or 80)
    raise InvalidSchema(f"{scheme} is not an address of the web")


_local = _Local()


def ask(
    request: requests.PreparedRequest,
    call: Call,
    adapter: BaseAdapter,
    *,
    silence: float | None = None,
) -> requests.Response:
    """Send a request and return its answer before its body is read.

    It uses no session: no proxy or netrc from the environment, no redirect that carries the token
    to another host (S15), no cookie of one workspace in a call of another (S12). This also takes
    less than half the time.

    Args:
        silence: seconds without a byte after which the call fails.

    Raises:
        FAILURES: there was no answer.
    """
    _local.call = call
    with tracing.recorded(str(request.method), SpanKind.CLIENT) as span:
        if span is not None:
            span.attributes |= _description(request, call)
            request.headers[tracing.HEADER] = span.trace.traceparent
        response = adapter.send(request, stream=True, timeout=silence)
        if span is not None:
            span.attributes["http.response.status_code"] = response.status_code
            span.error = str(response.status_code) if response.status_code >= 400 else ""
        return response


def _description(request: requests.PreparedRequest, call: Call) -> dict[str, str | int]:
    """Return what a span says of a call: of the address the host, and the path if it is shown."""
    parts = urlsplit(str(request.url))
    path = call.path()
    return {
        "http.request.method": str(request.method),
        "server.address": str(parts.hostname),
        "server.port": parts.port or (443 if parts.scheme == "https" else 80),
        **({"url.path": path} if path else {}),
    }


@dataclass(frozen=True)
class RawAnswer:
    """An answer: `took` are the seconds of the call, and `at` is its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    took: float
    at: datetime


def send(
    method: str,
    url: str,
    *,
    deadline: float,
    headers: Mapping[str, str] = NO_HEADERS,
    params: Mapping[str, Any] | None = None,
    json: Any = None,
    path: Callable[[], str] = str,
) -> RawAnswer:
    """Send one request and read its whole answer within `deadline` seconds.

    A redirect is not followed.

    Args:
        path: see `Call`.

    Raises:
        TransientError: no answer, or one that is too slow or too large. `unclear` shows whether
            the request may have reached the platform.
    """
    started = time.monotonic()
    call, what = Call(started + deadline, path=path), f"{method} {url}"
    try:
        request = _prepared(method, url, {**HEADERS, **headers}, params, json)
        with permits.away(), ask(request, call, _adapter(request, call)) as response:
            body = _whole(response, what)
            # Measure here, since the end of the block may wait for a permit.
            took, at = time.monotonic() - started, datetime.now(UTC)
    except FAILURES as error:
        kind, reason = _reason(error, call, deadline)
        text = sentence("%(name)s: %(text)s", name=what, text=reason)
        raise TransientError(text, unclear=call.begun, kind=kind) from error
    return RawAnswer(response.status_code, response.headers, body, took, at)


def _adapter(request: requests.PreparedRequest, call: Call) -> BaseAdapter:
    """Return the adapter of this thread, which no other thread uses, or a mounted one."""
    for prefix, adapter in MOUNTS.items():
        if str(request.url).startswith(prefix):
            call.begun = True
            return adapter
    return _local.adapter


def _prepared(
    method: str,
    url: str,
    headers: Mapping[str, str],
    params: Mapping[str, Any] | None,
    json: Any,
) -> requests.PreparedRequest:
    """Prepare a request. For a plain address, `requests` encodes the origin only once."""
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


def _whole(response: requests.Response, what: str) -> bytes:
    body = bytearray()
    for piece in response.iter_content(PIECE):
        body += piece
        if len(body) > BODY_LIMIT:
            text = f"{what}: the answer is larger than {BODY_LIMIT} bytes"
            raise TransientError(text, unclear=True, kind=ErrorKind.UNREADABLE)
    return bytes(body)


def certificate_fault(error: BaseException | None) -> str:
    """Return why a certificate was not accepted, in the words of the ssl module, or ""."""
    why = error.args[0] if isinstance(error, SSLError) and error.args else None
    return str(why.verify_message) if isinstance(why, ssl.SSLCertVerificationError) else ""


def _reason(error: Exception, call: Call, deadline: float) -> tuple[ErrorKind, Sentence]:
    fault = certificate_fault(error)
    if fault:
        text = sentence("the certificate is not accepted (%(fault)s)", fault=fault)
        return ErrorKind.BAD_CERTIFICATE, text
    if not call.begun:
        return ErrorKind.UNREACHABLE, sentence("cannot connect")
    if call.is_late or isinstance(error, requests.exceptions.ReadTimeout):
        text = sentence("no whole answer within %(count)s s", count=format(deadline, "g"))
        return ErrorKind.SLOW, text
    if isinstance(error, requests.RequestException) and isinstance(error.args[0], Exception):
        error = error.args[0]  # in an error of `requests` is that of urllib3
    return ErrorKind.BROKEN_OFF, sentence("no answer (%(error)s)", error=type(error).__name__)
