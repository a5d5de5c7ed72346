"""What has to survive a power cut, and what would simply be done again (decision 6).

In a turn of a worker a commit does not wait for the disk, except where a power cut must not take it
back. The death of a process takes back nothing either way.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


class _Local(threading.local):
    waits = True


_local = _Local()


def waits() -> bool:
    """Return whether a commit of this thread has to wait for the disk now."""
    return _local.waits


@contextmanager
def working() -> Iterator[None]:
    """Let the commits of this block reach the disk with a later one: it is the turn of a worker.

    What a power cut takes back of them is done again.
    """
    with _set(waits=False):
        yield


@contextmanager
def durable() -> Iterator[None]:
    """Wait for the disk in the commits of this block; it holds no open transaction."""
    with _set(waits=True):
        yield


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
        with _set(waits=False), transaction.atomic():
            yield
    else:
        with transaction.atomic():
            # For this transaction alone: a pool may give the connection to somebody else.
            connection.connection.execute("SET LOCAL synchronous_commit = off")
            yield


@contextmanager
def _set(*, waits: bool) -> Iterator[None]:
    """Have it so in this block, on the connection of SQLite too."""
    if _local.waits == waits:
        yield
        return
    _local.waits = waits
    _tell_sqlite(waits=waits)
    try:
        yield
    finally:
        _local.waits = not waits
        _tell_sqlite(waits=not waits)


def _tell_sqlite(*, waits: bool) -> None:
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        # Past Django's cursor, whose bookkeeping would cost more than the setting itself.
        connection.ensure_connection()
        connection.connection.execute(f"PRAGMA synchronous={'FULL' if waits else 'NORMAL'}")
