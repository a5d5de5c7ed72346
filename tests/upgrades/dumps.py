"""The dumps of releases: how one is written, where they are, and how one is loaded."""

import base64
import hashlib
import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.utils.functional import cached_property
from django.utils.timezone import now

from crm_sync.secrets import encrypted_columns
from sandbox.app import Sandbox
from tests.journeys.rows import is_sqlite

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
KEY = base64.urlsafe_b64encode(b"a key of tests: it opens no door").decode()
RELEASED = re.compile(r"^## (\d+\.\d+\.\d+) — \d{4}-\d\d-\d\d$", re.MULTILINE)
OURS = ("crm_sync", "properties", "orders")
# No login, so that whoever loads it needs none; no COPY, so that any client can load it.
PG_DUMP = ("pg_dump", "--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=1000")


@dataclass(frozen=True)
class Dump:
    """A release in one kind of database: `0.1.0.sqlite.sql`, and beside it what is known of it.

    Beside it are, as JSON, when it was written, the secrets in it, the digests of the migrations of
    that release, and the state of the platform that it is connected to.
    """

    release: str
    vendor: str

    @property
    def sql(self) -> Path:
        return FOLDER / f"{self.release}.{self.vendor}.sql"

    @cached_property
    def beside(self) -> dict[str, Any]:
        return json.loads(self.sql.with_suffix(".json").read_text())

    @property
    def written_at(self) -> datetime:
        return datetime.fromisoformat(self.beside["written_at"])

    def write(self, box: Sandbox, folder: Path) -> None:
        """Write what the database of this test holds, without the name of its folder."""
        name = connection.settings_dict["NAME"]
        if self.vendor == "sqlite":
            with closing(sqlite3.connect(name)) as opened:
                lines = list(opened.iterdump())
        else:
            command = [*PG_DUMP, f"{os.environ['DATABASE_URL'].rpartition('/')[0]}/{name}"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            # Without comments, and the command for psql alone with which newer ones begin.
            found = done.stdout.splitlines()
            lines = [line for line in found if line and not line.startswith(("--", "\\"))]
        self.sql.write_text("\n".join([*lines, ""]).replace(str(folder), "/srv/feeds"))
        beside = {
            "written_at": now().isoformat(),
            "secrets": secrets(),
            "migrations": {str(path.relative_to(ROOT)): digest(path) for path in migrations()},
            "platform": box.workspace.to_json(),
        }
        self.sql.with_suffix(".json").write_text(json.dumps(beside, indent=1) + "\n")

    def load(self, url: str) -> None:
        """Let the database at this address hold the dump, and nothing else."""
        text = self.sql.read_text()
        if is_sqlite(url):
            path = Path(url.removeprefix("sqlite:///"))
            path.unlink()
            with closing(sqlite3.connect(path)) as opened:
                opened.executescript(text)
            return
        with psycopg.connect(url.replace("postgres:", "postgresql:"), autocommit=True) as opened:
            opened.execute("drop schema public cascade; create schema public")
            opened.execute(text)  # type: ignore[arg-type]


def releases() -> list[str]:
    """Return the versions that the changelog calls released, the newest first."""
    return RELEASED.findall((ROOT / "CHANGELOG.md").read_text())


def migrations() -> list[Path]:
    """Return the migrations of our apps."""
    return sorted(path for app in OURS for path in ROOT.glob(f"{app}/migrations/0*.py"))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def secrets() -> dict[str, list[str]]:
    """Return what can be read of each column with secrets, as it stands behind the encryption."""
    found = {}
    for model, name in encrypted_columns():
        values = sorted(map(str, model._default_manager.values_list(name, flat=True)))
        found[f"{model._meta.label}.{name}"] = [value for value in values if value]
    return {column: values for column, values in found.items() if values}


def keys() -> dict[str, set[Any]]:
    """Return the keys of the rows of each table."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            key = connection.introspection.get_primary_key_column(cursor, table)
            quoted = map(connection.ops.quote_name, (str(key), table))
            cursor.execute("SELECT {} FROM {}".format(*quoted))
            found[table] = {row[0] for row in cursor.fetchall()}
    return found


@contextmanager
def used(url: str) -> Iterator[None]:
    """Let this process work on another database for a while."""
    server = connection.settings_dict
    before = server["NAME"]
    connection.close()
    server["NAME"] = url.removeprefix("sqlite:///") if is_sqlite(url) else url.rpartition("/")[2]
    ContentType.objects.clear_cache()
    try:
        yield
    finally:
        connection.close()
        server["NAME"] = before
        ContentType.objects.clear_cache()


def tables_of_ours() -> list[Any]:
    """Return the models of our apps, those between two of them too."""
    return [
        model
        for app in OURS
        for model in apps.get_app_config(app).get_models(include_auto_created=True)
    ]
