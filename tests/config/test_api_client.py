"""The example client ends with one line, whatever a proxy in front of the API answers."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from tests.processes import ROOT

pytestmark = pytest.mark.once


@contextmanager
def proxy(
    status: int, body: bytes, headers: dict[str, str], post: int | None = None
) -> Iterator[str]:
    """Answer each call like this, a POST with another status; yield the address of the API."""

    class Answer(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.send_response(post or status if self.command == "POST" else status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT  # noqa: N815 - the names of the library

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/api/v1"
        server.shutdown()


OURS = b'{"code": "busy", "message": "Later.", "fields": []}'


@pytest.mark.parametrize(
    ("status", "body", "headers", "said"),
    [
        (502, b'{"message": "no route"}', {}, '502 not_from_the_api: {"message": "no route"}'),
        (502, b"[]", {}, "502 not_from_the_api: []"),
        (502, b"<p>", {}, "502 not_from_the_api: <p>"),
        (503, OURS, {"Retry-After": "9999"}, "503 busy: Later."),
    ],
)
def test_the_example_client_ends_with_what_was_answered(status, body, headers, said):
    with proxy(status, body, headers) as address:
        ended = run(address)
    assert (ended.returncode, ended.stderr) == (1, f"{said}\n")


def run(address: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "examples/api_client.py", "A", "--user", "U", "--product", "P"],
        cwd=ROOT,
        env=os.environ | {"CRM_API": address, "CRM_TOKEN": "crm_x"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("state", ["CANNOT_CLEAR", "DIFFERS", "GONE"])
def test_the_example_client_waits_no_longer_than_the_push(state):
    body = {"state": state, "problems": [], "code": "busy", "message": "Later.", "fields": []}
    with proxy(200, json.dumps(body).encode(), {}, post=422) as address:
        ended = run(address)
    assert (ended.stdout, ended.stderr) == (f"A: {state}\n", "422 busy: Later.\n")
