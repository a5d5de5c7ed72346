"""What has to survive a power cut, and what would simply be done again (decision 6).

In a turn of a worker a commit does not wait for the disk, except where a power cut must not take it
back. The death of a process takes back nothing either way.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from django.db import connection, transaction


class _Local(threading.local):
    waits = True


_local = _Local()


def waits() -> bool:
    """Return whether a commit of this thread has to wait for the disk now."""
    return _local.waits


@contextmanager
def working() -> Iterator[None]:
    """Do not wait for the disk in the claims and endings of rows in this block.

    If a power cut takes some of them back, they are done again. Other commits still wait.
    """
    with _set(waits=False):
        yield


@contextmanager
def durable() -> Iterator[None]:
    """Wait for the disk in the claims and endings of this block."""
    with _set(waits=True):
        yield


@contextmanager
def _set(*, waits: bool) -> Iterator[None]:
    before, _local.waits = _local.waits, waits
    try:
        yield
    finally:
        _local.waits = before


@contextmanager
def relaxed() -> Iterator[None]:
    """Run the block in a transaction whose commit reaches the disk with a later one.

    Use it only for work that is repeated by itself after a power cut. Inside another transaction
    the caller commits.
    """
    is_inner = connection.in_atomic_block
    with lazily(), transaction.atomic():
        if connection.vendor == "postgresql" and not is_inner:
            # For this transaction alone: a pool may give the connection to somebody else.
            connection.connection.execute("SET LOCAL synchronous_commit = off")
        yield


@contextmanager
def lazily() -> Iterator[None]:
    """On SQLite, let the commit of this block reach the disk with a later one.

    PostgreSQL is told with the statement (`fast_sql.NOT_WAITED_FOR`). Inside a transaction the
    commit is the caller's.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    _synchronous("NORMAL")
    try:
        yield
    finally:
        _synchronous("FULL")


def of_ending() -> AbstractContextManager[None]:
    """Have an ending or a claim on SQLite wait for the disk or not, as this thread does."""
    return nullcontext() if _local.waits else lazily()


def _synchronous(how: str) -> None:
    # Past Django's cursor, whose bookkeeping would cost more than the setting itself.
    connection.ensure_connection()
    connection.connection.execute(f"PRAGMA synchronous={how}")
