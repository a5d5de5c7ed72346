"""`python -m sandbox` as a process of its own: start, state file, callbacks, end."""

import http.server
import json
import signal
import socket
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from sandbox.__main__ import main
from sandbox.faults.rules import FAULTS
from sandbox.state.saving import save
from sandbox.state.workspace import Workspace
from tests.sandbox.servers import ROOT, eventually, kill, running, stop

processes = pytest.mark.processes
ONE = "/v1/real-estate-properties/201"


def refused(capsys, *options: str) -> tuple[int, str]:
    """What a command line that cannot be answers: its exit code and its message."""
    try:
        code = main(list(options))
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()
    assert captured.out == ""
    return code, captured.err


@processes
def test_a_restart_knows_what_it_knew(tmp_path):
    options = ("--token", "t", "--state", str(tmp_path / "state.json"))
    with running(*options) as (process, client, (_, base)):
        with client.patch(f"{base}{ONE}", json={"title": "Kept"}) as answer:
            assert (answer.status_code, len(answer.raw.headers.getlist("Date"))) == (200, 1)
        del answer  # it would keep the connection open, and the server waits for those
        before = client.get(f"{base}/_sandbox/state").json()
        assert stop(process, client, signal.SIGTERM) == (0, "")
    with running(*options) as (process, client, (_, base)):
        after = client.get(f"{base}/_sandbox/state").json()
        assert after.pop("now") > before.pop("now")
        assert after == before
        assert after["properties"]["201"]["title"] == "Kept"
        assert stop(process, client, signal.SIGINT) == (0, "")


