"""A chunked callback arrives whole or is refused, on every server that we name (I17, S8)."""

import ast
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crm_sync.sockets import free_port

pytestmark = [pytest.mark.processes, pytest.mark.once]

ROOT = Path(__file__).parents[2]
SECRET = "canary-secret"
SETUP = f"""
import django
django.setup()
from crm_sync.models import Workspace
row = Workspace.objects.create(
    slug="main", base_url="http://x.test", auth_secret="{SECRET}", auth_type="QUERY_PARAMETER"
)
print(row.uuid)
"""
STORED = """
import django
django.setup()
from crm_sync.models import ReceivedEvent
print([bytes(row.body) for row in ReceivedEvent.objects.order_by("pk")])
"""
GUNICORN = ["gunicorn", "config.wsgi", "--bind", "127.0.0.1:{port}"]
COMMANDS = {
    "gunicorn": [*GUNICORN, "--config", "config/gunicorn.py", "--access-logfile", "-"],
    "plain gunicorn": [*GUNICORN, "--threads", "2"],
    "runserver": ["django", "runserver", "127.0.0.1:{port}", "--noreload", "--insecure"],
}


@dataclass
class Web:
    """A server process of ours."""

    port: int
    environment: dict[str, str]
    path: str

    def send(self, *parts: bytes, half_close: bool = False) -> int:
        """Send raw bytes, return the status of the answer (0: the server hung up)."""
        answer = b""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection,
            contextlib.suppress(OSError),
        ):
            for part in parts:
                connection.sendall(part)
                time.sleep(0.02)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65_536)
        found = re.match(rb"HTTP/1\.[01] (\d+)", answer)
        return int(found[1]) if found else 0

    def head(self, *headers: str, method: str = "POST") -> bytes:
        lines = [f"{method} {self.path}?token={SECRET} HTTP/1.1", "Host: 127.0.0.1"]
        lines += ["Content-Type: application/json", "Connection: close", *headers, "", ""]
        return "\r\n".join(lines).encode()

    def stored(self) -> list[bytes]:
        return ast.literal_eval(python(STORED, self.environment))


def python(script: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture(params=list(COMMANDS))
def web(request, tmp_path: Path, database_url: str) -> Iterator[tuple[str, Web, Path]]:
    environment = os.environ | {
        "DATA_DIR": str(tmp_path),
        "DATABASE_URL": database_url,
        "CELERY_BROKER_URL": "filesystem://localhost",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONUNBUFFERED": "1",
    }
    uuid = python(SETUP, environment)
    port, log = free_port(), tmp_path / "log"
    command = [word.format(port=port) for word in COMMANDS[request.param]]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env=environment,
            cwd=ROOT,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        _wait_for(port, process)
        yield request.param, Web(port, environment, f"/webhooks/{uuid}/"), log
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def _wait_for(port: int, process: subprocess.Popen) -> None:
    for _ in range(200):
        assert process.poll() is None, "the server ended at once"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the server does not listen")


def chunks(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.rule("I17", "S8")
def test_a_callback_in_whatever_form_is_stored_whole_or_refused(web):
    name, server, log = web
    chunked = server.head("Transfer-Encoding: chunked")
    expected = []

    # With its length, in one piece and in drips, by POST and by GET (the platform's default).
    for n, method in enumerate(["POST", "GET"]):
        body = b'{"plain": %d}' % n
        head = server.head(f"Content-Length: {len(body)}", method=method)
        assert server.send(head, *[body[i : i + 1] for i in range(len(body))]) == 200
        expected.append(body)

    # Chunked: gunicorn decodes it, runserver does not and must not answer 2xx.
    for parts in ([b'{"chunked": 1}'], [b'{"chu', b"nked", b'": 2}'], [b"x" * 100_000]):
        status = server.send(chunked, chunks(*parts))
        if name != "runserver":
            assert status == 200
            expected.append(b"".join(parts))
        else:
            assert not 200 <= status < 300

    # An empty one, one over the limit, one that breaks off, and two lengths that differ.
    refused = [
        server.send(chunked, chunks()),
        server.send(chunked, chunks(*[b"x" * 65_536] * 5)),
        server.send(chunked, b"20\r\nonly a part", half_close=True),
        server.send(server.head("Content-Length: 50"), b'{"cut": 1}', half_close=True),
        server.send(server.head("Transfer-Encoding: chunked", "Content-Length: 4"), b"0\r\n\r\n"),
    ]
    assert [status for status in refused if 200 <= status < 300] == []
    assert server.stored() == expected
    assert SECRET not in log.read_text() or name == "runserver"  # a log for developers alone
    assert "Traceback" not in log.read_text()
