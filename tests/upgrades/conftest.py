"""A day of the past, a key of its own, and databases as a release left them."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from django.test import override_settings
from django_celery_beat.models import PeriodicTask

from tests.databases import Origin, in_memory, origin
from tests.upgrades.dumps import KEY, Dump, keys, releases, used

ODD = "unknown event 'A_NEW_ONE'"
DAY_AFTER = timedelta(days=1)
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


@dataclass(frozen=True)
class Upgraded:
    """An installation of a release after `migrate`, and what was in it before."""

    dump: Dump
    keys: dict[str, set[Any]]  # of each table; without the schedules that are rows of ours now
    timelines: dict[int, list[str]]  # each line: fact, source, previous, new
    odd: int  # the received event that no release understands, made stuck with the cause ODD
    migrated: Origin


@pytest.fixture(scope="module", params=releases())
def upgraded(
    request, django_db_setup: Origin, django_db_blocker, tmp_path_factory
) -> Iterator[Upgraded]:
    """Migrate the database of a release on the day after it was written, once for all tests."""
    one = Dump(request.param, connection.vendor)
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        stack.enter_context(override_settings(SECRET_KEYS_AT_REST=[KEY]))
        folder = stack.enter_context(in_memory(tmp_path_factory.mktemp("upgraded")))
        url = stack.enter_context(django_db_setup.copy(folder))
        one.load(url)
        with used(url), time_machine.travel(one.written_at + DAY_AFTER):
            odd, lines, rows = _made_odd(), _timelines(), _keys()
            call_command("migrate", verbosity=0)
            found = Upgraded(one, rows, lines, odd, origin())
    yield found
    with django_db_blocker.unblock():
        found.migrated.close()


@pytest.fixture
def upgrade(upgraded: Upgraded, transactional_db, tmp_path) -> Iterator[Upgraded]:
    """Work on a copy of that database, on the same day."""
    tomorrow = time_machine.travel(upgraded.dump.written_at + DAY_AFTER)
    copied = upgraded.migrated.copy
    with in_memory(tmp_path) as folder, copied(folder) as url, used(url), tomorrow:
        yield upgraded


def _made_odd() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select max(id) from crm_sync_receivedevent where cause = ''")
        (key,) = cursor.fetchone()
        cursor.execute(
            "update crm_sync_receivedevent set state = 'QUARANTINED', cause = %s, due_at = null,"
            " canonical_digest = '' where id = %s",
            [ODD, key],
        )
    return key


def _keys() -> dict[str, set[Any]]:
    found = keys()
    schedules = PeriodicTask.objects.filter(task__startswith="properties.")
    found[PeriodicTask._meta.db_table] -= set(schedules.values_list("pk", flat=True))
    return found


def _timelines() -> dict[int, list[str]]:
    with connection.cursor() as cursor:
        cursor.execute("select id, fact, source, previous, new from orders_statuschange")
        return {key: line for key, *line in cursor.fetchall()}
