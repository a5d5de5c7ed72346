"""A day of the past, a key of its own, and databases as a release left them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection

from tests.conftest import NewDatabase
from tests.databases import in_memory
from tests.upgrades.dumps import KEY, Dump, used

DAY = datetime(2026, 11, 23, 8, tzinfo=UTC)


@pytest.fixture(autouse=True)
def installation(settings, tmp_path) -> None:
    settings.SECRET_KEYS_AT_REST = [KEY]
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    settings.SOURCE_FOLDERS = [str(tmp_path)]
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture
def day() -> Iterator[None]:
    with time_machine.travel(DAY):
        yield


@pytest.fixture
def dump(request, new_database: NewDatabase, tmp_path) -> Iterator[Dump]:
    """Work on the database of a release, not migrated yet, on the day after it was written."""
    one = Dump(request.param, connection.vendor)
    tomorrow = one.written_at + timedelta(days=1)
    with in_memory(tmp_path) as folder, new_database(folder) as url:
        one.load(url)
        with used(url), time_machine.travel(tomorrow):
            yield one
