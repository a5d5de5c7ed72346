"""Fresh databases for the benchmarks: copies of one that is migrated once in a run.

To migrate takes about as long as most of what is measured.
"""

import atexit
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from lab.benchmarks.figures import skipped
from tests.databases import copy_database, drop_database
from tests.postgresql import URL

ROOT = Path(__file__).parents[2]
SERVER = URL.rpartition("/")[0]
KINDS = ("SQLite", "PostgreSQL")


def databases() -> Iterator[tuple[str, str]]:
    """Yield the name and the address of a fresh database of each kind; say what is not there."""
    with sqlite() as url:
        yield "SQLite", url
    try:
        admin = psycopg.connect(URL, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError:
        skipped("PostgreSQL", "there is none at TEST_DATABASE_URL")
        return
    name = f"bench_{os.getpid()}"
    with admin:
        copy_database(admin, name, template=_migrated())
        try:
            yield "PostgreSQL", f"{SERVER}/{name}"
        finally:
            drop_database(admin, name)


@contextmanager
def sqlite() -> Iterator[str]:
    """Yield the address of a fresh database of SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db.sqlite3"
        path.write_bytes(_image())
        yield f"sqlite:///{path}"


def migrate(url: str) -> None:
    """Make the tables of an empty database."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"DATABASE_URL": url, "DATA_DIR": folder}
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)


@functools.cache
def _image() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db.sqlite3"
        migrate(f"sqlite:///{path}")
        return path.read_bytes()


@functools.cache
def _migrated() -> str:
    """Migrate a database of PostgreSQL that is there until this process ends; its name."""
    name = f"bench_{os.getpid()}_migrated"
    admin = psycopg.connect(URL, autocommit=True)
    copy_database(admin, name, template="template1")
    atexit.register(drop_database, admin, name)
    migrate(f"{SERVER}/{name}")
    return name
