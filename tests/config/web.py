"""The web of an installation, started as the Procfile says."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.processes import ROOT, Installation


def web_line(procfile: str) -> str:
    lines = (ROOT / procfile).read_text().splitlines()
    return next(line.removeprefix("web: ") for line in lines if line.startswith("web: "))


@dataclass
class Served:
    """gunicorn's first process, and the file that it writes."""

    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def web(installation: Installation, procfile: str = "Procfile") -> Iterator[Served]:
    """Run it for as long as the test needs it."""
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ports = {
        "WEB_BIND": f"127.0.0.1:{installation.web_port}",
        "WEB_PORT": str(installation.web_port),
    }
    log = installation.folder / "web.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {web_line(procfile)}"],
            cwd=ROOT,
            env=installation.environment | ports | {"PATH": binaries},
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        installation._wait_for(f"http://127.0.0.1:{installation.web_port}/healthz")
        yield Served(process, log)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
