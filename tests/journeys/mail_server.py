"""A mail server on the loopback, which keeps what it gets and may hang over it."""

import email
import math
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message


class MailServer(socketserver.ThreadingTCPServer):
    """Takes mails.

    Attributes:
        mails: what came, also where the answer never did.
        answers: how many more of them get an answer; the others hang until the server ends.
        refused: the addresses that it takes no mail for.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.mails: list[Message] = []
        self.answers = math.inf
        self.refused: set[str] = set()
        self.ended = threading.Event()

    @property
    def address(self) -> str:
        return f"smtp://127.0.0.1:{self.server_address[1]}"


class Conversation(socketserver.StreamRequestHandler):
    """As much of SMTP (RFC 5321) as a client needs that sends a mail."""

    server: MailServer

    def handle(self) -> None:
        self._say("220 ready")
        for line in self.rfile:
            word = line.split()[0].upper()
            if word == b"DATA":
                self._say("354 go on")
                if not self._take():
                    return
            elif word == b"QUIT":
                self._say("221 bye")
                return
            elif word == b"RCPT" and line.decode().partition("<")[2].partition(">")[0] in (
                self.server.refused
            ):
                self._say("550 no such user")
            else:
                self._say("250 ok")

    def _take(self) -> bool:
        lines = list(iter(self.rfile.readline, b".\r\n"))
        self.server.answers -= 1
        hangs = self.server.answers < 0
        self.server.mails.append(email.message_from_bytes(b"".join(lines)))
        if hangs:
            self.server.ended.wait(60)
            return False
        self._say("250 taken")
        return True

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
