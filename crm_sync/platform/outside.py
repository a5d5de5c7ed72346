"""Calls to addresses from other people: never into our own network, never with our token.

Each address, also the target of a redirect, is resolved once. The IP addresses are checked, and the
connection uses exactly these. So a second, different answer of the name server has no effect (S13).
"""

import math
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Protocol, TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit

import requests

from crm_sync.platform import addresses, broken, names, sockets, transport
from crm_sync.platform.errors import RejectedError, TransientError
from crm_sync.platform.transport import FAILURES, HEADERS, Adapter, Call
from crm_sync.sentence import sentence

REDIRECTS = 3
CHUNK = 64 * 1024  # bytes
NO_ADDRESS = sentence("the address is not a web address")
LATE = sentence("not all of it came in time")
_REDIRECT = frozenset({301, 302, 303, 307, 308})


class SizedBody(Protocol):
    """The blocks of a body, and the number of all their bytes."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[bytes]: ...


Body: TypeAlias = bytes | SizedBody


@dataclass(frozen=True)
class ResponseStream:
    """The status and headers of an answer. `chunks` reads its body."""

    status: int
    headers: Mapping[str, str]
    _response: requests.Response
    _call: Call

    def chunks(self) -> Iterator[bytes]:
        """Yield the body as it arrives, without decompressing it.

        Raises:
            TransientError: it breaks off or takes too long.
        """
        while True:
            with _told(self._call):
                piece = self._response.raw.read1(CHUNK)
            if not piece:
                return
            yield piece


@dataclass(frozen=True)
class RequestOptions:
    """How a request to a foreign address is sent.

    Attributes:
        inside: parts of our own network that may be called: "host", "host:port" (also by http), or
            a network such as "10.1.0.0/16".
        may_be_plain: whether http is allowed for any address.
        private: headers for the origin of the first address. A redirect elsewhere lacks them.
        silence: seconds without a byte after which the call fails, or None for no such limit.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    inside: Collection[str] = ()
    may_be_plain: bool = False
    private: Mapping[str, str] = field(default_factory=dict)
    silence: float | None = None


@contextmanager
def get(url: str, options: RequestOptions, *, deadline: float) -> Iterator[ResponseStream]:
    """Request a file and yield the answer. The whole `with` block has `deadline` seconds.

    Raises:
        RejectedError: the address, or the target of a redirect, is not allowed.
        TransientError: no answer, or none in time.
    """
    call = _call(options, deadline)
    first = _origin(_checked(url, options))
    for _ in range(REDIRECTS + 1):
        parts = _checked(url, options)
        private = options.private if _origin(parts) == first else {}
        with _asked("GET", parts, {**options.headers, **private}, options, call) as answer:
            location = answer.headers.get("Location")
            if answer.status not in _REDIRECT or not location:
                yield answer
                return
        url = _led_to(url, location)
    raise RejectedError(
        sentence("the address leads on more than %(count)s times", count=REDIRECTS), status=0
    )


@contextmanager
def post(
    url: str, body: bytes, options: RequestOptions, *, deadline: float
) -> Iterator[ResponseStream]:
    """Send a body once and yield the answer. A redirect is not followed.

    The whole `with` block has `deadline` seconds.

    Raises:
        RejectedError: the address is not allowed.
        TransientError: no answer, or none in time. The body may have arrived nevertheless.
    """
    with send("POST", url, body, options, deadline=deadline) as answer:
        yield answer


@contextmanager
def send(
    method: str, url: str, body: Body | None, options: RequestOptions, *, deadline: float
) -> Iterator[ResponseStream]:
    """Send a request once; see `post`."""
    parts, headers = _checked(url, options), {**options.headers, **options.private}
    with _asked(method, parts, headers, options, _call(options, deadline), body) as answer:
        yield answer


def check(url: str, options: RequestOptions) -> None:
    """Check an address without resolving its host.

    Raises:
        RejectedError: it is not a web address, or not encrypted.
    """
    _checked(url, options)


def target(url: str, options: RequestOptions) -> str:
    """Return the path and query of an address exactly as they are sent, for a signature.

    Raises:
        RejectedError: as `check` does.
    """
    return requests.Request("GET", _checked(url, options).geturl()).prepare().path_url


