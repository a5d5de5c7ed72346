"""What has to survive a power cut, and what would simply be done again (docs/decisions/0006).

SQLite syncs the disk for each commit, one after the other; PostgreSQL syncs many at once. So the
threads of a crew commit without waiting for the disk, except where a power cut must not take it
back. The death of a process takes back nothing either way.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_local = threading.local()


def relax() -> None:
    """Let the commits of this thread's connection reach the disk with a later one."""
    if connection.vendor == "sqlite":
        _local.is_relaxed = True
        _synchronous("NORMAL")


@contextmanager
def relaxed() -> Iterator[None]:
    """Let the commits of this block reach the disk with a later one: what it loses comes again."""
    if connection.in_atomic_block:  # the commit is the caller's
        yield
        return
    if connection.vendor == "sqlite":
        to, back = "PRAGMA synchronous=NORMAL", "PRAGMA synchronous=FULL"
    else:
        to, back = "SET synchronous_commit = off", "RESET synchronous_commit"
    connection.ensure_connection()
    ours = connection.connection
    ours.execute(to)
    try:
        yield
    finally:
        if connection.connection is ours:  # a new one is not relaxed
            ours.execute(back)


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
