"""Imports, sources, senders and drift checks: their pages have no text that is not translated.

What others wrote (errors of a fetch, cells of a file) is digits here.
"""

from datetime import time, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone, translation

from crm_sync.hooks import queue
from crm_sync.models import Workspace
from crm_sync.security import login
from crm_sync.sentence import sentence
from crm_sync.work import turn
from orders.models import PersonSettings
from orders.people.language_of_person import languages_of
from properties.domain.change_selection import ChangeSelection
from properties.imports.report import NAMES as OUTCOME_NAMES
from properties.models import (
    Change,
    DeliveredFile,
    DriftCheck,
    Fetch,
    Import,
    Property,
    Sender,
    Source,
    Undo,
)
from properties.models.change import Cause
from properties.models.import_ import ImportState as State
from properties.sources import source_mail
from properties.sources.fetch.sftp import fingerprint
from tests.crm_sync.admin_pages import make_workspace
from tests.languages.pseudo import CODE, NAMES, untranslated

IMPORTS, SOURCES = "/admin/properties/import/", "/admin/properties/source/"
SENDERS, CHECKS = "/admin/properties/sender/", "/admin/properties/driftcheck/"
LISTS = (IMPORTS, SOURCES, SENDERS, CHECKS)
FORMS = (IMPORTS, SOURCES, SENDERS)
# Commands, names of formats and of columns, and examples of data.
OWN = (
    *(*NAMES, "manage.py import_properties main stock.xml --dry-run", "manage.py drift main"),
    "manage.py import_properties",
    *("Excel", "CSV", "title", "· de ·", "· fr ·", "· it ·", "· en ·"),
    *("https://", "http://", "sftp://", "ftp://"),
)
NOTES = ("Released.", "Cancelled.", "Fetched by hand.")  # stored in the history, in English
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TOLD = sentence("Nobody released it for %(days)s days.", days=7)
COUNTS = dict.fromkeys(OUTCOME_NAMES, 1234) | {"aside": 1234, "doubles": 1234, "missing": 1234}
SUMMARY: dict[str, Any] = {
    "counts": COUNTS,
    "new": ["1"],
    "missing": ["1", "2"],
    "exempt": ["2"],
    "changed": [["1", ["title"]]],
    "headlines": {"1": "9"},
    "aside": [["1", [["1", "2"], [TOLD.stored, ""]]]],
    "warned": [["1", ["1", TOLD.stored]]],
    "doubles": [["1", "2"]],
    "warnings": ["1", TOLD.stored],
    "refused": [["1", None, ["title 5"]], [TOLD.stored, "3", ["5", TOLD.stored]]],
    "differences": [
        ["1", [["title", "", "1", "2"], ["rent.net", "", 1, None]], 3],
        ["2", [["localizations[0].title", "", "1", "2"]] * 201, 202],
    ],
}
HEADING = ["1", 2, [["1", "", "title"], ["2", "", ""], ["3", "title", ""], ["title", "title", ""]]]
LITTLE = {"counts": {"new": 1, "doubles": 1}, "doubles": [["1", "2"]], "missing_state": "PRIVATE"}


def shown(response) -> list[str]:
    assert response.status_code == 200
    return untranslated(response.content.decode(), OWN)


@pytest.fixture
def main(reader, settings, tmp_path) -> Workspace:
    settings.DATA_DIR = tmp_path
    make_workspace("2")
    return make_workspace("1")


@pytest.fixture
def sender(main) -> Sender:
    return Sender.objects.create(workspace=main, name="1")


