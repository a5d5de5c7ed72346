"""Keeps what this process holds: a thread renews its slots and the leases of its rows each second.

A process that dies or is suspended renews nothing, so what it held comes free within seconds.
"""

import logging
import threading
from collections.abc import Callable
from datetime import datetime

from django.db import Error, connection
from django.utils import timezone

log = logging.getLogger(__name__)

EVERY = 1.0  # seconds
IDLE = 10  # rounds in which nothing is held: then the thread ends

# Each renews what is old enough, and returns whether this process holds anything of its kind.
RENEWALS: list[Callable[[datetime], bool]] = []
_lock = threading.Lock()
_thread: threading.Thread | None = None


def begin() -> None:
    """Have the thread run: something is held now. Its end, or a fork, needs no other care."""
    global _thread  # noqa: PLW0603 - there is one in a process
    if _thread is not None and _thread.is_alive():
        return
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="keeper", daemon=True)
            _thread.start()


def _run() -> None:
    pause, idle = threading.Event(), 0
    while idle < IDLE:
        pause.wait(EVERY)
        idle = 0 if _renew(timezone.now()) else idle + 1


def _renew(now: datetime) -> bool:
    is_any = False
    try:
        for renew in RENEWALS:
            is_any |= renew(now)
    except Error as error:
        # What cannot be renewed comes free; whoever holds it sees that at its next write.
        log.warning("the leases of this process are not renewed: %s", error)
        is_any = True
    finally:
        connection.close()
    return is_any
