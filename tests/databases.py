"""Databases for the processes that a test starts, each as the migrations leave one.

They are copies of the suite's own, taken before its first test: to migrate anew takes seconds.
"""

import functools
import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any

import psycopg
from django.db import connection, transaction

ROOT = Path(__file__).resolve().parents[1]
MEMORY = Path("/dev/shm")
MIGRATED = {"django_migrations", "django_content_type", "auth_permission"}  # what migrations fill

Rows = dict[str, list[tuple[Any, ...]]]  # of each table, as the database gives and takes them


class SqliteOrigin:
    """The image of a migrated database."""

    def __init__(self) -> None:
        connection.ensure_connection()
        self.image: bytes = connection.connection.serialize()

    @contextmanager
    def copy(self, folder: Path) -> Iterator[str]:
        """Write a copy into the folder; its URL."""
        path = folder / "db.sqlite3"
        path.write_bytes(self.image)
        yield f"sqlite:///{path}"

    def save(self, path: Path) -> None:
        """Save the image for later runs, in place of those of other migrations."""
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob("*.sqlite3"):
            if old != path:  # else it is that of another worker of this run, who may be reading it
                old.unlink(missing_ok=True)
        with NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(self.image)
        Path(file.name).replace(path)

    def close(self) -> None:
        """Nothing is left of it."""


class PostgresqlOrigin:
    """A migrated database that nobody is connected to, else it could not be copied."""

    def __init__(self) -> None:
        migrated = connection.settings_dict["NAME"]
        connection.close()
        self.server = os.environ["DATABASE_URL"].rpartition("/")[0]
        self.admin = psycopg.connect(f"{self.server}/postgres", autocommit=True)
        self.name = f"{migrated}_origin"
        copy_database(self.admin, self.name, template=migrated)

    @contextmanager
    def copy(self, folder: Path) -> Iterator[str]:
        """Make a copy for as long as it is needed; its URL."""
        name = f"journey_{uuid.uuid4().hex[:12]}"
        copy_database(self.admin, name, template=self.name)
        yield f"{self.server}/{name}"
        drop_database(self.admin, name)

    def close(self) -> None:
        drop_database(self.admin, self.name)
        self.admin.close()


def copy_database(admin: psycopg.Connection, name: str, *, template: str) -> None:
    """Make a database of PostgreSQL that is like the template, in place of one of that name."""
    drop_database(admin, name)
    admin.execute(f"create database {name} template {template}")


def drop_database(admin: psycopg.Connection, name: str) -> None:
    """Remove a database of PostgreSQL, whoever is connected to it."""
    admin.execute(f"drop database if exists {name} with (force)")


Origin = SqliteOrigin | PostgresqlOrigin


@functools.cache
def migrated_image() -> Path:
    """Return where the image of a migrated SQLite database is saved between two runs.

    To migrate takes most of the time of a run of one test. The name holds a digest of all that the
    tables and their first rows are made from.
    """
    digest = hashlib.sha256()
    models = (path for part in ("migrations", "models") for path in ROOT.glob(f"*/{part}/*.py"))
    for path in [*sorted(models), ROOT / "requirements.txt", ROOT / "config" / "settings.py"]:
        digest.update(path.name.encode() + path.read_bytes())
    return ROOT / ".pytest_cache" / "migrated" / f"{digest.hexdigest()[:16]}.sqlite3"


def origin() -> Origin:
    """Keep what the database of the suite is like now."""
    return SqliteOrigin() if connection.vendor == "sqlite" else PostgresqlOrigin()


@contextmanager
def in_memory(folder: Path) -> Iterator[Path]:
    """Give a folder whose files wait for no disk, where the machine has one; else that folder.

    No test cuts the power, and a process that is killed leaves the same in both.
    """
    if not os.access(MEMORY, os.W_OK):
        yield folder
        return
    with TemporaryDirectory(dir=MEMORY) as made:
        yield Path(made)


def filled() -> Rows:
    """Return what the migrations wrote into tables that tests may write too: the schedules."""
    with connection.cursor() as cursor:
        found: Rows = {}
        for name in _used():
            cursor.execute(f"SELECT * FROM {name}")
            if rows := cursor.fetchall():
                found[name] = rows
    return found


def empty(but: Rows) -> None:
    """Leave no row but those of the migrations, after a test that committed.

    Django truncates each table and fills it anew: a second of PostgreSQL's time for each test.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        for name in _used():
            cursor.execute(f"DELETE FROM {name}")
        for name, rows in but.items():
            values = ", ".join(["%s"] * len(rows[0]))
            cursor.executemany(f"INSERT INTO {name} VALUES ({values})", rows)


def _used() -> list[str]:
    names = connection.introspection.table_names()
    return [connection.ops.quote_name(name) for name in names if name not in MIGRATED]
