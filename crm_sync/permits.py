"""How many threads of a process work at a time: one that waits for somebody else's answer does not.

A worker has many threads, since a call that hangs holds one until its deadline. They share few
connections to the database: PostgreSQL allows a hundred in all, and SQLite one writer. So each
thread has a permit before its first statement, and gives permit and connection back for the time of
a call.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections

PERMITS = 16
# To PostgreSQL, beside the permits for what holds none: heartbeat, keeper, the main thread.
CONNECTIONS = 20
PATIENCE = 5.0  # seconds for a connection: a turn that gets none ends, and its rows stay due


class _Permits:
    """So many permits, handed over in the order of asking: first to those who come from a call.

    A turn that begins may wait, but while one waits that has begun its slot and its row are held.
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
        # The pool gives up reconnecting after this time; the next request tries again.
        pool |= {"timeout": PATIENCE, "reconnect_timeout": PATIENCE}
        database["OPTIONS"] = {**database["OPTIONS"], "pool": pool}
        database["CONN_MAX_AGE"] = 0
    else:
        database["ENGINE"] = "crm_sync.sqlite3"


@contextmanager
def held() -> Iterator[None]:
    """Hold a permit in this block; a thread that waits for one holds nothing else."""
    _take(is_back=False)
    try:
        yield
    finally:
        _give_back()


@contextmanager
def away() -> Iterator[None]:
    """Give the permit and the connection back while a call is under way; without a permit nothing.

    It holds no open transaction (I13).
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
            connection.close()  # which returns it to the pool
    finally:
        _local.is_held = False
        _permits.give_back()
