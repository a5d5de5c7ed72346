"""kill -9 of a worker whose mail has gone out, and whose watermark has not moved yet."""

import email
import socketserver
import threading
from pathlib import Path

import pytest

from tests.journeys.rows import ask
from tests.processes import Installation, wait_until


class MailServer(socketserver.ThreadingTCPServer):
    """Takes mails; the answer to the first one never comes."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.mails: list[bytes] = []
        self.has_first = threading.Event()
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
                self._take()
            elif word == b"QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 ok")

    def _take(self) -> None:
        lines = list(iter(self.rfile.readline, b".\r\n"))
        self.server.mails.append(b"".join(lines))
        if not self.server.has_first.is_set():
            self.server.has_first.set()
            self.server.ended.wait(60)
            return
        self._say("250 taken")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


# Of each mail: its subject, and what holds as soon as it is noted and its row is free.
MAILS = {
    "news": (
        "Orders: 1 was cancelled",
        "select count(*) from orders_personsettings where mailed_at is not null"
        " and telling_until is null and lease_token is null",
    ),
    "reminder": (
        "Reminder of 1 appointment",
        "select count(*) from orders_reminder, orders_remindersettings"
        " where mailed_at is not null and lease_token is null",
    ),
}


@pytest.mark.rule("I33")
@pytest.mark.processes
@pytest.mark.parametrize("kind", MAILS)
def test_a_worker_that_is_killed_after_its_mail_went_out_sends_the_same_once_more(
    tmp_path: Path, database_url: str, kind: str
):
    subject, noted = MAILS[kind]
    with MailServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        installation = Installation(
            tmp_path, database_url, CALL_DEADLINE="4", EMAIL_URL=server.address
        )
        try:
            installation.run("-m", "tests.journeys.mailing", kind)
            installation.start_loop("first")
            assert server.has_first.wait(60)
            installation.kill("first")
            assert ask(database_url, noted) == [(0,)]
            server.ended.set()
            installation.start_loop("second")
            wait_until("the mail went out again", lambda: len(server.mails) == 2, limit=60)
            wait_until("it is noted", lambda: ask(database_url, noted) == [(1,)], limit=20)
        finally:
            installation.stop()
            server.ended.set()
            server.shutdown()
    first, second = map(email.message_from_bytes, server.mails)
    assert first["Message-ID"] == second["Message-ID"]
    assert first["Subject"] == second["Subject"] == subject
    assert first.get_payload() == second.get_payload()
