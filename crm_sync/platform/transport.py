"""HTTP with a hard end: no call outlives its deadline, no body its limit (I13, S15).

A `requests` time-out bounds the silence between two bytes, not the call: a server that drips one
byte a second holds it for ever. So a watchdog shuts the socket down, which a lease can trust.
"""

import functools
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import requests
from django.conf import settings
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.exceptions import ConnectTimeout, InvalidSchema, InvalidURL, MissingSchema
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError as Urllib3Error

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
BAD_CERTIFICATE_OF_SSL = "certificate verify failed"  # the words of the ssl module

HEADERS = dict(requests.utils.default_headers())
NO_HEADERS: Mapping[str, str] = MappingProxyType({})

# An address whose path `requests` would send as it is; user and password go the longer way.
_PLAIN = re.compile(
    r"(?P<origin>https?://[^/?#@\s]+)(?P<path>/(?:[\w.~/-]|%[0-9A-F]{2})*)", re.ASCII
)

# More transports by URL prefix, over the network's own; the tests put the sandbox here.
MOUNTS: dict[str, BaseAdapter] = {}


@dataclass
class Call:
    """The call that a thread has under way, and the socket that the watchdog may close."""

    sock: socket.socket | None = None
    expired: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, sock: socket.socket | None) -> None:
        with self.lock:
            self.sock = sock
            if self.expired:
                self._shut()

    def expire(self) -> None:
        with self.lock:
            self.expired = True
            self._shut()

    def _shut(self) -> None:
        if self.sock is not None:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                self.sock = None  # closed by the other side meanwhile


def ca_bundle() -> str:
    """Return the path of the file with the CAs that are trusted."""
    return settings.CA_BUNDLE or str(requests.utils.DEFAULT_CA_BUNDLE_PATH)


class _Local(threading.local):
    call: Call | None = None
    adapter: HTTPAdapter | None = None


_local = _Local()


@contextmanager
def watched(deadline: float) -> Iterator[Call]:
    """Let the watchdog shut the socket of this thread's call after `deadline` seconds."""
    call = _local.call = Call()
    alarm = watchdog.after(deadline, call.expire)
    try:
        yield call
    finally:
        alarm.cancel()
        _local.call = None


class _Watched:
    """Mixed into urllib3's connections: shows the socket before the answer's first byte is read."""

    sock: Any

    def getresponse(self) -> Any:
        if _local.call is not None:
            _local.call.watch(self.sock)
        return super().getresponse()  # type: ignore[misc]


class _WatchedHTTP(_Watched, HTTPConnection):
    pass


class _WatchedHTTPS(_Watched, HTTPSConnection):
    pass


class HTTPPool(HTTPConnectionPool):
    ConnectionCls = _WatchedHTTP


class HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedHTTPS


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": HTTPPool, "https": HTTPSPool}

    def get_connection_with_tls_context(
        self, request: Any, verify: Any, proxies: Any = None, cert: Any = None
    ) -> Any:
        """Return the pool of a host without a look for proxies: there are none (S15)."""
        try:
            host, tls = self.build_connection_pool_key_attributes(request, verify, cert)
        except ValueError as error:
            raise InvalidURL(error, request=request) from error
        return self.poolmanager.connection_from_host(**host, pool_kwargs=tls)

    def request_url(self, request: Any, proxies: Any) -> str:
        """Return what stands in the request line."""
        return str(request.path_url)


@dataclass(frozen=True)
class RawAnswer:
    """Status, headers, at most BODY_LIMIT bytes of body, and the seconds that it took."""

    status: int
    headers: "requests.structures.CaseInsensitiveDict[str]"
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
        response = _adapter(url).send(
            _prepared(method, url, headers, params, json),
            stream=True,
            timeout=(min(CONNECT_TIMEOUT, deadline), deadline),
            verify=ca_bundle(),
        )
        with response:
            body = _read(response, what)
        if call.expired:  # a body without a length ends like a whole one
            raise TransientError(f"{what}: {NOT_IN_TIME} {deadline:g} s", unclear=True)
    except (ConnectTimeout, InvalidURL, InvalidSchema, MissingSchema) as error:
        raise TransientError(f"{what}: {CANNOT_CONNECT}", unclear=False) from error
    except (requests.RequestException, Urllib3Error, OSError) as error:
        if call.expired or isinstance(error, requests.exceptions.ReadTimeout):
            message = f"{what}: {NOT_IN_TIME} {deadline:g} s"
            raise TransientError(message, unclear=True) from error
        raise TransientError(f"{what}: {_reason(error)}", unclear=not _never_sent(error)) from error
    return RawAnswer(response.status_code, response.headers, body, time.monotonic() - started)


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


def _adapter(url: str) -> BaseAdapter:
    """Return this thread's connections, which stay open and which no other thread shares.

    Without a `requests` session around them: what that adds is what must not be. No proxy or netrc
    from the environment and no redirect that carries the token to another host (S15), and no cookie
    of one workspace's call in another's (S12).
    """
    for prefix, adapter in MOUNTS.items():
        if url.startswith(prefix):
            return adapter
    if _local.adapter is None:
        _local.adapter = _Adapter(max_retries=0)
    return _local.adapter


def _read(response: requests.Response, what: str) -> bytes:
    body = bytearray()
    for chunk in response.iter_content(64 * 1024):
        body += chunk
        if len(body) > BODY_LIMIT:
            raise TransientError(f"{what}: {TOO_MUCH} {BODY_LIMIT} bytes", unclear=True)
    return bytes(body)


def _never_sent(error: Exception) -> bool:
    """Tell whether the request cannot have reached the platform: no connection, or not to it."""
    text = repr(error)
    return any(
        sign in text
        for sign in ("NewConnectionError", "NameResolutionError", BAD_CERTIFICATE_OF_SSL)
    )


def _reason(error: Exception) -> str:
    text = repr(error)
    if BAD_CERTIFICATE_OF_SSL in text:
        why = text.partition(f"{BAD_CERTIFICATE_OF_SSL}: ")[2].partition(" (_ssl")[0]
        return f"{BAD_CERTIFICATE} ({why})"
    if _never_sent(error):
        return CANNOT_CONNECT
    return f"{NO_ANSWER} ({type(error).__name__})"