@pytest.fixture
def imports(main, sender) -> list[Import]:
    """Return imports in every state, and with everything that their page can show."""
    now, person = timezone.now(), User.objects.get()
    open_ = {"due_at": now + HOUR}
    over = {"released_at": now, "released_by": person, "uploaded_by": person, "ended_at": now}
    late = {"due_at": now - HOUR}
    whole = {"state": State.PREVIEWED, **open_}
    columns = [
        {"state": State.PREVIEWING, **open_},
        {"state": State.PREVIEWING, **open_, "total": 2, "done": 1},
        {"state": State.PREVIEWING, **open_, "problem": TOLD},
        {"state": State.PREVIEWING, **open_, "cancel_asked": True},
        {"state": State.PREVIEWING, **late},
        {"state": State.RUNNING, **open_, "total": 1, "released_at": now},
        {**whole, "preview": SUMMARY | {"heading": HEADING}, "force": True, "sender": sender},
        {**whole, "preview": LITTLE},
        {**whole, "preview": {"heading": ["", *HEADING[1:]]}},
        {**whole, "preview": {"counts": {"refused": 1}}},
        {"state": State.DONE, **over, "report": SUMMARY},
        {"state": State.DONE, **over, "report": LITTLE},
        {"state": State.UNCHANGED, **over},
        {"state": State.PARTLY, **over, "report": SUMMARY},
        {"state": State.FAILED, **over, "problem": TOLD},
        {"state": State.FAILED, **over, "report": LITTLE, "total": 1},
        {"state": State.CANCELLED, "ended_at": now},
        {"state": State.CANCELLED, **over, "report": SUMMARY, "total": 2},
    ]
    source = _source(sender)
    return [
        Import.objects.create(workspace=main, source=source, name="1", size=2000, **one)
        for one in columns
    ]


def _source(sender: Sender, **columns: Any) -> Source:
    usual = {"address": "https://1.2/3?4", "due_at": timezone.now() + HOUR}
    return Source.objects.create(workspace=sender.workspace, sender=sender, **(usual | columns))


@pytest.fixture
def sources(main, sender) -> list[Source]:
    """Return sources in every state, with every schedule and way to sign in."""
    now = timezone.now()
    came = {"fetched_at": now, "changed_at": now - DAY}
    daily = {"every_minutes": None, "daily_at": time(5, 30)}
    made = [
        _source(sender, attempts=3, problem="5", **came),
        _source(sender, attempts=1, problem="5", mail_to="1@2.3\n4@5.6", **came),
        _source(sender, **came, expect_hours=1, set_at=now - 9 * DAY, sign_in="BEARER", secret="1"),
        _source(sender, is_enabled=False, due_at=None, address="http://1.2", sign_in="HEADER"),
        _source(sender, **daily, address="ftp://1.2/3", host_key="ssh-ed25519 AAAA"),
        _source(sender, every_minutes=1, address="/1", sign_in="SIGNED", **came),
    ]
    in_turn = _source(sender, **came, address="/1/", delivery="IN_TURN", files_waiting=2)
    for number, state in enumerate(DeliveredFile.State.values):
        DeliveredFile.objects.create(
            source=in_turn,
            name=f"{number}",
            size=number * 1000,
            state=state,
            problem="5",
            gone_at=now if state == DeliveredFile.State.DONE else None,
            imported=Import.objects.first(),
        )
    made += [in_turn, _source(sender, **came, address="/2/", delivery="IN_TURN")]
    for state in (State.FAILED, State.PREVIEWED):
        row = _source(sender, **came)
        over = {"ended_at": now, "problem": "5"} if state == State.FAILED else {"due_at": now + DAY}
        Import.objects.create(workspace=main, source=row, name="1", state=state, **over)
        made.append(row)
    for number, outcome in enumerate(Fetch.Outcome.values):
        Fetch.objects.create(
            workspace=main,
            source=made[0],
            outcome=outcome,
            text="5",
            name="1",
            size=number * 1000,
            seconds=1.5,
            beside=["1"] * 9,
            beside_count=1 + number * 2000,
            imported=Import.objects.first() if number % 2 else None,
        )
    return made


@pytest.fixture
def checks(main) -> list[DriftCheck]:
    now = timezone.now()
    found = [
        {
            "pk": 1,
            "reference": "1",
            "verdict": verdict,
            "gone": gone,
            "fields": ["title"],
            "error": error,
        }
        for verdict, gone, error in (
            ("unexplained", False, ""),
            ("failed", False, "5"),
            ("blocked", True, ""),
            ("pending", False, ""),
        )
    ]
    counts = {"compared": 1234, "fields": {"title": 3}, "found": found, "stopped": "5"}
    ended = {"finished_at": now}
    columns = [
        {"kind": "SAMPLE", **ended, **counts, "differing": 2, "unexplained": 1234},
        {"kind": "SAMPLE"},
        {"kind": "SWEEP", **ended, **counts, "failed": 1234},
        {"kind": "SWEEP", **ended, "differing": 2},
        {"kind": "SWEEP", **ended},
    ]
    return [DriftCheck.objects.create(workspace=main, **one) for one in columns]


