"""Calls an address that somebody else gave us: never into our own network, never with our token.

Each address, also that of a redirect, is resolved once; what it resolves to is checked, and exactly
that is connected to. So a name that answers differently the second time leads nowhere (S13).
"""

import socket
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
import urllib3

from crm_sync.platform import addresses, broken, names
from crm_sync.platform.errors import RejectedError, TransientError
from crm_sync.platform.transport import (
    CONNECT_TIMEOUT,
    HEADERS,
    Call,
    HTTPPool,
    HTTPSPool,
    time_left,
    watched,
)

REDIRECTS = 3
CHUNK = 64 * 1024  # bytes
NO_ADDRESS = "the address is not a web address"
LATE = "not all of it came in time"
_REDIRECT = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True)
class Answer:
    """The head of an answer that is no redirect; `chunks` reads its body."""

    status: int
    headers: Mapping[str, str]
    _response: urllib3.BaseHTTPResponse
    _call: Call

    def chunks(self) -> Iterator[bytes]:
        """Yield the body as it arrives, as the server sends it: nothing is decompressed.

        Raises:
            TransientError: it breaks off or takes too long.
        """
        while True:
            with _told(self._call):
                piece = self._response.read1(CHUNK)
            if self._call.expired:  # a body without a length ends like a whole one
                raise TransientError(LATE, unclear=False)
            if not piece:
                return
            yield piece


