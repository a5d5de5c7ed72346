"""The database of an installation, asked past Django: what another process really left there."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite")


def connect(url: str) -> Any:
    """Open a connection that commits each statement."""
    if is_sqlite(url):
        path = url.removeprefix("sqlite:///")
        return sqlite3.connect(path, timeout=20, isolation_level=None, check_same_thread=False)
    return psycopg.connect(url.replace("postgres://", "postgresql://"), autocommit=True)


def ask(url: str, query: str) -> list[tuple[Any, ...]]:
    with closing(connect(url)) as connection:
        return list(connection.execute(query).fetchall())


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Hold what every INSERT of a delivery needs."""
    with closing(connect(url)) as connection:
        if is_sqlite(url):
            connection.execute("begin immediate")
        else:
            connection.execute("begin")
            connection.execute("lock table crm_sync_receivedevent in access exclusive mode")
        try:
            yield
        finally:
            connection.execute("rollback")


def everything(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables."""
    tables = "select name from sqlite_master where type = 'table'"
    if not is_sqlite(url):
        tables = "select tablename from pg_tables where schemaname = 'public'"
    return {
        name: sorted(ask(url, f'select * from "{name}"'), key=repr) for (name,) in ask(url, tables)
    }


# A statement that takes minutes.
_SLOW = "select count(*) from " + ", ".join(f"auth_permission as p{n}" for n in range(6))


@contextmanager
def standing(url: str, table: str) -> Iterator[None]:
    """Let each INSERT into a table stand still in its transaction; the process has to be killed."""
    with closing(connect(url)) as connection:
        if is_sqlite(url):
            connection.execute(f"create trigger stand before insert on {table} begin {_SLOW}; end")
        else:
            connection.execute(
                "create function stand() returns trigger language plpgsql as"
                " 'begin perform pg_sleep(60); return new; end'"
            )
            connection.execute(
                f"create trigger stand before insert on {table} for each row"
                " execute function stand()"
            )
        try:
            yield
        finally:
            if is_sqlite(url):
                connection.execute("drop trigger stand")
            else:  # a server notices only after the statement that its client is gone
                connection.execute(f"select pg_terminate_backend(pid) {_SLEEPERS}")
                connection.execute("drop function stand cascade")


_SLEEPERS = "from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"


def stands(url: str) -> bool:
    """Return whether a process stands still in an INSERT (`standing`)."""
    if not is_sqlite(url):
        return ask(url, f"select count(*) {_SLEEPERS}") != [(0,)]
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=1)) as connection:
        try:
            connection.execute("begin immediate")
        except sqlite3.OperationalError:  # for a whole second
            return True
        return False
