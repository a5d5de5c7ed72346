"""The threads of a worker write to SQLite one after the other; none of them meets its lock."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from django.db import OperationalError, connection

from crm_sync.sqlite3.base import DatabaseWrapper
from tests.together import together

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="it is SQLite's"),
]
Connect = Callable[[], DatabaseWrapper]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    """Connect to a database of which SQLite says at once that it is locked."""
    options = {"timeout": 0, "transaction_mode": "IMMEDIATE"}
    settings = {**connection.settings_dict, "NAME": tmp_path / "db", "OPTIONS": options}
    with closing(sqlite3.connect(tmp_path / "db")) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE line (number INTEGER)")
    return lambda: DatabaseWrapper(settings, alias="line")


@contextmanager
def transaction(one: DatabaseWrapper) -> Iterator[None]:
    one.ensure_connection()
    one.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    try:
        yield
        one.commit()
    finally:
        one.rollback()
        one.set_autocommit(True)


def insert(one: DatabaseWrapper) -> None:
    with one.cursor() as cursor:
        cursor.execute("INSERT INTO line VALUES (1)")


def count(one: DatabaseWrapper) -> int:
    with one.cursor() as cursor:
        return cursor.execute("SELECT count(*) FROM line").fetchone()[0]


def test_writes_with_and_without_a_transaction_wait_for_each_other(connect):
    def work() -> None:
        with closing(connect()) as mine:
            for _ in range(10):
                insert(mine)
                with transaction(mine):
                    insert(mine)
                    time.sleep(0.001)

    together(work, workers=8)
    with closing(connect()) as one:
        assert count(one) == 160


def test_whoever_only_reads_waits_for_nobody(connect):
    with closing(connect()) as writer, closing(connect()) as reader, transaction(writer):
        insert(writer)
        assert count(reader) == 0


@pytest.mark.parametrize("end", ["rollback", "close"])
def test_what_ends_a_transaction_lets_the_next_one_write(connect, end):
    with closing(connect()) as one, closing(connect()) as other:
        one.ensure_connection()
        one.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        insert(one)
        getattr(one, end)()
        insert(other)
        assert count(other) == 1


def test_another_process_that_writes_leaves_nobody_in_the_line(connect, tmp_path):
    with closing(connect()) as one, closing(connect()) as other:
        with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as stranger:
            stranger.execute("BEGIN IMMEDIATE")
            for write in (transaction(one).__enter__, lambda: insert(one)):
                with pytest.raises(OperationalError, match="locked"):
                    write()
        insert(other)
        assert count(other) == 1
