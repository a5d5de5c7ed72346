"""Runs the processes of a Procfile, and starts them again if they die."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
SOON = 10.0  # seconds; a process that ends within them did not start well
TRIES = 3  # such starts in a row before it gives up
STOP_WITHIN = 5.0  # seconds, then processes that still run are killed
INTERVAL = 0.1  # seconds between two checks


def commands(procfile: Path) -> dict[str, str]:
    """Return the command of each process by its name, in the order of the file."""
    lines = procfile.read_text().splitlines()
    pairs = (line.partition(":") for line in lines if line.strip() and not line.startswith("#"))
    return {name.strip(): command.strip() for name, _, command in pairs}


class Process:
    """One process of the Procfile, with its child processes: they end together."""

    def __init__(self, name: str, command: str, environment: Mapping[str, str], width: int) -> None:
        self.name, self.command, self.environment = name, command, environment
        self.prefix = f"{name:{width}} | "
        self.failures = 0  # starts in a row after which it ended within `SOON`
        self.start()

    def start(self) -> None:
        """Start it so that it ends with us."""
        tied = [sys.executable, str(ROOT / "examples" / "tied.py"), str(os.getpid())]
        self.started_at = time.monotonic()
        self.running = subprocess.Popen(
            [*tied, "/bin/sh", "-c", f"exec {self.command}"],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        threading.Thread(target=self._copy, args=(self.running,), daemon=True).start()

    def _copy(self, running: subprocess.Popen[bytes]) -> None:
        for line in running.stdout or ():
            say(f"{self.prefix}{line.decode(errors='replace').rstrip()}")

    def send(self, number: int) -> None:
        """Send a signal to it and its children, if they still run."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.running.pid, number)

    def has_ended(self) -> bool:
        """Return whether it has ended. If so, kill its children."""
        if self.running.poll() is None:
            return False
        self.send(signal.SIGKILL)
        return True

    @property
    def ending(self) -> str:
        """How it ended, in words for a person."""
        code = self.running.returncode
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


class Supervisor:
    """Runs several processes until a person stops them, or one of them ends or fails to start.

    Args:
        restarts: start processes again if they die; if False, the first one that ends stops all.
    """

    def __init__(self, procfile: Path, environment: Mapping[str, str], *, restarts: bool) -> None:
        found = commands(procfile)
        width = max(len(name) for name in found)
        self.restarts = restarts
        self.is_stopped = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        self.processes = [
            Process(name, command, environment, width) for name, command in found.items()
        ]

    def _stop(self, _: int, __: FrameType | None) -> None:
        self.is_stopped = True

    def run(self, *, limit: float | None = None) -> int:
        """Watch the processes to the end, and return an exit code.

        0: a person stopped them. 1: too late, or one failed to start. Without restarts, the code of
        the first process that ended."""
        end = None if limit is None else time.monotonic() + limit
        try:
            while not self.is_stopped:
                for process in self._ended():
                    code = self._after(process)
                    if code is not None:
                        return code
                if end is not None and time.monotonic() > end:
                    say(f"not finished after {limit:g} s", sys.stderr)
                    return 1
                time.sleep(INTERVAL)
            return 0
        finally:
            self._end_all()

    def _ended(self) -> Iterator[Process]:
        return (process for process in self.processes if process.has_ended())

    def _after(self, process: Process) -> int | None:
        """Start an ended process again, or return the exit code of the supervisor."""
        name, soon = process.name, time.monotonic() < process.started_at + SOON
        if not self.restarts:
            say(f"{name} ended ({process.ending}): all end")
            return abs(int(process.running.returncode))
        process.failures = process.failures + 1 if soon else 0
        if process.failures == TRIES:
            say(
                f"{name} ended ({process.ending}) {TRIES} times within {SOON:g} s of its start:"
                " all end. What it said last stands above.",
                sys.stderr,
            )
            return 1
        say(f"{name} ended ({process.ending}): it is started again")
        process.start()
        return None

    def _end_all(self) -> None:
        for process in self.processes:
            process.send(signal.SIGTERM)
        end = time.monotonic() + STOP_WITHIN
        while time.monotonic() < end and not all(map(Process.has_ended, self.processes)):
            time.sleep(INTERVAL)
        for process in self.processes:
            process.send(signal.SIGKILL)
            process.running.wait()


def say(text: str, file: TextIO | None = None) -> None:
    """Print a whole line at once, because several threads print."""
    file = file or sys.stdout
    file.write(f"{text}\n")
    file.flush()
