"""Somebody else holds what every write needs, for as long as a test wants."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections, transaction

LOCK = "LOCK TABLE {} IN ACCESS EXCLUSIVE MODE"  # SQLite has one lock for all writers


@contextmanager
def held_by_another(table: str, *, seconds: float = 30.0) -> Iterator[None]:
    """Hold the write lock of SQLite, or of a table of PostgreSQL, at most so long."""
    has_it, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                if connection.vendor == "postgresql":
                    with connection.cursor() as cursor:
                        cursor.execute(LOCK.format(connection.ops.quote_name(table)))
                has_it.set()
                let_go.wait(seconds)
        finally:
            connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert has_it.wait(10)
        yield
    finally:
        let_go.set()
        thread.join()
