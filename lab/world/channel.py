"""What the scheduler and a simulated process say to each other: plain values over two sockets."""

import marshal
import socket
from typing import Any

LENGTH = 4  # bytes before each message
CHUNK = 1 << 16


class Channel:
    """One end of it."""

    def __init__(self, end: socket.socket) -> None:
        self._socket, self._read = end, b""

    def send(self, message: Any) -> None:
        """Send a value of plain types. `marshal` is the quickest, and both ends are one Python.

        Raises:
            OSError: the other end is gone.
        """
        data = marshal.dumps(message)
        self._socket.sendall(len(data).to_bytes(LENGTH, "big") + data)

    def recv(self) -> Any:
        """Wait for the next value.

        Raises:
            EOFError: the other end is gone.
        """
        read = self._read
        while len(read) < LENGTH or len(read) < (end := LENGTH + int.from_bytes(read[:LENGTH])):
            try:
                more = self._socket.recv(CHUNK)
            except ConnectionResetError:
                raise EOFError from None
            if not more:
                raise EOFError
            read += more
        self._read = read[end:]
        return marshal.loads(read[LENGTH:end])

    def close(self) -> None:
        """Close this end."""
        self._socket.close()


def pair() -> tuple[Channel, Channel]:
    """Return two ends."""
    one, other = socket.socketpair()
    return Channel(one), Channel(other)
