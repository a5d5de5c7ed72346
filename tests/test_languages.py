"""The pages that are whole in every language: in a pseudo-language, each text is in brackets.

A page is added here when its last text is translated; the others are English so far (decision 29).
"""

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import trans_real

from orders.models import PersonSettings
from tests.crm_sync.admin_pages import client_of, let_processes_run
from tests.pseudo import CODE, catalogues, longer, untranslated
from tests.rows_of_pages import fill

WHOLE = ["/admin/", "/admin/orders/personsettings/mine/"]


@pytest.fixture(scope="module")
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


# Data and names, which no language changes.
NAMES = ("CRM sync", "English", "user-0", "https://platform.test", "UTC")


@pytest.mark.parametrize("is_filled", [False, True])
@pytest.mark.parametrize("page", WHOLE)
def test_each_text_of_the_page_is_translated(reader, page, is_filled):
    if is_filled:
        fill(timezone.now())
    response = reader.get(page)
    assert response.status_code == 200
    found = untranslated(response.content.decode(), NAMES)
    assert found == []


def test_a_text_that_is_not_translated_is_named():
    page = (
        f"<html><body><p>{longer('Save')} now</p><b title='Close'>{longer('a')}</b></body></html>"
    )
    assert untranslated(page) == ["now", "Close"]
