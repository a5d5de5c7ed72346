"""How many threads of a process work at a time: one that waits for somebody else's answer does not.

A worker has many threads, since a call that hangs holds one until its deadline. They share few
connections to the database: PostgreSQL allows a hundred in all, and SQLite one writer. So each
thread has a permit before its first statement, and gives permit and connection back for the time of
a call.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

PERMITS = 16  # also the size of the pool of connections (`config.celery`)
_permits = threading.BoundedSemaphore(PERMITS)


class _Local(threading.local):
    is_held = False


_local = _Local()


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
