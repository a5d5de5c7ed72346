"""A server on the loopback that answers as a test says, byte by byte."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

Talk = Callable[[socket.socket], None]
OK = b"HTTP/1.1 200 OK\r\n"


class Server:
    """Its address, and every request (head and body) that reached it."""

    def __init__(self, talk: Talk) -> None:
        self.requests: list[bytes] = []
        self._talk = talk
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            while request := _whole_request(connection):
                self.requests.append(request)
                self._talk(connection)
        except OSError:
            pass  # the client went away, which is what some tests are about

    def close(self) -> None:
        self._listener.close()
        for connection in self._open:
            connection.close()


def _whole_request(connection: socket.socket) -> bytes:
    """Read one request with the body that its Content-Length tells of; b"" at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65_536)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    found = re.search(rb"(?i)content-length: (\d+)", head)
    while len(body) < int(found[1] if found else 0):
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


@contextmanager
def serving(talk: Talk) -> Iterator[Server]:
    server = Server(talk)
    try:
        yield server
    finally:
        server.close()


def saying(*parts: bytes, pause: float = 0.0, close: bool = False) -> Talk:
    """Send the parts with pauses in between, and close the connection if asked to."""

    def talk(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        if close:
            connection.shutdown(socket.SHUT_RDWR)

    return talk


def answering(body: bytes, *headers: str, status: str = "200 OK") -> Talk:
    """Answer well: status, headers, the whole body; the connection stays open."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return saying("\r\n".join([*head, "", ""]).encode() + body)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def full_port() -> Iterator[int]:
    """Yield a port of all addresses of the loopback at which nobody else is let in."""
    with socket.create_server(("", 0), backlog=0) as listener, ExitStack() as waiting:
        port = int(listener.getsockname()[1])
        for _ in range(2):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield port
