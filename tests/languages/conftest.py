"""A person who reads the pseudo-language: each translated text of a page is in brackets."""

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import trans_real

from orders.models import PersonSettings
from tests.crm_sync.admin_pages import client_of, let_processes_run
from tests.languages.pseudo import CODE, catalogues, longer


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return catalogues(tmp_path_factory.mktemp("locale"))


@pytest.fixture
def reader(db, settings, folder) -> Client:
    """Return a client whose person reads the pseudo-language."""
    settings.LOCALE_PATHS = [folder]
    settings.LANGUAGES = [("en", "English"), (CODE, longer("Pseudo"))]
    trans_real._translations.clear()
    let_processes_run(timezone.now())
    client = client_of(superuser=True)
    PersonSettings.objects.create(person_id=client.session["_auth_user_id"], language=CODE)
    yield client
    trans_real._translations.clear()
