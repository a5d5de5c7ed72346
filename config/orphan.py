"""A process of the Procfile ends when honcho does, also when honcho was killed and stopped nobody.

honcho starts each process through a child of its own, which outlives it and reads on for ever.
"""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

MARK = "HONCHO_PROCESS_NAME"  # honcho sets it for what it starts
INTERVAL = 1.0  # seconds between two checks


def watch(*_: Any, **__: Any) -> None:
    """Stop this process with SIGTERM as soon as honcho is gone; without honcho do nothing."""
    if MARK in os.environ:
        found = _honcho()
        if found is not None:
            threading.Thread(target=_run, args=found, name="orphan", daemon=True).start()


def _run(child: int, honcho: int) -> None:
    # Whoever adopts the child of a honcho that is gone runs another command.
    while _parent(child) == honcho and _command(child) == _command(honcho):
        time.sleep(INTERVAL)
    os.kill(os.getpid(), signal.SIGTERM)


def _honcho() -> tuple[int, int] | None:
    """Return the nearest ancestor that honcho did not start, its own child, and honcho itself."""
    pid = os.getppid()
    while pid > 1:
        parent = _parent(pid)
        if parent is None:  # no Linux, or somebody else's
            return None
        if not _is_marked(pid):
            return pid, parent
        pid = parent
    return None


def _is_marked(pid: int) -> bool:
    return f"{MARK}=".encode() in _bytes(pid, "environ")


def _command(pid: int) -> bytes:
    return _bytes(pid, "cmdline")


def _bytes(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # it ended
        return b""


def _parent(pid: int) -> int | None:
    words = _bytes(pid, "stat").rpartition(b")")[2].split()
    return int(words[1]) if words else None
