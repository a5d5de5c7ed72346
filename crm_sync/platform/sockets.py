"""Sockets with an end: each read and write has only the remaining time of its call (I13).

A time-out limits only the silence between two bytes. So a server that sends one byte a second could
hold a call for ever.
"""

import errno
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any, Protocol


class Late(OSError):
    """The time of the call is over. Not a TimeoutError, after which a library may try again."""

    def __init__(self) -> None:
        super().__init__(errno.ETIMEDOUT, "the time of the call is over")


class Timed:
    """Mixed into a socket.

    Attributes:
        end: when its call must have ended, on the monotonic clock.
        silence: the time-out that was set, in seconds without a byte, or None if only `end` counts.
    """

    end: float
    silence: float | None = None

    def settimeout(self, value: float | None, /) -> None:
        """Set the seconds of silence."""
        self.silence = value
        super().settimeout(value)  # type: ignore[misc]

    def limit(self) -> float:
        """Limit the next operation to the remaining seconds and return them, or raise Late."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise Late()
        if self.silence is not None and self.silence < left:
            left = self.silence
        super().settimeout(left)  # type: ignore[misc]
        return left

    def recv(self, *args: Any) -> bytes:
        """Read until the end at most. The methods below have the same limit."""
        self.limit()
        return super().recv(*args)  # type: ignore[misc, no-any-return]

    def recv_into(self, *args: Any) -> int:
        self.limit()
        return super().recv_into(*args)  # type: ignore[misc, no-any-return]

    def send(self, *args: Any) -> int:
        self.limit()
        return super().send(*args)  # type: ignore[misc, no-any-return]

    def sendall(self, *args: Any) -> None:
        self.limit()
        super().sendall(*args)  # type: ignore[misc]


class LookUp(Protocol):
    """Finds the IP addresses of a host within some seconds; see `names.look_up`."""

    def __call__(self, host: str, port: int, *, within: float) -> Sequence[str]: ...


class TimedSocket(Timed, socket.socket):
    """A socket whose operations end with its call."""


class TimedTLSSocket(Timed, ssl.SSLSocket):
    """The same over TLS."""

    def unwrap(self) -> socket.socket:
        """End the encryption; the other side has to agree."""
        self.limit()
        return super().unwrap()


class TLS(ssl.SSLContext):
    """A context whose sockets retain their end."""

    sslsocket_class = TimedTLSSocket

    def wrap_socket(self, sock: Any, *args: Any, **options: Any) -> Any:
        """Encrypt a `TimedSocket`. The whole handshake has one time-out."""
        sock.limit()
        secured: Any = super().wrap_socket(sock, *args, **options)
        secured.end = sock.end
        return secured


def tls() -> TLS:
    """Return a context that checks certificate and host name. The caller must load the CAs."""
    context = TLS(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    return context


def timed(sock: socket.socket, *, end: float, silence: float | None) -> TimedSocket:
    """Return the same connection with an end. The given socket cannot be used any more."""
    found = TimedSocket(fileno=sock.detach())
    found.end = end
    found.settimeout(silence)
    return found


def connect(host: str, port: int, look_up: LookUp, *, end: float, silence: float) -> TimedSocket:
    """Connect to the first address of a host that answers.

    Args:
        look_up: finds its addresses, and may refuse them.
        silence: seconds to connect to each address, and later for each read and write.

    Raises:
        OSError: no address answers before `end`. The errors of `look_up` are raised, too.
    """
    problem: OSError = Late()
    for ip in look_up(host, port, within=end - time.monotonic()):
        left = end - time.monotonic()
        if left <= 0:
            break
        try:
            connected = socket.create_connection((ip, port), min(silence, left))
        except OSError as error:
            problem = error
        else:
            return timed(connected, end=end, silence=silence)
    raise problem
