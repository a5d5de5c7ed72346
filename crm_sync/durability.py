"""Whether a commit must survive a power cut, or its work would be repeated (decision 6).

In a turn of a worker a commit does not wait for the disk, unless a power cut must not undo it. The
death of a process undoes no commit in either case.
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
    """In this block, claims and endings of rows do not wait for the disk.

    If a power cut undoes some of them, they are repeated. Other commits still wait.
    """
    with _set(waits=False):
        yield


@contextmanager
def durable() -> Iterator[None]:
    """In this block, claims and endings of rows wait for the disk."""
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
            # Only for this transaction: a pool may give the connection to another thread.
            connection.connection.execute("SET LOCAL synchronous_commit = off")
        yield


@contextmanager
def lazily() -> Iterator[None]:
    """On SQLite, let the commit of this block reach the disk with a later one.

    On PostgreSQL the statement itself sets this (`fast_sql.NOT_WAITED_FOR`). Inside a transaction
    the caller commits.
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
    """Return the block for a claim or an ending on SQLite: lazy unless this thread waits."""
    return nullcontext() if _local.waits else lazily()


def _synchronous(how: str) -> None:
    # Without Django's cursor, whose bookkeeping would cost more than the setting itself.
    connection.ensure_connection()
    connection.connection.execute(f"PRAGMA synchronous={how}")
