"""While another writer holds the database, a callback is not kept waiting (I15, I25)."""

import time

import pytest
from django.db import connection
from django.test import Client

from crm_sync.models import ReceivedEvent, Workspace
from tests.crm_sync.locking import held_by_another

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hook(db, settings) -> Workspace:
    settings.ALLOWED_HOSTS = ["testserver"]
    return Workspace.objects.create(slug="main", base_url="http://x.test", auth_secret="s")


def call(workspace: Workspace) -> tuple[int, float]:
    """Call with the right secret; return the status and how long the answer took."""
    began = time.monotonic()
    address = f"/webhooks/{workspace.uuid}/"
    response = Client().post(address, b"{}", "application/json", headers={"X-API-Key": "s"})
    return response.status_code, time.monotonic() - began


@pytest.mark.rule("I25")
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has its lock_timeout")
@pytest.mark.parametrize("is_first", [True, False], ids=["the first call", "a later call"])
def test_with_a_locked_database_the_503_comes_in_under_two_seconds(hook, is_first):
    if not is_first:
        assert call(hook)[0] == 200
    with held_by_another("crm_sync_receivedevent"):
        connection.close()
        status, seconds = call(hook)
    assert (status, seconds < 2.0) == (503, True)
    assert ReceivedEvent.objects.count() == int(not is_first)
    assert call(hook)[0] == 200


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has its lock_timeout")
def test_after_a_callback_the_pages_wait_as_long_as_the_settings_say(hook):
    seconds = connection.settings_dict["OPTIONS"]["timeout"]
    assert call(hook)[0] == 200
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (seconds * 1000,)


def test_a_callback_waits_for_a_short_writer_and_is_stored(hook):
    with held_by_another("crm_sync_receivedevent", seconds=0.5):
        assert call(hook)[0] == 200
    assert ReceivedEvent.objects.count() == 1
