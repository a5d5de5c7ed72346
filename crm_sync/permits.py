"""Limits the threads of a process that work at a time, without threads that wait for an answer.

A worker has many threads, since a call that hangs holds one until its deadline. They share few
connections to the database: PostgreSQL allows a hundred in all, and SQLite one writer. So each
thread takes a permit before its first statement, and gives permit and connection back during a
call.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections

PERMITS = 16
# To PostgreSQL: the permits, and some for threads without one: heartbeat, keeper, the main thread.
CONNECTIONS = 20
PATIENCE = 5.0  # seconds for a connection; a turn without one ends, and its rows stay due


class _Permits:
    """A number of permits, given in the order of request, but first to threads back from a call.

    A new turn can wait. A turn that comes back from a call holds a slot and a row while it waits.
    """

    def __init__(self, count: int) -> None:
        self._lock, self._free = threading.Lock(), count
        self._beginning: deque[threading.Lock] = deque()
        self._returning: deque[threading.Lock] = deque()

    def take(self, *, is_back: bool) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            handed = threading.Lock()
            handed.acquire()
            (self._returning if is_back else self._beginning).append(handed)
        handed.acquire()

    def give_back(self) -> None:
        with self._lock:
            waiting = self._returning or self._beginning
            if waiting:
                waiting.popleft().release()
            else:
                self._free += 1


_permits = _Permits(PERMITS)


class _Local(threading.local):
    is_held = False


_local = _Local()


def share_connections() -> None:
    """Let the threads of this process share few connections to PostgreSQL, or SQLite's one lock."""
    database = connections.settings["default"]
    if database["ENGINE"].endswith("postgresql"):
        pool: dict[str, float] = {"min_size": 2, "max_size": CONNECTIONS}
        # After this time the pool stops trying to reconnect; the next request tries again.
        pool |= {"timeout": PATIENCE, "reconnect_timeout": PATIENCE}
        database["OPTIONS"] = {**database["OPTIONS"], "pool": pool}
        database["CONN_MAX_AGE"] = 0
    else:
        database["ENGINE"] = "crm_sync.sqlite3"


@contextmanager
def held() -> Iterator[None]:
    """Hold a permit in this block. Take it before any slot, row or connection."""
    _take(is_back=False)
    try:
        yield
    finally:
        _give_back()


@contextmanager
def away() -> Iterator[None]:
    """Give the permit and the connection back during a call, if this thread has a permit.

    No transaction is open then (I13).
    """
    if not _local.is_held:
        yield
        return
    _give_back()
    try:
        yield
    finally:
        _take(is_back=True)


def _take(*, is_back: bool) -> None:
    _permits.take(is_back=is_back)
    _local.is_held = True


def _give_back() -> None:
    try:
        if "pool" in connection.settings_dict["OPTIONS"]:
            connection.close()  # this returns it to the pool
    finally:
        _local.is_held = False
        _permits.give_back()
