"""`python -m sandbox` as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "sandbox", "--port", "0"]


@contextmanager
def running(
    *options: str, command: list[str] = COMMAND, **how: object
) -> Iterator[tuple[subprocess.Popen[str], requests.Session, list[str]]]:
    """A sandbox on a free port, its client, and the line that it printed."""
    process = subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **{"cwd": ROOT, **how},
    )
    try:
        words = process.stdout.readline().split()
        assert words, process.stderr.read()
        with requests.Session() as client:
            client.trust_env = False
            token = options[options.index("--token") + 1] if "--token" in options else words[3]
            client.headers["Authorization"] = f"Bearer {token}"
            yield process, client, words
    finally:
        if process.poll() is None:
            kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    """End the server and its worker at once, as a power cut does."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=10)


def stop(process, client, signal_number=signal.SIGTERM) -> tuple[int, str]:
    client.close()
    time.sleep(0.1)  # else the server still sees the connection, and waits a second for it
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
