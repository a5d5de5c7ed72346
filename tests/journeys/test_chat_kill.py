"""kill -9 of a worker whose message for people has gone out, and was not noted yet."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.journeys.rows import ask
from tests.processes import Installation, wait_until


class ChatServer(ThreadingHTTPServer):
    """Takes messages; the answer to the first one never comes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.came: list[tuple[str, bytes]] = []
        self.has_first, self.ended = threading.Event(), threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/services/T0/B0/a-long-key"


class Taking(BaseHTTPRequestHandler):
    """Keeps the id and the body of each POST."""

    server: ChatServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came.append((self.headers["webhook-id"], body))
        if not self.server.has_first.is_set():
            self.server.has_first.set()
            self.server.ended.wait(60)
            return
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of http.server
        """Stay silent."""


@pytest.mark.processes
def test_a_worker_that_is_killed_after_its_message_went_out_sends_the_same_changes_once_more(
    tmp_path: Path, database_url: str
):
    server = ChatServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    installation = Installation(
        tmp_path, database_url, CALL_DEADLINE="4", OUTGOING_INTERNAL_HOSTS="127.0.0.1"
    )
    try:
        installation.run("-m", "tests.journeys.chatting", server.address)
        installation.start_loop("first")
        assert server.has_first.wait(60)
        installation.kill("first")
        server.ended.set()
        installation.start_loop("second")
        wait_until("the message went out again", lambda: len(server.came) == 2, limit=60)
        wait_until("it is noted", lambda: delivered(database_url) == 30, limit=20)
    finally:
        installation.stop()
        server.ended.set()
        server.shutdown()
    first, second = server.came
    assert first == second  # the same id, so that a receiver can tell
    assert len(json.loads(first[1])["blocks"]) == 11  # ten changes, and how many more


def delivered(database_url: str) -> int:
    where = "state = 'DELIVERED' and due_at is null"
    ((count,),) = ask(database_url, f"select count(*) from crm_sync_outgoingmessage where {where}")
    return count