# --- lists and forms ---
@pytest.mark.parametrize("page", [*LISTS, *(f"{place}add/" for place in FORMS)])
def test_each_text_is_translated_where_there_is_nothing_yet(main, reader, page):
    assert shown(reader.get(page)) == []


@pytest.mark.parametrize(
    "page",
    [*LISTS, *(f"{place}?q=zz&workspace=1" for place in FORMS), *(f"{p}add/" for p in FORMS)],
)
def test_each_text_of_a_list_and_of_an_empty_form_is_translated(
    reader, main, imports, sources, checks, page
):
    Sender.objects.create(workspace=main, name="2", missing="SET_STATE", missing_state="TAKEN")
    Sender.objects.create(workspace=main, name="3", lenient=False)
    assert shown(reader.get(page)) == []


# --- imports ---
def test_each_text_of_the_page_of_an_import_is_translated(reader, imports):
    for row in imports:
        assert shown(reader.get(f"{IMPORTS}{row.pk}/change/?changed=1")) == []
        assert shown(reader.get(f"{IMPORTS}{row.pk}/history/")) == []
        part = reader.get(f"{IMPORTS}{row.pk}/progress/?state=DONE")
        assert shown(part) == []


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("is_known", [False, True])
def test_each_text_of_an_import_that_is_taken_back_is_translated(
    reader, imports, main, ended, is_known
):
    row = next(one for one in imports if one.state == State.DONE)
    cause = Cause.IMPORT.of(row.pk)
    made = Property.objects.create(workspace=main, object_reference_id="1", desired={"title": "1"})
    change = Change.objects.create(
        real_estate_property=made, path="title", origin="FEED", cause=cause, revision=1
    )
    chosen = ChangeSelection(cause=cause).within(main.pk).to_json()
    now = timezone.now()
    for number in (1, 2):
        Undo.objects.create(
            workspace=main,
            chosen=chosen,
            up_to=change.pk,
            requested_by=User.objects.get() if is_known else None,
            counts=dict.fromkeys(("fields", "removed", "kept"), number),
            **({"ended_at": now} if ended else {"due_at": now}),
        )
    assert shown(reader.get(f"{IMPORTS}{row.pk}/change/")) == []


@pytest.mark.parametrize("action", ["release", "cancel"])
def test_each_text_of_an_answer_about_imports_is_translated(reader, imports, action):
    for keys in ([one.pk for one in imports], [imports[-1].pk]):
        posted = {"action": action, "_selected_action": keys}
        assert shown(reader.post(IMPORTS, posted, follow=True)) == []
    (row, *_) = imports
    history = reader.get(f"{IMPORTS}{row.pk}/history/").content.decode()
    assert untranslated(history, (*OWN, *NOTES)) == []


def test_each_text_of_a_refused_upload_is_translated(reader, main, sender, settings):
    other = Workspace.objects.get(slug="2")
    settings.IMPORT_FILE_LIMIT = 5
    for posted in (
        {},
        {"workspace": other.pk, "sender": sender.pk, "file": SimpleUploadedFile("1.2", b"1")},
        {"workspace": main.pk, "file": SimpleUploadedFile("1.2", b"123456")},
    ):
        assert shown(reader.post(f"{IMPORTS}add/", posted)) == []


def test_each_text_of_an_upload_that_is_taken_is_translated(reader, main):
    posted = {"workspace": main.pk, "file": SimpleUploadedFile("1.2", b"1")}
    assert shown(reader.post(f"{IMPORTS}add/", posted, follow=True)) == []


@pytest.mark.parametrize(
    "more",
    [
        {"column-0": "5", "column-1": ""},
        {"column-0": "title", "column-1": "title"},
        {"sender": ""},
        {"sender": "1" * 81},
        {"header_row": "2"},
    ],
)
def test_each_text_of_an_answer_about_columns_is_translated(reader, imports, more):
    row = next(one for one in imports if one.preview.get("heading"))
    Import.objects.filter(pk=row.pk).update(sender=None)
    posted = {"sender": "4", "sheet": "1", **more}
    assert shown(reader.post(f"{IMPORTS}{row.pk}/columns/", posted, follow=True)) == []


