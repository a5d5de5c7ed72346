"""A workspace that no call reaches, and people of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.work import turn
from properties.models import Sender
from tests.conftest import PLATFORM, TOKEN
from tests.properties.virtual import World, virtual_clock


@pytest.fixture
def main(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://platform.test")


@pytest.fixture
def agency(main) -> Sender:
    """Return a sender whose missing properties become private."""
    return Sender.objects.create(
        workspace=main, name="Agency", missing="SET_STATE", missing_state="PRIVATE"
    )


@pytest.fixture
def data_dir(settings, tmp_path) -> Path:
    """Return an empty folder for the files of imports."""
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def admin_user(db) -> User:
    """Return a person who may do all; without a password, which would take long to hash."""
    return User.objects.create(username="admin", is_staff=True, is_superuser=True)


@pytest.fixture
def viewer(db) -> Client:
    """Return the browser of a person who may look at properties, and nothing else."""
    user = User.objects.create(username="viewer", is_staff=True)
    codenames = ("view_property", "all_workspaces")
    user.user_permissions.add(*Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def world(box, db) -> Iterator[World]:
    """Return a platform and a worker on a virtual clock."""
    with virtual_clock() as clock:
        connected = Workspace.objects.create(slug="main", base_url=PLATFORM, fixed_token=TOKEN)
        yield World(box, connected, clock)


@pytest.fixture
def take_undos(main):
    """Let a worker do all undos of the workspace."""
    return lambda: turn.take(hooks.queue("undos"), main.pk, seconds=5.0)
