"""How many threads of a process work at a time: one that waits for somebody else's answer does not.

A worker has many threads, since a call that hangs holds one until its deadline. They share few
connections to the database: PostgreSQL allows a hundred in all, and SQLite one writer. So each
thread has a permit before its first statement, and gives permit and connection back for the time of
a call.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections

PERMITS = 16
# To PostgreSQL, beside the permits for what holds none: heartbeat, keeper, the main thread.
CONNECTIONS = 20
PATIENCE = 5.0  # seconds for a connection: a turn that gets none ends, and its rows stay due
_permits = threading.BoundedSemaphore(PERMITS)


class _Local(threading.local):
    is_held = False


_local = _Local()


def share_connections() -> None:
    """Let the threads of this process share a few connections to PostgreSQL, from now on."""
    database = connections.settings["default"]
    if database["ENGINE"].endswith("postgresql"):
        pool: dict[str, float] = {"min_size": 2, "max_size": CONNECTIONS}
        # The pool gives up reconnecting after this time; the next request tries again.
        pool |= {"timeout": PATIENCE, "reconnect_timeout": PATIENCE}
        database["OPTIONS"] = {**database["OPTIONS"], "pool": pool}
        database["CONN_MAX_AGE"] = 0


@contextmanager
def held() -> Iterator[None]:
    """Hold a permit in this block; a thread that waits for one holds nothing else."""
    _take()
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
        _take()


def _take() -> None:
    _permits.acquire()
    _local.is_held = True


def _give_back() -> None:
    if "pool" in connection.settings_dict["OPTIONS"]:
        connection.close()  # which returns it to the pool
    _local.is_held = False
    _permits.release()