def test_columns_of_an_import_that_does_not_wait_are_refused_in_words(reader, imports):
    row = imports[-1]
    assert shown(reader.post(f"{IMPORTS}{row.pk}/columns/", {"sender": "4"}, follow=True)) == []


def test_each_text_in_the_file_of_refused_records_is_translated(reader, imports):
    row = next(one for one in imports if one.state == State.PARTLY)
    first, *_, last = reader.get(f"{IMPORTS}{row.pk}/refused.csv").content.decode().splitlines()
    assert first.count("⟦") == 3
    assert last.startswith("⟦and ⟨1232⟩ more")


def test_a_large_request_of_somebody_unknown_is_refused_in_the_language_of_the_browser(
    client, main, settings
):
    settings.CALLBACK_BODY_LIMIT = 5
    response = client.post(
        "/admin/login/", {"username": "123456"}, headers={"accept-language": CODE}
    )
    assert (response.status_code, untranslated(response.content.decode())) == (413, [])


# --- sources ---
def test_each_text_of_the_page_of_a_source_is_translated(reader, sources):
    for row in sources:
        page = reader.get(f"{SOURCES}{row.pk}/change/").content.decode()
        assert untranslated(page, (*OWN, fingerprint("ssh-ed25519 AAAA"))) == []
        assert shown(reader.get(f"{SOURCES}{row.pk}/history/")) == []


@pytest.mark.parametrize("action", ["fetch_now", "fetch_all_the_same", "forget_key"])
def test_each_text_of_an_answer_about_sources_is_translated(reader, sources, action):
    for keys in ([one.pk for one in sources], [sources[0].pk]):
        posted = {"action": action, "_selected_action": keys}
        assert shown(reader.post(SOURCES, posted, follow=True)) == []


BEARER = {"address": "https://1.2", "sign_in": "BEARER", "new_secret": "1"}
WRONG: list[dict[str, str]] = [
    {"sender": "", "address": "", "every_minutes": ""},
    *(
        {"address": address}
        for address in (
            *("gopher://1", "ftp://", "ftp://1:port/2", "ftp://1:2@3/4", "ftp://1/%0d%0a2"),
            *("sftp://1/2?3", "https://1/" + "2" * 500),
        )
    ),
    {"daily_at": "05:30"},
    {"daily_at": "x"},
    {"every_minutes": "0"},
    {"every_minutes": "999999"},
    {"expect_hours": "x"},
    {"mail_to": "1%s"},
    {**BEARER, "address": "sftp://1/2"},
    {**BEARER, "sign_in": "HEADER"},
    {**BEARER, "sign_in": "HEADER", "header": "Host"},
    {**BEARER, "sign_in": "1"},
    {**BEARER, "new_secret": "1\r\n2"},
]


def typed(whose: Sender, /, **more: str) -> dict[str, object]:
    usual = {"address": "ftp://1/2", "sign_in": "PASSWORD", "every_minutes": "30"}
    return {"sender": whose.pk, "is_enabled": "on", **usual, **more}


@pytest.mark.parametrize("more", WRONG)
def test_each_text_of_a_source_that_cannot_be_is_translated(reader, sender, more):
    own = (*OWN, *filter(None, more.values()), "(gopher", "Host", "https, http, sftp, ftps, ftp")
    response = reader.post(f"{SOURCES}add/", typed(sender, **more))
    assert response.status_code == 200
    assert not Source.objects.exists()
    assert untranslated(response.content.decode(), own) == []


def test_each_text_about_the_secret_of_a_source_is_translated(reader, sender):
    row = _source(sender, secret="1")
    address = f"{SOURCES}{row.pk}/change/"
    assert shown(reader.post(address, typed(sender, address="sftp://3/4"))) == []
    assert shown(reader.post(f"{SOURCES}add/", typed(sender), follow=True)) == []
    assert shown(reader.post(address, typed(sender, new_secret="2"), follow=True)) == []


