"""What a worker stores about sources, drift and holds is read in the language of the reader."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation
from lxml import html

from crm_sync.models import Hold, Workspace, hold
from crm_sync.platform.errors import ErrorKind, Problem
from crm_sync.sentence import sentence
from properties.drift.findings import DriftVerdict, entry
from properties.models import DriftCheck, Fetch, Property, Sender, Source
from properties.sources import source_mail
from tests.crm_sync.admin_pages import make_workspace
from tests.problems import noted
from tests.properties.sources.test_worker import look

SOURCES, WORKSPACES = "/admin/properties/source/", "/admin/crm_sync/workspace/"


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
    assert "Seit 1.500 Stunden nichts Neues; erwartet wird etwas innerhalb von 24 h" in page


# --- drift ---
def test_why_a_check_ended_and_what_it_could_not_compare_is_in_the_language_of_the_reader(
    main, german
):
    slow = Problem("GET /v1/properties/1: no answer in time", ErrorKind.SLOW)
    kept = entry(1, "R-1", DriftVerdict.FAILED, [], error=slow)
    stopped = sentence("the time of one run was up")
    check = DriftCheck.objects.create(workspace=main, kind="SAMPLE", found=[kept], stopped=stopped)
    page = shown(german.get(f"/admin/properties/driftcheck/{check.pk}/change/"))
    assert "Vorzeitig beendet: die Zeit eines Laufs war um" in page
    assert "Die Plattform hat nicht rechtzeitig geantwortet." in page


# --- a workspace ---
@pytest.mark.parametrize(
    ("typed", "text"),
    [
        (
            {"slug": "a b"},
            "Ein Name besteht nur aus Buchstaben, Ziffern, Bindestrichen und Unterstrichen.",
        ),
        ({"base_url": "https://u@x.test"}, "Die Adresse enthält einen Benutzernamen."),
        ({"base_url": "https://x.test?a"}, "Die Adresse enthält eine Abfrage hinter einem ?."),
        ({"base_url": "x"}, "Die Adresse ist keine http(s)-Adresse."),
        (
            {"base_url": "http://example.com"},
            "Das Token würde unverschlüsselt gesendet: die Adresse muss mit https:// beginnen.",
        ),
    ],
)
def test_a_workspace_is_refused_in_the_language_of_the_reader(german, typed, text):
    usual = {"slug": "neu", "base_url": "https://x.test", "token": "t"}
    assert text in shown(german.post(f"{WORKSPACES}add/", usual | typed))


def test_the_history_of_a_new_workspace_is_in_the_language_of_the_reader(german):
    typed = {"slug": "neu", "base_url": "https://x.test", "token": "t", "unchecked": "on"}
    german.post(f"{WORKSPACES}add/", typed)
    row = Workspace.objects.get()
    history = shown(german.get(f"{WORKSPACES}{row.pk}/history/"))
    assert "Zugangsdaten: festes Token, bei https://x.test." in history


# --- holds ---
def test_what_is_noted_of_a_pause_is_in_the_language_of_the_reader(main, german):
    tab = f"{WORKSPACES}{main.pk}/pause/"
    kinds = ["pushes", "orders", "files"]
    page = german.post(tab, {"step": "pause", "kinds": kinds, "reason": "x"}, follow=True)
    noted_ = "Von einer Person angehalten: Änderungen, Aufträge und Dateien. x"
    assert noted_ in shown(page)
    german.post(tab, {"step": "resume", "kind": ["pushes"]})
    history = shown(german.get(f"{WORKSPACES}{main.pk}/history/"))
    assert noted_ in history
    assert "Fortgesetzt: Änderungen." in history
    assert noted() == [
        "Held by a person: changes, orders and files. x",
        "Resumed: changes.",
    ]


def test_why_a_new_workspace_was_held_is_in_the_language_of_the_reader(main, german):
    tab = f"{WORKSPACES}{main.pk}/pause/"
    hold.watch_only(main.pk, now=timezone.now())
    seen = hold.seen_as(hold.first_plan(main.pk))
    german.post(tab, {"step": "go", "seen": seen})
    page = shown(german.get(tab))
    assert "neu auf einer echten Plattform" in page
    assert Hold.objects.first().reason == "new on a live platform"


# --- matching ---
def test_what_is_noted_of_matching_is_in_the_language_of_the_reader(main, german):
    row = Property.objects.create(workspace=main, object_reference_id="R-1", none_there=True)
    address = f"/admin/properties/property/match/{main.pk}/"
    page = german.post(address, {"again": row.pk}, follow=True)
    assert "Erneut verglichen: 1 Objekt." in shown(page)
    assert "Erneut verglichen: 1 Objekt." in shown(german.get(f"{WORKSPACES}{main.pk}/history/"))


# --- owners ---
@pytest.mark.parametrize(
    ("key", "english", "german_name"),
    [
        ("numberOfRooms", "number of rooms", "Anzahl Zimmer"),
        ("prices.rent", "rent", "Miete"),
        ("prices", "prices, all its fields", "Preise, alle Felder"),
        ("group:Core", "General", "Allgemein"),
        (
            "group:Others",
            "Fields that this app does not know",
            "Felder, die diese Anwendung nicht kennt",
        ),
    ],
)
def test_who_owns_a_field_is_noted_in_the_language_of_the_reader(
    main, german, key, english, german_name
):
    german.post(f"/admin/properties/property/owners/{main.pk}/", {"key": key, "owner": "theirs"})
    assert noted() == [f"Owner of {english}: The platform owns it. It was: By the conflict policy."]
    history = shown(german.get(f"{WORKSPACES}{main.pk}/history/"))
    text = "Die Plattform. Vorher: Nach der Regel für Konflikte."
    assert f"Eigentümerschaft von «{german_name}»: {text}" in history