@processes
def test_a_sandbox_that_is_killed_knows_what_happened_until_shortly_before(tmp_path):
    path = tmp_path / "state.json"
    with running("--token", "t", "--state", str(path)) as (process, client, (_, base)):
        client.patch(f"{base}{ONE}", json={"title": "Kept"})
        eventually(lambda: path.exists() and "Kept" in path.read_text())
        kill(process)
    assert json.loads(path.read_text())["properties"]["201"]["title"] == "Kept"
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content", [b"{", b"", b"[]", b'{"properties": []}', b"\xff\xfe", b"[" * 100_000]
)
def test_a_state_file_that_cannot_be_read_is_named_and_left_as_it_is(tmp_path, capsys, content):
    path = tmp_path / "state.json"
    path.write_bytes(content)
    code, errors = refused(capsys, "--state", str(path))
    assert (code, len(errors.splitlines())) == (1, 1)
    assert errors.startswith(f"sandbox: {path}: ")
    assert path.read_bytes() == content


def test_a_state_whose_members_are_of_the_wrong_type_is_refused(tmp_path, capsys):
    path = tmp_path / "state.json"
    save(Workspace.seeded().to_json() | {"properties": {"1": "x"}}, path)
    code, errors = refused(capsys, "--state", str(path))
    assert (code, errors[: len(f"sandbox: {path}: ")]) == (1, f"sandbox: {path}: ")


def test_a_place_where_no_state_can_be_kept_is_told_at_the_start(tmp_path, capsys):
    path = tmp_path / "nowhere" / "state.json"
    code, errors = refused(capsys, "--state", str(path))
    assert (code, len(errors.splitlines())) == (1, 1)
    assert str(path) in errors


def test_a_port_that_is_taken_is_one_clear_message(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, errors = refused(capsys, "--port", str(port))
    assert (code, len(errors.splitlines())) == (1, 1)
    assert errors.startswith(f"sandbox: cannot listen on 127.0.0.1 port {port}: ")


@pytest.mark.parametrize(
    "options",
    [
        ("--step", "-1"),
        ("--port", "70000"),
        ("--senders", "0"),
        ("--client-id", "id"),
        ("--token", ""),
        ("--faults", "{"),
    ],
)
def test_wrong_usage_exits_2(capsys, options):
    assert refused(capsys, *options)[0] == 2


def test_wrong_faults_on_the_command_line_are_named(capsys):
    code, errors = refused(capsys, "--faults", '{"rules": [{"fault": "FIRE"}]}')
    assert (code, errors[:40]) == (2, "sandbox: --faults: rules[0].fault: must ")


@processes
def test_it_starts_alone_with_its_own_few_packages(tmp_path):
    """A folder with the sandbox and what it needs, and no other package of this environment."""
    packages = Path(requests.__file__).parents[1]
    needed = ("gunicorn", "packaging", "requests", "urllib3", "idna", "certifi")
    for name in (*needed, "charset_normalizer"):
        (tmp_path / name).symlink_to(packages / name)
    for helper in packages.glob("*__mypyc*.so"):  # of charset_normalizer
        (tmp_path / helper.name).symlink_to(helper)
    (tmp_path / "sandbox").symlink_to(ROOT / "sandbox")
    alone = [sys.executable, "-S", "-m", "sandbox", "--port", "0"]
    with running(command=alone, cwd=tmp_path, env={"PATH": ""}) as (_, client, words):
        assert (words[0], words[1].rpartition(":")[0], words[2]) == (
            *("sandbox:", "http://127.0.0.1", "token"),
        )
        base = words[1]
        assert client.get(f"{base}/v1/users").json()["totalElements"] == 3
        assert requests.get(f"{base}/v1/users", timeout=5).status_code == 401
        hook = {"url": "http://127.0.0.1:9/", "method": "POST"}
        client.put(f"{base}/v1/webhooks", json=hook)
        client.post(f"{base}/_sandbox/properties/201/marketing")
        triggers = f"{base}/v1/webhooks/triggers"
        (record,) = eventually(lambda: client.get(triggers).json())
        assert record["errorMessage"].startswith("ConnectionError: ")
        assert client.get(f"{base}/_sandbox/").status_code == 200


@contextmanager
def receiver(slow: str = ""):
    """Somebody who is called back: the address and what was received; one event waits."""
    received: list[tuple[str, dict]] = []
    free = threading.Event()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.append((self.headers["X-Event-Type"], body))
            if body["event"] == slow:
                free.wait(10)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", received
    finally:
        free.set()
        server.shutdown()
        server.server_close()


def place(client, base) -> dict:
    body = {"userId": "101", "realEstatePropertyId": "201"}
    session = client.post(f"{base}/v1/sessions", json=body).json()
    body = {
        "sessionId": session["id"],
        "products": [{"id": "18"}],
        "instructions": {"billing": "21", "organization": "31", "delivery": "41"},
    }
    return client.post(f"{base}/v1/orders", json=body).json()


@processes
def test_the_autopilot_moves_orders_and_a_slow_answer_holds_no_callback_back():
    with (
        receiver(slow="ESTIMATED_DELIVERY_UPDATED") as (address, received),
        running("--token", "t", "--step", "0.05") as (_, client, (_name, base)),
    ):
        client.put(f"{base}/v1/webhooks", json={"url": address, "method": "POST"})
        order = place(client, base)
        assert eventually(lambda: len(received) == 6)
        assert client.get(f"{base}/v1/orders/{order['id']}").json()["status"] == "COMPLETED"
        assert Counter(kind for kind, _ in received) == {
            "ASSIGNMENT_STATUS_UPDATED": 2,
            "ESTIMATED_DELIVERY_UPDATED": 1,
            "ORDER_STATUS_UPDATED": 2,
            "VISUALS_READY": 1,
        }
        assert [event["event"] for _, event in received] == [kind for kind, _ in received]
        triggers = f"{base}/v1/webhooks/triggers"
        assert eventually(lambda: len(client.get(triggers).json()) == 5)  # one still waits


@processes
def test_all_faults_can_be_given_on_the_command_line_and_one_sender_keeps_the_order():
    rules = [{"fault": one, "times": 0} for one in sorted(FAULTS)]
    rules.append({"fault": "REPEATED", "event": "ORDER_STATUS_UPDATED", "times": 1})
    given = json.dumps({"seed": 3, "rules": rules})
    options = ("--token", "t", "--senders", "1", "--faults", given)
    with receiver() as (address, received), running(*options) as (_, client, (_name, base)):
        shown = client.get(f"{base}/_sandbox/faults").json()
        assert shown["seed"] == 3
        assert [one["fault"] for one in shown["rules"]] == [one["fault"] for one in rules]
        client.put(f"{base}/v1/webhooks", json={"url": address, "method": "POST"})
        place(client, base)
        client.post(f"{base}/_sandbox/step")
        assert eventually(lambda: len(received) == 4)
        assert [kind for kind, _ in received] == [
            "ASSIGNMENT_STATUS_UPDATED",
            "ESTIMATED_DELIVERY_UPDATED",
            "ORDER_STATUS_UPDATED",
            "ORDER_STATUS_UPDATED",
        ]
        time_outs_and_broken_answers(client, base)


def time_outs_and_broken_answers(client, base) -> None:
    broken = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
    for fault in "TIME_OUT_AFTER", "CUT_OFF":
        client.post(f"{base}/_sandbox/faults", json={"rules": [{"fault": fault, "times": 1}]})
        with pytest.raises(broken):
            client.patch(f"{base}{ONE}", json={"title": fault}, timeout=5)
        assert client.get(f"{base}{ONE}", timeout=5).json()["title"] == fault
    rules = [{"fault": "TIME_OUT_AFTER", "times": 1, "seconds": 0.5}]
    client.post(f"{base}/_sandbox/faults", json={"rules": rules})
    started = time.monotonic()
    with pytest.raises(requests.ReadTimeout):
        client.patch(f"{base}{ONE}", json={"title": "Late"}, timeout=0.2)
    assert time.monotonic() - started < 0.5
    assert client.get(f"{base}{ONE}", timeout=5).json()["title"] == "Late"
