"""The real processes of an installation, started and killed by a test."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests

from tests.sizes import KIND

ROOT = Path(__file__).resolve().parent.parent
TOKEN = "kill-test-token"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(what: str, done: Callable[[], Any], *, limit: float) -> Any:
    """Ask until it is true; fail with `what` after `limit` seconds."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = done()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {limit:g} s")


class Installation:
    """Web, worker and sandbox on free ports, with their own database and data folder."""

    def __init__(self, folder: Path, database_url: str, **environment: str):
        self.folder = folder
        self.web_port, self.callbacks_port, self.sandbox_port = (free_port() for _ in range(3))
        self.sandbox = f"http://127.0.0.1:{self.sandbox_port}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = os.environ | {
            "DATA_DIR": str(folder),
            "DATABASE_URL": database_url,
            "CELERY_BROKER_URL": "filesystem://localhost",
            "PUBLIC_BASE_URL": f"http://127.0.0.1:{self.web_port}",
            "PLATFORM_TOKEN": TOKEN,
            "SANDBOX_URL": self.sandbox,
            "PYTHONPATH": str(ROOT),
            "LOG_LEVEL": "WARNING",
            "SECRET_KEY": secrets.token_hex(16),
            **environment,
        }

    def start_sandbox(self, *options: str, step: float = 0) -> None:
        address = ("--port", str(self.sandbox_port), "--token", TOKEN, "--platform", KIND)
        self.start("sandbox", "sandbox", *address, "--step", f"{step:g}", *options)
        self._wait_for(f"{self.sandbox}/_sandbox/state")

    def start_web(self) -> None:
        options = ("--config", "config/gunicorn.py", "--bind", f"127.0.0.1:{self.web_port}")
        self.start("web", "gunicorn", "config.wsgi", *options, "--log-level", "error")
        self._wait_for(f"http://127.0.0.1:{self.web_port}/healthz")

    def start_worker(self, name: str = "worker", *options: str) -> None:
        kind = ("--hostname", f"{name}@%h")
        quiet = ("--without-gossip", "--without-mingle", "--loglevel", "ERROR")
        self.start(name, "celery", "-A", "config", "worker", *kind, *quiet, *options)

    def start_beat(self) -> None:
        self.start("beat", "celery", "-A", "config", "beat", "--loglevel", "ERROR")

    def start_loop(self, name: str) -> None:
        """Start a worker that needs no broker."""
        self._start_python(name, "manage.py", "work", "--loop")

    def kill(self, name: str) -> None:
        """kill -9 the process and all that it started."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def freeze(self, name: str) -> None:
        """Let the process stand still, as a machine does that is suspended."""
        os.killpg(self.processes[name].pid, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        os.killpg(self.processes[name].pid, signal.SIGCONT)

    def is_connected(self, name: str) -> bool:
        """Tell whether the process has a connection to the sandbox open (Linux)."""
        opened = Path(f"/proc/{self.processes[name].pid}/fd")
        mine = set()
        for one in opened.iterdir():
            with suppress(FileNotFoundError):  # it was closed just now
                mine.add(os.readlink(one))
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            words = line.split()
            port, is_open = int(words[2].partition(":")[2], 16), words[3] == "01"
            if is_open and port == self.sandbox_port and f"socket:[{words[9]}]" in mine:
                return True
        return False

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)

    def manage(self, *arguments: str) -> str:
        return self.run("manage.py", *arguments)

    def run(self, *arguments: str) -> str:
        """Run Python with these arguments in the installation's environment; its output."""
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def state(self) -> dict[str, Any]:
        return requests.get(f"{self.sandbox}/_sandbox/state", timeout=60).json()

    def start_procfile(self, name: str) -> None:
        """Start what the Procfile has under the name, as `honcho start` does."""
        lines = (ROOT / "Procfile").read_text().splitlines()
        command = dict(line.split(": ", 1) for line in lines)[name]
        here = f"{Path(sys.executable).parent}{os.pathsep}{self.environment.get('PATH', '')}"
        ports = {"web": self.web_port, "callbacks": self.callbacks_port}
        bound = {f"{kind.upper()}_BIND": f"127.0.0.1:{port}" for kind, port in ports.items()}
        self.environment |= bound | {"PATH": here}
        self._start_command(name, "sh", "-c", f"exec {command}")
        if name in ports:
            self._wait_for(f"http://127.0.0.1:{ports[name]}/healthz")

    def start(self, name: str, module: str, *arguments: str) -> None:
        """Start a module of Python; what it prints is in the log of its name."""
        self._start_python(name, "-m", module, *arguments)

    def _start_python(self, name: str, *arguments: str) -> None:
        self._start_command(name, sys.executable, *arguments)

    def _start_command(self, name: str, *command: str) -> None:
        log = (self.folder / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def _wait_for(self, url: str) -> None:
        def answers() -> bool:
            try:
                return requests.get(url, timeout=2).ok
            except requests.RequestException:
                return False

        wait_until(url, answers, limit=30)
