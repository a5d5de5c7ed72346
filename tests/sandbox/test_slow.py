"""Whoever drips, called or calling, is done with at a moment, and nobody else waits meanwhile."""

import socket
import sys
import time
from contextlib import ExitStack, suppress

import pytest

from sandbox.app import Sandbox
from sandbox.state import callbacks
from tests.crm_sync.sockets import Talk, saying, serving
from tests.sandbox.conftest import Client
from tests.sandbox.servers import running, stop

PATIENT = (b"x",) * 80  # with 0.1 seconds in between
OK = b"HTTP/1.1 200 OK\r\n"
CALLED = {
    "a head": ("http", OK),
    "a line": ("http", OK + b"X-A: "),
    "a body": ("http", OK + b"Content-Length: 100\r\n\r\n"),
    "chunks": ("http", OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\n"),
    "the beginning": ("http", b"HTTP/1.1 "),
    "a handshake": ("https", b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03"),
}


def until_it_is_closed(talk: Talk) -> Talk:
    def serve(connection: socket.socket) -> None:
        with suppress(OSError):
            talk(connection)

    return serve


@pytest.mark.rule("8 response time")
@pytest.mark.parametrize("what", CALLED)
def test_8_a_callback_that_drips_is_over_after_its_seconds(monkeypatch, what):
    monkeypatch.setattr(callbacks, "SECONDS", 0.5)
    box = Sandbox(token="test-token")
    scheme, start = CALLED[what]
    talk = saying(start, *PATIENT, pause=0.1)
    with serving(talk) as server:
        if scheme == "https":  # what comes first is no request of HTTP
            server._serve = until_it_is_closed(talk)
        address = server.url.replace("http", scheme)
        client = Client(box)
        client.put("/v1/webhooks", json={"url": address, "method": "POST"})
        box.marketing_ready("201", "LINKEDIN")
        began = time.monotonic()
        assert box.deliver() == 1
        assert 0.4 < time.monotonic() - began < 3
        (record,) = client.get("/v1/webhooks/triggers").json()
        assert (record["success"], record["errorMessage"], "statusCode" in record) == (
            *(False, "Time-out: no answer within 0.5 seconds", False),
        )


def test_a_callback_goes_over_the_connection_that_is_open(monkeypatch):
    monkeypatch.setattr(callbacks, "SECONDS", 2)
    box = Sandbox(token="test-token")
    with serving(saying(OK + b"Content-Length: 2\r\n\r\nok")) as server:
        Client(box).put("/v1/webhooks", json={"url": server.url, "method": "POST"})
        for _ in range(3):
            box.marketing_ready("201", "LINKEDIN")
        assert box.deliver() == 3
        assert len(server._open) == 1
        assert [one["success"] for one in box.workspace.history] == [True] * 3


def test_whoever_is_called_may_let_the_sandbox_call_on(box, hooked, callback):
    callback.then = lambda: len(callback.requests) == 1 and ring(box)
    ring(box)
    assert [one["success"] for one in box.workspace.history] == [True, True]


def ring(box) -> None:
    box.marketing_ready("201", "LINKEDIN")
    assert box.deliver() == 1


HEAD = b"PATCH /v1/real-estate-properties/201 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n"
# How it begins, and what drips then.
CALLING = (
    (HEAD + b"X-A: ", b"x"),
    (HEAD + b"Content-Length: 90\r\n\r\n{", b" "),
    (HEAD, b"X-B: 1\r\n"),
    (b"P", b"A"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
)


def goes_on(caller: socket.socket, drip: bytes) -> bool:
    """Drip once more; tell whether the connection is still open."""
    caller.setblocking(False)
    try:
        caller.send(drip)
        return bool(caller.recv(65_536))
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.processes
def test_forty_callers_that_drip_keep_nobody_waiting_and_are_sent_away():
    program = "import sandbox.server as s, sandbox.__main__ as m; s.REQUEST_SECONDS = 2; m.main()"
    command = [sys.executable, "-c", program, "--port", "0"]
    with (
        running("--token", "t", command=command) as (process, client, (_, base)),
        ExitStack() as stack,
    ):
        address = ("127.0.0.1", int(base.rpartition(":")[2]))
        callers = []
        for start, drip in CALLING * 8:
            caller = stack.enter_context(socket.create_connection(address))
            caller.sendall(start)
            callers.append((caller, drip))
        slowest, limit = 0.0, time.monotonic() + 8
        while callers and time.monotonic() < limit:
            began = time.monotonic()
            assert client.get(f"{base}/v1/users", timeout=5).status_code == 200
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.1)
            callers = [one for one in callers if goes_on(*one)]
        assert (callers, slowest < 1) == ([], True)
        assert stop(process, client) == (0, "")
