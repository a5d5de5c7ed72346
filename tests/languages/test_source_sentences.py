"""What a worker stores about sources, drift and holds is read in the language of the reader."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone, translation
from lxml import html

from crm_sync.models import Workspace
from orders.models import PersonSettings
from properties.models import Fetch, Sender, Source
from properties.sources import source_mail
from tests.crm_sync.admin_pages import client_of, let_processes_run, make_workspace
from tests.properties.sources.test_worker import look

SOURCES = "/admin/properties/source/"


@pytest.fixture
def german(db, settings) -> Client:
    """Return a client whose person reads German."""
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    let_processes_run(timezone.now())
    client = client_of(superuser=True)
    PersonSettings.objects.create(person_id=client.session["_auth_user_id"], language="de")
    return client


@pytest.fixture
def main(german) -> Workspace:
    return make_workspace("main")


@pytest.fixture
def agency(main) -> Sender:
    return Sender.objects.create(workspace=main, name="Agentur")


def shown(response: Any) -> str:
    """Return the texts of a page, each after one space."""
    assert response.status_code == 200
    return " ".join(html.fromstring(response.content.decode()).text_content().split())


def source(agency: Sender, address: str, **columns: Any) -> Source:
    usual = {"address": address, "due_at": timezone.now()}
    return Source.objects.create(workspace=agency.workspace, sender=agency, **(usual | columns))


# --- sources ---
def test_why_a_feed_could_not_be_fetched_is_in_the_language_of_the_reader(
    agency, german, settings, tmp_path
):
    settings.DATA_DIR, settings.SOURCE_FOLDERS = tmp_path / "data", [str(tmp_path)]
    row = source(agency, f"{tmp_path}/nothing.xml")
    assert look(row) == "refused"
    page = shown(german.get(f"{SOURCES}{row.pk}/change/"))
    assert "es gibt keine solche Datei und keinen solchen Ordner" in page
    assert "Es gibt keine solche Datei und keinen solchen Ordner" in page
    stored = Source.objects.get(pk=row.pk).problem
    assert stored == "there is no such file or folder"
    overview = shown(german.get("/admin/"))
    assert "Feed von Agentur: es gibt keine solche Datei und keinen solchen Ordner" in overview


def test_a_mail_about_a_source_is_in_one_language(agency, tmp_path, settings):
    settings.DATA_DIR, settings.SOURCE_FOLDERS = tmp_path / "data", [str(tmp_path)]
    row = source(agency, f"{tmp_path}/nothing.xml")
    look(row)
    with translation.override("de"):
        written = source_mail.written(Fetch.objects.get(source=row), ["a@b.test"])
    assert "Es gibt keine solche Datei und keinen solchen Ordner." in written.body


def test_an_address_is_refused_in_the_language_of_the_reader(agency, german):
    posted = {"sender": agency.pk, "address": "gopher://1.2", "sign_in": "PASSWORD"}
    page = shown(german.post(f"{SOURCES}add/", posted))
    text = "Die Adresse beginnt mit keinem von https, http, sftp, ftps, ftp und nicht mit einem"
    assert f"{text} Schrägstrich." in page


def test_that_nothing_new_comes_is_in_the_language_of_the_reader(agency, german):
    row = source(agency, "https://feeds.test", expect_hours=24)
    Source.objects.filter(pk=row.pk).update(
        set_at=timezone.now() - timedelta(hours=1500, minutes=1)
    )
    page = shown(german.get(f"{SOURCES}{row.pk}/change/"))
    assert "seit 1.500 Stunden nichts Neues; erwartet wird etwas innerhalb von 24 h" in page
