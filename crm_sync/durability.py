"""What has to survive a power cut, and what would simply be done again (docs/decisions/0006).

SQLite syncs the disk for each commit, one after the other; PostgreSQL syncs many at once. So the
threads of a crew commit without waiting for the disk, except where a power cut must not take it
back. The death of a process takes back nothing either way.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

_local = threading.local()


def relax() -> None:
    """Let the commits of this thread's connection reach the disk with a later one."""
    if connection.vendor == "sqlite":
        _local.is_relaxed = True
        _synchronous("NORMAL")


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
    if not getattr(_local, "is_relaxed", False):
        yield
        return
    _synchronous("FULL")
    try:
        yield
    finally:
        _synchronous("NORMAL")


def _synchronous(how: str) -> None:
    # Past Django's cursor, whose bookkeeping would cost more than the setting itself.
    connection.ensure_connection()
    connection.connection.execute(f"PRAGMA synchronous={how}")
