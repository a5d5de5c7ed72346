"""The demo has its folder for itself (examples/demo.py)."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.processes import ROOT, free_port, wait_until

pytestmark = pytest.mark.processes
RUN = """
import sys
from pathlib import Path
from examples.demo import run
sys.exit(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), step=1.0))
"""


def command(folder: Path) -> list[str]:
    return [sys.executable, "-c", RUN, str(folder), str(free_port()), str(free_port())]


def test_a_second_start_on_the_same_folder_says_so_and_ends(tmp_path):
    first = subprocess.Popen(
        command(tmp_path), cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        wait_until("the first has begun", (tmp_path / "platform.token").exists, limit=30)
        second = subprocess.run(
            command(tmp_path), cwd=ROOT, capture_output=True, text=True, check=False, timeout=30
        )
        assert (second.returncode, second.stdout) == (1, "")
        assert second.stderr == (
            f"A demo runs already with the data in {tmp_path}: stop it with Ctrl-C, or use it.\n"
        )
        assert first.poll() is None
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait(10)


def test_a_demo_that_goes_on_orders_nothing_again(tmp_path):
    said = [started_until(tmp_path, text) for text in ("The admin is at", "The admin is at")]
    assert ["place_order demo" in text for text in said] == [True, False]
    assert "An order was placed before." in said[1]
    with closing(sqlite3.connect(tmp_path / "db.sqlite3")) as database:
        assert database.execute("SELECT COUNT(*) FROM orders_placement").fetchone() == (1,)


def started_until(folder: Path, text: str) -> str:
    """Start the demo, end it as Ctrl-C does once it says this; return what it said."""
    log = folder / "said.txt"
    with log.open("wb") as out:
        demo = subprocess.Popen(command(folder), cwd=ROOT, stdout=out, start_new_session=True)
    try:
        wait_until("it has said so", lambda: text in log.read_text(), limit=90)
        os.killpg(demo.pid, signal.SIGINT)
        demo.wait(30)
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.wait(10)
    return log.read_text()


@pytest.mark.parametrize("port", ["99999", "8900"])
def test_a_port_that_there_is_not_or_that_the_sandbox_has_is_refused(port):
    command = (sys.executable, "-m", "examples.demo", "--web-port", port)
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == (
        "demo.py: error: --web-port and --sandbox-port must be two numbers from 1 to 65535"
    )