@dataclass(frozen=True)
class RequestOptions:
    """How a request to a foreign address is sent.

    Attributes:
        inside: parts of our own network that may be called, also by http: "host", "host:port", a
            network such as "10.1.0.0/16".
        may_be_plain: whether http is allowed for any address.
        private: headers for the first address and its origin; a redirect elsewhere lacks them.
        silence: seconds without a byte after which it is given up; None for the deadline alone.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    inside: Collection[str] = ()
    may_be_plain: bool = False
    private: Mapping[str, str] = field(default_factory=dict)
    silence: float | None = None


@contextmanager
def get(url: str, options: RequestOptions, *, deadline: float) -> Iterator[Answer]:
    """Ask for a file and yield the answer; the whole `with` block has `deadline` seconds.

    Raises:
        RejectedError: the address, or one that it leads to, is none that we may ask.
        TransientError: no answer, or none in time.
    """
    with watched(deadline) as call:
        with _told(call):
            response = _follow(url, options)
        with closing(response):
            yield Answer(response.status, response.headers, response, call)


@contextmanager
def post(url: str, body: bytes, options: RequestOptions, *, deadline: float) -> Iterator[Answer]:
    """Send a body once and yield the answer; a redirect is an answer like any other.

    The whole `with` block has `deadline` seconds.

    Raises:
        RejectedError: the address is none that we may call.
        TransientError: no answer, or none in time; it may have arrived all the same.
    """
    with watched(deadline) as call:
        with _told(call):
            response = _ask(
                _checked(url, options), {**options.headers, **options.private}, options, body
            )
        with closing(response):
            yield Answer(response.status, response.headers, response, call)


def check(url: str, options: RequestOptions) -> None:
    """Check an address without asking for its name.

    Raises:
        RejectedError: it is not a web address, or not encrypted.
    """
    _checked(url, options)


def target(url: str, options: RequestOptions) -> str:
    """Return the path of an address with its query as they are sent, for who signs them.

    Raises:
        RejectedError: as `check` does.
    """
    return _target(_checked(url, options))


def _target(parts: SplitResult) -> str:
    return parts._replace(scheme="", netloc="", fragment="").geturl() or "/"


@contextmanager
def _told(call: Call) -> Iterator[None]:
    """Say what failed on the way in the words of our own errors."""
    try:
        yield
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        text = LATE if call.expired else f"the connection failed: {broken.why(error)}"
        raise TransientError(text, unclear=False) from error


def _follow(url: str, options: RequestOptions) -> urllib3.BaseHTTPResponse:
    """Return the first answer that is no redirect."""
    first = _origin(_checked(url, options))
    for _ in range(REDIRECTS + 1):
        parts = _checked(url, options)
        private = options.private if _origin(parts) == first else {}
        response = _ask(parts, {**options.headers, **private}, options)
        location = response.headers.get("Location")
        if response.status not in _REDIRECT or not location:
            return response
        response.close()
        url = _led_to(url, location)
    raise RejectedError(f"the address leads on more than {REDIRECTS} times", status=0)


def _led_to(url: str, location: str) -> str:
    """Return the address that a redirect leads to; in it the bytes of letters are UTF-8."""
    with suppress(UnicodeError):  # else they are Latin-1, as they were read
        location = location.encode("latin-1").decode()
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise RejectedError(NO_ADDRESS, status=0) from error


def _checked(url: str, options: RequestOptions) -> SplitResult:
    """Return the parts of an address that may be asked, its host in ASCII."""
    try:
        parts = urlsplit(str(requests.Request("GET", url).prepare().url))
        port = parts.port  # noqa: F841 - raises where it is none
    except (requests.RequestException, ValueError) as error:
        raise RejectedError(NO_ADDRESS, status=0) from error
    may_be_plain = options.may_be_plain or _is_named(
        parts.hostname or "", _port(parts), options.inside
    )
    if parts.scheme == "https" or (parts.scheme == "http" and may_be_plain):
        return parts
    raise RejectedError("the address is not encrypted: it does not begin with https://", status=0)


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, _port(parts)


def _is_named(host: str, port: int, inside: Collection[str]) -> bool:
    return not {host, f"{host}:{port}"}.isdisjoint(inside)


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _ask(
    parts: SplitResult,
    headers: Mapping[str, str],
    options: RequestOptions,
    body: bytes | None = None,
) -> urllib3.BaseHTTPResponse:
    """Ask the first address of the host that can be reached; with a body, by POST."""
    found = resolve(parts.hostname or "", _port(parts), options.inside, within=time_left())
    for number, address in enumerate(found, 1):
        try:
            return _send(address, parts, headers, options.silence, body)
        except (urllib3.exceptions.ConnectTimeoutError, urllib3.exceptions.NewConnectionError):
            if number == len(found):
                raise
    raise TransientError(f"{parts.hostname} has no address", unclear=False)


def resolve(host: str, port: int, inside: Collection[str], *, within: float) -> list[str]:
    """Return the IP addresses of a host, none of which lies in our network unless `inside` says so.

    Args:
        inside: see `RequestOptions`.
        within: seconds that asking for the name may take.

    Raises:
        RejectedError: one of them lies there.
        TransientError: the name is not known now.
    """
    try:
        ips = names.look_up(host, port, within=within)
    except TimeoutError as error:
        raise TransientError(str(error), unclear=False) from error
    except (OSError, UnicodeError) as error:
        raise TransientError(f"the name {host} is not known", unclear=False) from error
    if not _is_named(host, port, inside) and not all(_may_be_asked(ip, inside) for ip in ips):
        raise RejectedError(f"the address leads into our own network: {host}", status=0)
    return ips


def connect(host: str, port: int, inside: Collection[str], *, timeout: float) -> socket.socket:
    """Connect to the first address of a host that can be reached, as `resolve` allows it.

    Args:
        timeout: seconds that connecting, to all of them, and later each read may take.

    Raises:
        RejectedError, TransientError: as `resolve` does.
        OSError: nobody answers at any of its addresses.
    """
    problem: OSError = ConnectionError(f"{host} has no address")
    end = time.monotonic() + timeout
    ips = resolve(host, port, inside, within=timeout)
    for ip in ips:
        left = end - time.monotonic()
        if left <= 0:
            break
        try:
            connection = socket.create_connection((ip, port), left)
        except OSError as error:
            problem = error
        else:
            connection.settimeout(timeout)
            return connection
    raise problem


def _may_be_asked(ip: str, inside: Collection[str]) -> bool:
    networks = (ip_network(one, strict=False) for one in inside if "/" in one)
    return addresses.is_public(ip) or any(ip_address(ip) in one for one in networks)


def _send(
    ip: str,
    parts: SplitResult,
    headers: Mapping[str, str],
    silence: float | None,
    body: bytes | None,
) -> urllib3.BaseHTTPResponse:
    # Without a silence the watchdog ends it.
    timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT, read=silence)
    pool: urllib3.HTTPConnectionPool
    if parts.scheme == "https":
        pool = HTTPSPool(
            ip,
            _port(parts),
            timeout=timeout,
            server_hostname=parts.hostname,
            assert_hostname=parts.hostname,
        )
    else:
        pool = HTTPPool(ip, _port(parts), timeout=timeout)
    mine = {"User-Agent": HEADERS["User-Agent"], "Accept-Encoding": "identity", **headers}
    return pool.urlopen(
        "GET" if body is None else "POST",
        _target(parts),
        body=body,
        headers={**mine, "Host": parts.netloc.rpartition("@")[2]},
        redirect=False,
        retries=False,
        preload_content=False,
        decode_content=False,
    )
