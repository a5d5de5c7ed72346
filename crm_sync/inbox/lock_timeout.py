"""Limits how long a callback waits for the lock of SQLite: the platform wants an answer (I25)."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

PATIENCE = 1.5  # seconds; with the rest of a callback, the answer takes less than two


@contextmanager
def short() -> Iterator[None]:
    """Wait no longer than `PATIENCE` for the write lock of SQLite, within a `with` block.

    On PostgreSQL a row is added beside other writers, and `lock_timeout` ends any long wait.

    Raises:
        OperationalError: the lock was held for the whole time, or the database cannot be opened.
    """
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    _wait(PATIENCE)
    try:
        yield
    finally:
        if connection.connection is not None:  # the pages of the admin use it next
            _wait(connection.settings_dict["OPTIONS"].get("timeout", 5.0))


def _wait(seconds: float) -> None:
    connection.connection.execute(f"PRAGMA busy_timeout={seconds * 1000:.0f}")
