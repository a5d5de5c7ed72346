"""A server of one file that can do what servers of files do wrong."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.crm_sync.sockets import Server

PNG = b"\x89PNG\r\n\x1a\n"


@dataclass
class FileServer:
    """Its file, and what is wrong with the answers; a test changes both between two calls.

    Attributes:
        cut: after so many bytes of a body the connection breaks, for each of the next answers.
        before: what happens before it answers, in a thread of its own.
    """

    body: bytes = PNG + b"x" * 1000
    content_type: str = "image/png"
    tag: str = '"v1"'
    knows_ranges: bool = True
    status: str = ""
    has_length: bool = True
    cut: list[int] = field(default_factory=list)
    before: Callable[[], None] | None = None
    server: Server | None = None

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def asked(self) -> list[str]:
        """The ranges that were asked for, "" for the whole file."""
        found = (re.search(rb"Range: bytes=(\S+)", one) for one in self.server.requests)
        return [one[1].decode() if one else "" for one in found]

    def talk(self, connection: socket.socket) -> None:
        status, rest, headers = self.status or "200 OK", self.body, []
        if self.before:
            self.before()
        request = self.server.requests[-1].decode("latin-1")
        wanted = re.search(r"Range: bytes=(\d+)-", request)
        of_this = f"If-Range: {self.tag}\r\n" in request
        if wanted and of_this and self.knows_ranges and not self.status:
            first = int(wanted[1])
            status, rest = "206 Partial Content", self.body[first:]
            headers = [f"Content-Range: bytes {first}-{len(self.body) - 1}/{len(self.body)}"]
        headers += [f"Content-Type: {self.content_type}"] if self.content_type else []
        headers += [f"ETag: {self.tag}"] if self.tag else []
        headers += [f"Content-Length: {len(rest)}"] if self.has_length else ["Connection: close"]
        head = "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""])
        end = self.cut.pop(0) if self.cut else len(rest)
        connection.sendall(head.encode() + rest[:end])
        if end < len(rest) or not self.has_length:
            connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving_file(**how: object) -> Iterator[FileServer]:
    files = FileServer(**how)
    files.server = Server(files.talk)
    try:
        yield files
    finally:
        files.server.close()
