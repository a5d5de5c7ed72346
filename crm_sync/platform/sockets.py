"""Sockets with an end: each read and write has the time that is left of its call, no more (I13).

A time-out alone bounds the silence between two bytes, so that a server that drips one byte a second
holds a call for ever.
"""

import errno
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any, Protocol


class Late(OSError):
    """The time of the call is over. No TimeoutError: after one of those a library may try again."""

    def __init__(self) -> None:
        super().__init__(errno.ETIMEDOUT, "the time of the call is over")


class Timed:
    """Mixed into a socket.

    Attributes:
        end: when its call must have ended, on the monotonic clock.
        silence: the time-out that was set: seconds without a byte; None where only `end` counts.
    """

    end: float
    silence: float | None = None

    def settimeout(self, value: float | None, /) -> None:
        """Set the seconds of silence."""
        self.silence = value
        super().settimeout(value)  # type: ignore[misc]

    def limit(self) -> float:
        """Let the next operation take what is left, and return these seconds; Late if none are."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise Late()
        if self.silence is not None and self.silence < left:
            left = self.silence
        super().settimeout(left)  # type: ignore[misc]
        return left

    def recv(self, *args: Any) -> bytes:
        """Read, as all of these, at most until the end."""
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
    """A socket that ends with its call."""


class TimedTLSSocket(Timed, ssl.SSLSocket):
    """The same over TLS."""

    def unwrap(self) -> socket.socket:
        """End the encryption; the other side has to agree."""
        self.limit()
        return super().unwrap()


class TLS(ssl.SSLContext):
    """A context in which a socket keeps its end."""

    sslsocket_class = TimedTLSSocket

    def wrap_socket(self, sock: Any, *args: Any, **options: Any) -> Any:
        """Encrypt a `TimedSocket`; all of the handshake has one time-out."""
        sock.limit()
        secured: Any = super().wrap_socket(sock, *args, **options)
        secured.end = sock.end
        return secured


def tls() -> TLS:
    """Return a context that checks certificate and name; the CAs are up to the caller."""
    context = TLS(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    return context


def timed(sock: socket.socket, *, end: float, silence: float | None) -> TimedSocket:
    """Return the same connection with an end; the socket that is given is used up."""
    found = TimedSocket(fileno=sock.detach())
    found.end = end
    found.settimeout(silence)
    return found


def connect(host: str, port: int, look_up: LookUp, *, end: float, silence: float) -> TimedSocket:
    """Connect to the first address of a host that answers.

    Args:
        look_up: finds its addresses, and may refuse them.
        silence: seconds that each of them may take, and later each read and write.

    Raises:
        OSError: none does, until `end`; and what `look_up` raises.
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
