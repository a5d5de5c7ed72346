"""Bodies that lie about themselves and requests that are none, over a real socket."""

import io
import json
import socket
import sys
from contextlib import contextmanager

import pytest

from tests.sandbox.conftest import refusal
from tests.sandbox.servers import running, stop

ONE = "/v1/real-estate-properties/201"
HEAD = b"Host: sandbox.test\r\nAuthorization: Bearer t\r\n"
PATCH = b"PATCH /v1/real-estate-properties/201 HTTP/1.1\r\n" + HEAD
CHUNKED = PATCH + b"Transfer-Encoding: chunked\r\n\r\n"
LIE = b'{"title":"A lie"}'  # whole as it is, and less than was promised

# What is sent, whether the caller ends then, and the status of the answer.
WRONG = {
    "promises far more than it sends": (
        *(PATCH + b"Content-Length: 99999999999\r\n\r\n", False, 413),
    ),
    "ends before what it promised": (PATCH + b"Content-Length: 100\r\n\r\n" + LIE, True, 400),
    "stalls before what it promised": (PATCH + b"Content-Length: 100\r\n\r\n" + LIE, False, 408),
    "a length below zero": (PATCH + b"Content-Length: -5\r\n\r\n{}", False, 400),
    "a length that is none": (PATCH + b"Content-Length: x\r\n\r\n{}", False, 400),
    "two lengths": (PATCH + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", False, 400),
    "a length and chunks": (
        PATCH + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        *(False, 400),
    ),
    "a chunk of no size": (CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n", False, 400),
    "a chunk that is longer": (CHUNKED + b"2\r\n" + LIE + b"\r\n0\r\n\r\n", False, 400),
    "chunks that break off": (CHUNKED + b"11\r\n" + LIE + b"\r\n", True, 400),
    "no request": (b"HELLO\r\n\r\n", False, 400),
    "a line without end": (b"GET /" + b"x" * 9_000 + b" HTTP/1.1\r\n" + HEAD + b"\r\n", False, 414),
    "a header without end": (PATCH + b"X-A: " + b"x" * 70_000 + b"\r\n\r\n", False, 431),
    "a header that is none": (b"GET /v1/users HTTP/1.1\r\n" + HEAD + b"X A: 1\r\n\r\n", False, 400),
}


def exchange(port: int, sent: bytes, *, ends: bool) -> tuple[int, dict]:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(sent)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        file = connection.makefile("rb")
        status = int(file.readline().split()[1])
        length = 0
        while line := file.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        return status, json.loads(file.read(length))


@contextmanager
def impatient():
    """A sandbox that waits a moment for a body."""
    program = (
        "import sys, sandbox.server as s, sandbox.__main__ as m; s.REQUEST_SECONDS = 1; m.main()"
    )
    with running("--token", "t", command=[sys.executable, "-c", program, "--port", "0"]) as started:
        yield started


@pytest.mark.processes
def test_whatever_comes_over_the_wire_the_answer_is_documented_and_nothing_changes():
    with impatient() as (process, client, (_, base)):
        port = int(base.rpartition(":")[2])
        before = client.get(f"{base}/_sandbox/state").json()
        for name, (sent, ends, status) in WRONG.items():
            seen, body = exchange(port, sent, ends=ends)
            assert (name, seen, body["status"]) == (name, status, status)
            assert set(body) == {"status", "error", "message", "errors"}
        bodies_over_the_bound(client, base)
        after = client.get(f"{base}/_sandbox/state").json()
        assert after | {"now": ""} == before | {"now": ""}
        chunks = (piece for piece in (b'{"title": ', b'"In pieces"}'))
        assert client.patch(f"{base}{ONE}", data=chunks, timeout=5).json()["title"] == "In pieces"
        assert stop(process, client) == (0, "")


def bodies_over_the_bound(client, base) -> None:
    large = (b" " * 65_536 for _ in range(17))
    assert refusal(client.patch(f"{base}{ONE}", data=large, timeout=5)) == (413, [])
    for size in (1_100_000, 8_000_000):
        assert refusal(client.patch(f"{base}{ONE}", data=b" " * size, timeout=5)) == (413, [])
    nobody = {"Authorization": "Bearer wrong"}
    for _ in range(5):
        answer = client.patch(f"{base}{ONE}", data=b" " * 900_000, headers=nobody, timeout=5)
        assert refusal(answer) == (401, [])


class Stalling(io.BytesIO):
    def read(self, size=-1):
        raise TimeoutError("nothing comes")


@pytest.mark.parametrize(
    ("stream", "length", "status"),
    [(io.BytesIO(b"{}"), "3", "400"), (Stalling(), "3", "408"), (io.BytesIO(b"{}"), "1x", "400")],
)
def test_a_body_that_does_not_come_is_refused(box, stream, length, status):
    seen: list = []
    environ = {
        "REQUEST_METHOD": "PATCH",
        "PATH_INFO": ONE,
        "HTTP_AUTHORIZATION": "Bearer test-token",
        "HTTP_HOST": "sandbox.test",
        "CONTENT_LENGTH": length,
        "wsgi.input": stream,
    }
    content = b"".join(box(environ, lambda *answer: seen.append(answer)))
    assert seen[0][0].startswith(status)
    assert json.loads(content)["status"] == int(status)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"title": ' + b"9" * 5_000 + b"}", "it holds a number that is too long"),
        (b'{"title": "\xff"}', "it is not UTF-8"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"floor": NaN}', "NaN is not a JSON number"),
    ],
)
def test_a_body_that_is_no_json_is_refused_in_plain_words(client, body, reason):
    answer = client.patch(ONE, data=body, headers={"Content-Type": "application/json"})
    assert refusal(answer) == (400, [])
    assert answer.json()["message"] == f"the body is not valid JSON: {reason}"
