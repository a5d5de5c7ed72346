"""A database for the processes of a journey."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest


@pytest.fixture
def database_url(tmp_path: Path) -> Iterator[str]:
    """Give the processes a database of their own, of the kind that the suite runs on."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield f"sqlite:///{tmp_path / 'db.sqlite3'}"
        return
    server, name = url.rpartition("/")[0], f"journey_{uuid.uuid4().hex[:12]}"
    admin = psycopg.connect(url.replace("postgres://", "postgresql://"), autocommit=True)
    admin.execute(f"create database {name}")
    yield f"{server}/{name}"
    admin.execute(f"drop database {name} with (force)")
    admin.close()
