"""honcho runs the Procfile: one that dies ends the others, and nobody outlives honcho."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.processes import ROOT, Installation, free_port, wait_until

pytestmark = [pytest.mark.processes, pytest.mark.once]
LIMIT = 40  # seconds for processes to start, or to end
KINDS = ("gunicorn", "config worker", "config beat")


class Honcho:
    """The Procfile of this project, on a port and with data of its own."""

    def __init__(self, folder: Path, database_url: str):
        self.folder = folder
        self.bind, callbacks = (f"127.0.0.1:{free_port()}" for _ in range(2))
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        soon = {"PATH": path, "WEB_BIND": self.bind, "CALLBACKS_BIND": callbacks}
        with (folder / "output").open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "honcho", "--env", os.devnull, "start"],
                cwd=ROOT,
                env=Installation(folder, database_url, **soon).environment,
                stdout=output,
                stderr=output,
            )


@pytest.fixture
def honcho(tmp_path: Path, database_url: str) -> Iterator[Honcho]:
    started = Honcho(tmp_path, database_url)
    yield started
    for pid in ours(tmp_path):
        os.kill(pid, signal.SIGKILL)
    started.process.wait()


def ours(folder: Path) -> dict[int, str]:
    """Return the processes of this installation, by their id: what they run."""
    mark, found = f"DATA_DIR={folder}".encode(), {}
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdecimal() and mark in (process / "environ").read_bytes():
                command = (process / "cmdline").read_bytes()
                found[int(process.name)] = command.replace(b"\0", b" ").decode()
        except OSError:  # it ended meanwhile, or is somebody else's
            continue
    return found


def running(folder: Path, kind: str) -> list[int]:
    """Return the ids of those of a kind, the first that was started first; no shells."""
    found = ours(folder).items()
    return sorted(pid for pid, command in found if kind in command and "/bin/sh" not in command)


def all_start(folder: Path) -> bool:
    return all(running(folder, kind) for kind in KINDS) and len(running(folder, "gunicorn")) > 1


def all_run(honcho: Honcho) -> bool:
    try:
        return requests.get(f"http://{honcho.bind}/workersz", timeout=5).ok
    except requests.RequestException:
        return False


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_is_killed_ends_all_with_an_error(honcho, kind):
    wait_until("all run", lambda: all_run(honcho), limit=LIMIT)
    os.kill(running(honcho.folder, kind)[0], signal.SIGKILL)
    assert honcho.process.wait(LIMIT) != 0
    wait_until("nobody is left", lambda: not ours(honcho.folder), limit=LIMIT)


def test_nobody_outlives_a_honcho_that_is_killed(honcho):
    wait_until("all run", lambda: all_run(honcho), limit=LIMIT)
    honcho.process.kill()
    wait_until("nobody is left", lambda: not ours(honcho.folder), limit=LIMIT)


def test_nobody_outlives_a_honcho_that_is_killed_while_they_start(honcho):
    wait_until("all start", lambda: all_start(honcho.folder), limit=LIMIT)
    honcho.process.kill()
    wait_until("nobody is left", lambda: not ours(honcho.folder), limit=LIMIT)
