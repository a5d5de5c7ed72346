"""`python -m sandbox` as a process of its own: start, state file, callbacks, end."""

from __future__ import annotations

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from sandbox.saving import save
from sandbox.workspace import Workspace

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "sandbox", "--port", "0"]


@contextmanager
def running(*options: str):
    """A sandbox on a free port, its client, and the line that it printed."""
    process = subprocess.Popen(
        [*COMMAND, *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        words = process.stdout.readline().split()
        with requests.Session() as client:
            client.trust_env = False
            token = options[options.index("--token") + 1] if "--token" in options else words[3]
            client.headers["Authorization"] = f"Bearer {token}"
            yield process, client, words
    finally:
        if process.poll() is None:
            kill(process)


def kill(process) -> None:
    """End the server and its worker at once, as a power cut does."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=10)


def stop(process, client, signal_number=signal.SIGTERM) -> tuple[int, str]:
    client.close()  # the server waits a moment for connections that are kept open
    process.send_signal(signal_number)
    _, errors = process.communicate(timeout=10)
    return process.returncode, errors


def fails(*options: str) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, *options], cwd=ROOT, capture_output=True, text=True, timeout=10, check=False
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def eventually(condition, seconds=5.0):
    limit = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < limit:
        time.sleep(0.02)
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_restart_knows_what_it_knew(tmp_path, number):
    options = ("--token", "t", "--state", str(tmp_path / "state.json"))
    with running(*options) as (process, client, (_, base)):
        one = f"{base}/v1/real-estate-properties/201"
        answer = client.patch(one, json={"title": "Kept"})
        assert answer.status_code == 200
        assert len(answer.raw.headers.getlist("Date")) == 1
        before = client.get(f"{base}/_sandbox/state").json()
        assert stop(process, client, number) == (0, "")
    with running(*options) as (process, client, (_, base)):
        after = client.get(f"{base}/_sandbox/state").json()
        assert after.pop("now") > before.pop("now")
        assert after == before
        assert after["properties"]["201"]["title"] == "Kept"


def test_a_sandbox_that_is_killed_knows_what_happened_until_shortly_before(tmp_path):
    path = tmp_path / "state.json"
    options = ("--token", "t", "--state", str(path))
    with running(*options) as (process, client, (_, base)):
        client.patch(f"{base}/v1/real-estate-properties/201", json={"title": "Kept"})
        eventually(lambda: path.exists() and "Kept" in path.read_text())
        kill(process)
    assert json.loads(path.read_text())["properties"]["201"]["title"] == "Kept"
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content", [b"{", b"", b"[]", b'{"properties": []}', b"\xff\xfe", b"[" * 100_000]
)
def test_a_state_file_that_cannot_be_read_is_named_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "state.json"
    path.write_bytes(content)
    code, errors = fails("--state", str(path))
    assert code == 1
    assert errors.startswith(f"sandbox: {path}: ")
    assert len(errors.splitlines()) == 1
    assert path.read_bytes() == content


def test_a_state_whose_members_are_of_the_wrong_type_is_refused(tmp_path):
    path = tmp_path / "state.json"
    save(Workspace.seeded().to_json() | {"properties": {"1": "x"}}, path)
    code, errors = fails("--state", str(path))
    assert (code, errors[: len(f"sandbox: {path}: ")]) == (1, f"sandbox: {path}: ")


def test_a_port_that_is_taken_is_one_clear_message():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, errors = fails("--port", str(port))
    assert code == 1
    assert errors.startswith(f"sandbox: cannot listen on 127.0.0.1 port {port}: ")
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--step", "-1"),
        ("--port", "70000"),
        ("--client-id", "id"),
        ("--token", ""),
    ],
)
def test_wrong_usage_exits_2(options):
    assert fails(*options)[0] == 2


def test_it_prints_the_token_that_it_made_and_listens_on_the_loopback_alone():
    with running() as (_, client, words):
        assert (words[0], words[1].rpartition(":")[0], words[2]) == (
            *("sandbox:", "http://127.0.0.1", "token"),
        )
        assert client.get(f"{words[1]}/v1/users").json()["totalElements"] == 3
        assert requests.get(f"{words[1]}/v1/users", timeout=5).status_code == 401


def test_the_autopilot_moves_orders_and_the_callbacks_arrive():
    received = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.headers["X-Event-Type"], json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with running("--token", "t", "--step", "0.05") as (_, client, (_name, base)):
            hook = {"url": f"http://127.0.0.1:{server.server_port}/", "method": "POST"}
            assert client.put(f"{base}/v1/webhooks", json=hook).status_code == 201
            session = client.post(
                f"{base}/v1/sessions", json={"userId": "101", "realEstatePropertyId": "201"}
            )
            body = {
                "sessionId": session.json()["id"],
                "products": [{"id": "18"}],
                "instructions": {"billing": "21", "organization": "31", "delivery": "41"},
            }
            order = client.post(f"{base}/v1/orders", json=body).json()
            eventually(lambda: len(received) == 6)
            assert client.get(f"{base}/v1/orders/{order['id']}").json()["status"] == "COMPLETED"
            assert [kind for kind, _ in received] == [
                "ASSIGNMENT_STATUS_UPDATED",
                "ESTIMATED_DELIVERY_UPDATED",
                "ORDER_STATUS_UPDATED",
                "ASSIGNMENT_STATUS_UPDATED",
                "VISUALS_READY",
                "ORDER_STATUS_UPDATED",
            ]
            assert [event["event"] for _, event in received] == [kind for kind, _ in received]
            assert eventually(lambda: len(client.get(f"{base}/v1/webhooks/triggers").json()) == 6)
    finally:
        server.shutdown()
        server.server_close()


def test_it_imports_nothing_of_django_and_nothing_of_the_product():
    program = (
        "import sys, sandbox.__main__, sandbox.app;"
        "own = {'django', 'celery', 'crm_sync', 'properties', 'orders', 'config'};"
        "sys.exit(bool(own & {name.partition('.')[0] for name in sys.modules}))"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], cwd="/", env=environ, check=False)
    assert done.returncode == 0


def test_served_answers_break_off_as_the_faults_say():
    with running("--token", "t") as (_process, client, (_, base)):
        one = f"{base}/v1/real-estate-properties/201"
        for fault in "TIME_OUT_AFTER", "CUT_OFF":
            client.post(f"{base}/_sandbox/faults", json={"rules": [{"fault": fault, "times": 1}]})
            with pytest.raises(
                (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
            ):
                client.patch(one, json={"title": fault}, timeout=5)
            assert client.get(one, timeout=5).json()["title"] == fault
        rules = [{"fault": "TIME_OUT_AFTER", "times": 1, "seconds": 1}]
        client.post(f"{base}/_sandbox/faults", json={"rules": rules})
        with pytest.raises(requests.ReadTimeout):
            client.patch(one, json={"title": "Late"}, timeout=0.2)
        assert client.get(one, timeout=5).json()["title"] == "Late"


def test_a_body_of_no_known_length_is_served(tmp_path):
    with running("--token", "t") as (_, client, (_name, base)):
        one = f"{base}/v1/real-estate-properties/201"
        chunks = (piece for piece in (b'{"title": ', b'"In pieces"}'))
        assert client.patch(one, data=chunks, timeout=5).json()["title"] == "In pieces"
        large = (b" " * 65_536 for _ in range(17))
        assert client.patch(one, data=large, timeout=5).status_code == 413
        for size in (1_100_000, 8_000_000):
            assert client.patch(one, data=b" " * size, timeout=5).status_code == 413
        nobody = {"Authorization": "Bearer wrong"}
        for _ in range(5):
            answer = client.patch(one, data=b" " * 900_000, headers=nobody, timeout=5)
            assert answer.status_code == 401
        assert client.get(one, timeout=5).json()["title"] == "In pieces"


def test_wrong_faults_on_the_command_line_exit_2():
    code, errors = fails("--faults", '{"rules": [{"fault": "FIRE"}]}')
    assert (code, errors.splitlines()[0][:40]) == (2, "sandbox: --faults: rules[0].fault: must ")
