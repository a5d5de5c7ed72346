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