def _call(options: RequestOptions, deadline: float) -> Call:
    return Call(time.monotonic() + deadline, partial(resolve, inside=options.inside))


@contextmanager
def _asked(
    method: str,
    parts: SplitResult,
    headers: Mapping[str, str],
    options: RequestOptions,
    call: Call,
    body: Body | None = None,
) -> Iterator[ResponseStream]:
    """Send one request on its own connection, and yield the answer."""
    mine = {"User-Agent": HEADERS["User-Agent"], "Accept-Encoding": "identity", **headers}
    with closing(Adapter()) as adapter:
        with _told(call):
            prepared = requests.Request(method, parts.geturl(), headers=mine, data=body)
            request = prepared.prepare()
            response = transport.ask(request, call, adapter, silence=options.silence)
        with response:
            yield ResponseStream(response.status_code, response.headers, response, call)


@contextmanager
def _told(call: Call) -> Iterator[None]:
    """Turn a failure of the connection into a TransientError."""
    try:
        yield
    except FAILURES as error:
        failed = sentence("the connection failed: %(reason)s", reason=broken.why(error))
        raise TransientError(LATE if call.is_late else failed, unclear=False) from error


def _led_to(url: str, location: str) -> str:
    """Return the target of a redirect, decoded as UTF-8."""
    with suppress(UnicodeError):  # if it is not UTF-8, keep it as Latin-1
        location = location.encode("latin-1").decode()
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise RejectedError(NO_ADDRESS, status=0) from error


def _checked(url: str, options: RequestOptions) -> SplitResult:
    """Check an address and return its parts, with the host in ASCII and without a user."""
    try:
        parts = urlsplit(str(requests.Request("GET", url).prepare().url))
        port = parts.port  # noqa: F841 - raises where it is none
    except (requests.RequestException, ValueError) as error:
        raise RejectedError(NO_ADDRESS, status=0) from error
    parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    may_be_plain = options.may_be_plain or _is_named(
        parts.hostname or "", _port(parts), options.inside
    )
    if parts.scheme == "https" or (parts.scheme == "http" and may_be_plain):
        return parts
    text = sentence("the address is not encrypted: it does not begin with https://")
    raise RejectedError(text, status=0)


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, _port(parts)


def _is_named(host: str, port: int, inside: Collection[str]) -> bool:
    return not {host, f"{host}:{port}"}.isdisjoint(inside)


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def resolve(host: str, port: int, inside: Collection[str], *, within: float) -> list[str]:
    """Return the IP addresses of a host. They lie outside our network, or `inside` allows them.

    Args:
        inside: see `RequestOptions`.
        within: seconds that resolving the name may take.

    Raises:
        RejectedError: one of them lies in our network.
        TransientError: the name is not known now.
    """
    try:
        ips = names.look_up(host, port, within=within)
    except TimeoutError as error:
        raise TransientError(str(error), unclear=False) from error
    except OSError as error:
        text = sentence("the name %(host)s is not known", host=host)
        raise TransientError(text, unclear=False) from error
    if not _is_named(host, port, inside) and not all(_may_be_asked(ip, inside) for ip in ips):
        text = sentence("the address leads into our own network: %(host)s", host=host)
        raise RejectedError(text, status=0)
    return ips


def connect(
    host: str, port: int, inside: Collection[str], *, timeout: float, end: float = math.inf
) -> sockets.TimedSocket:
    """Connect to the first reachable address of a host that `resolve` allows.

    Args:
        timeout: seconds to connect, all addresses together, and later for each read.
        end: when everything must have ended, on the monotonic clock.

    Raises:
        RejectedError, TransientError: as `resolve` does.
        OSError: none of its addresses can be reached.
    """
    look_up, connected = partial(resolve, inside=inside), min(end, time.monotonic() + timeout)
    connection = sockets.connect(host, port, look_up, end=connected, silence=timeout)
    connection.end = end
    return connection


def _may_be_asked(ip: str, inside: Collection[str]) -> bool:
    networks = (ip_network(one, strict=False) for one in inside if "/" in one)
    return addresses.is_public(ip) or any(ip_address(ip) in one for one in networks)
