"""People who read German, and the pseudo-language: each translated text is in brackets."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import PersonSettings
from tests.crm_sync.admin_pages import client_of, let_processes_run
from tests.languages.pseudo import CODE, catalogues, offered


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return catalogues(tmp_path_factory.mktemp("locale"))


@pytest.fixture
def reader(db, settings, folder) -> Iterator[Client]:
    """Return a client whose person reads the pseudo-language."""
    with offered(settings, folder):
        yield _reading(CODE)


@pytest.fixture
def german(db, settings) -> Client:
    """Return a client whose person reads German."""
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    return _reading("de")


def _reading(language: str) -> Client:
    let_processes_run(timezone.now())
    client = client_of(superuser=True)
    PersonSettings.objects.create(person_id=client.session["_auth_user_id"], language=language)
    return client
