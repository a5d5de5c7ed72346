"""Ends a process of the Procfile when honcho ends, even if honcho was killed.

honcho starts each process through a child of its own, which outlives it and goes on reading.
"""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

MARK = "HONCHO_PROCESS_NAME"  # honcho sets it for the processes that it starts
INTERVAL = 1.0  # seconds between two checks


def watch(*_: Any, **__: Any) -> None:
    """Stop this process with SIGTERM as soon as honcho is gone. Without honcho, do nothing."""
    if MARK in os.environ:
        found = _honcho()
        if found is not None:
            threading.Thread(target=_run, args=found, name="orphan", daemon=True).start()


def _run(child: int, honcho: int) -> None:
    # When honcho is gone, another process adopts the child, and its command differs.
    while _parent(child) == honcho and _bytes(child, "cmdline") == _bytes(honcho, "cmdline"):
        time.sleep(INTERVAL)
    os.kill(os.getpid(), signal.SIGTERM)


def _honcho() -> tuple[int, int] | None:
    """Return honcho's own child, which is the nearest ancestor without MARK, and honcho."""
    pid = os.getppid()
    while pid > 1:
        parent = _parent(pid)
        if parent is None:  # not Linux, or the process of another user
            return None
        if f"{MARK}=".encode() not in _bytes(pid, "environ"):
            return pid, parent
        pid = parent
    return None


def _bytes(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # the process has ended
        return b""


def _parent(pid: int) -> int | None:
    words = _bytes(pid, "stat").rpartition(b")")[2].split()
    return int(words[1]) if words else None
