"""What has to survive a power cut, and what would simply be done again (decision 6).

On PostgreSQL the threads of a worker commit without waiting for the disk, except where a power cut
must not take it back. On SQLite they share commits (`commits`), and each of those waits. The death
of a process takes back nothing either way.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


class _Local(threading.local):
    is_worker_thread = False
    waits = True


_local = _Local()


def relax() -> None:
    """Make this a thread of a worker, whose endings may reach the disk with a later commit."""
    _local.is_worker_thread, _local.waits = True, False


def is_worker_thread() -> bool:
    """Tell whether this is a thread of a worker."""
    return _local.is_worker_thread


def waits() -> bool:
    """Tell whether a commit of this thread on PostgreSQL has to wait for the disk now."""
    return _local.waits


@contextmanager
def relaxed() -> Iterator[None]:
    """Run the block in a transaction whose commit reaches the disk with a later one.

    What a power cut takes back of it has to come again by itself. Inside another transaction the
    commit is the caller's.
    """
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
    elif connection.vendor == "sqlite":
        _synchronous("NORMAL")
        try:
            with transaction.atomic():
                yield
        finally:
            _synchronous("FULL")
    else:
        with transaction.atomic():
            # For this transaction alone: a pool may give the connection to somebody else.
            connection.connection.execute("SET LOCAL synchronous_commit = off")
            yield


@contextmanager
def durable() -> Iterator[None]:
    """Wait for the disk in the commits of this block; it holds no open transaction."""
    if _local.waits:
        yield
        return
    _local.waits = True
    try:
        yield
    finally:
        _local.waits = False


def _synchronous(how: str) -> None:
    # Past Django's cursor, whose bookkeeping would cost more than the setting itself.
    connection.ensure_connection()
    connection.connection.execute(f"PRAGMA synchronous={how}")