def test_each_text_is_translated_where_the_password_is_asked_again(reader, sender):
    person = User.objects.get()
    person.set_password("123456")
    person.save()
    reader.force_login(person)
    session = reader.session
    session[login.CONFIRMED] = (timezone.now() - HOUR).isoformat()
    session.save()
    page = f"{SOURCES}add/"
    assert shown(reader.get(page)) == []
    assert shown(reader.post(page, typed(sender, password="1"))) == []


# --- senders ---
@pytest.mark.parametrize(
    "more",
    [
        {"workspace": "", "name": "", "reference": "1"},
        {"name": "1"},
        {"language": "deu"},
        {"language": "1"},
        {"missing": "SET_STATE"},
        {"header_row": "-1"},
        {"columns": "x"},
        {"columns": "[1]"},
        {"columns": '{"1": 2}'},
        {"flags": '{"1": "2"}'},
        {"flags": '{"object_category": "title"}'},
        {"flags": '{"gardenhouse": "1"}'},
    ],
)
def test_each_text_of_a_sender_that_cannot_be_is_translated(reader, sender, more):
    posted = _typed_sender(sender, **more)
    response = reader.post(f"{SENDERS}add/", posted)
    assert Sender.objects.count() == 1
    own = (*OWN, *filter(None, more.values()), "object_category", "gardenhouse")
    assert untranslated(response.content.decode(), own) == []


def test_each_text_of_the_page_of_a_sender_is_translated(reader, sender):
    Sender.objects.update(missing="SET_STATE", missing_state="TAKEN")
    address = f"{SENDERS}{sender.pk}/change/"
    assert shown(reader.get(address)) == []
    assert shown(reader.post(address, _typed_sender(sender, name="2"), follow=True)) == []
    assert shown(reader.get(f"{SENDERS}{sender.pk}/history/")) == []
    assert shown(reader.post(f"{SENDERS}add/", _typed_sender(sender), follow=True)) == []


def _typed_sender(sender: Sender, **more: str) -> dict[str, object]:
    usual = {"name": "9", "language": "de", "reference": "AUTO", "missing": "LIST"}
    usual |= dict.fromkeys(("columns", "flags"), "{}")
    return {"workspace": sender.workspace_id, **usual, "header_row": "0", **more}


# --- drift ---
def test_each_text_of_the_page_of_a_drift_check_is_translated(reader, checks):
    for row in checks:
        assert shown(reader.get(f"{CHECKS}{row.pk}/change/")) == []
        assert shown(reader.get(f"{CHECKS}{row.pk}/history/")) == []


# --- mails ---
def test_each_text_of_a_mail_about_a_source_is_translated(imports, sources):
    looks = list(Fetch.objects.filter(source=sources[0], imported=None))
    looks += [Fetch(source=sources[0], outcome="IMPORT", imported=one) for one in imports]
    for look in looks:
        with translation.override(CODE):
            written = source_mail.written(look, ["1@2.3"])
        page = "".join(f"<p>{line}</p>" for line in (written.subject, *written.body.splitlines()))
        named = ("http://127.0.0.1:8000/admin/properties/source/", "/import/", "/change/")
        assert untranslated(page, (*named, *OWN, "testserver", "/admin/properties")) == []


def test_the_language_of_a_mail_is_that_of_the_account_with_its_address(reader):
    User.objects.update(email="A@b.test")
    assert languages_of(["a@B.test", "c@d.test"]) == {"a@b.test": CODE}
    PersonSettings.objects.update(language="")
    assert languages_of(["a@b.test"]) == {}


def test_each_gets_the_mail_about_a_source_in_their_language(main, sender):
    User.objects.update(email="a@b.test")
    row = _source(sender, mail_to="c@d.test, A@b.test e@f.test")
    Fetch.objects.create(
        workspace=main, source=row, outcome="FAILED", text="5", due_at=timezone.now()
    )
    turn.take(queue(source_mail.QUEUE), main.pk, seconds=20.0)
    found = [(one.to, "⟦" in one.subject, "⟦" in one.body) for one in mail.outbox]
    assert found == [
        (["c@d.test"], False, False),
        (["A@b.test"], True, True),
        (["e@f.test"], False, False),
    ]
