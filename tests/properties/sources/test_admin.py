"""Senders and sources in the admin: who may what, and that no secret ever comes back."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crm_sync.models import Workspace
from properties.admin.source.source_state import attention
from properties.models import DeliveredFile, Fetch, Import, Sender, Source
from tests.crm_sync.admin_pages import CANARY, ESCAPED, client_of, queries_of
from tests.problems import noted

LIST = reverse("admin:properties_source_changelist")
ADD = reverse("admin:properties_source_add")
SENDERS = reverse("admin:properties_sender_changelist")
NEW_SENDER = reverse("admin:properties_sender_add")
SEES = ("properties.view_source", "properties.view_sender")
MANAGES = (*SEES, "properties.add_source", "properties.change_source", "properties.change_sender")
WORD = "typed s3cret"


@pytest.fixture
def agency(main) -> Sender:
    return Sender.objects.create(workspace=main, name="Agency")


@pytest.fixture
def row(agency) -> Source:
    return Source.objects.create(
        workspace=agency.workspace,
        sender=agency,
        address="sftp://feeds.test/out.zip",
        user="agency",
        secret=WORD,
        due_at=timezone.now(),
        etag="x",
    )


def page_of(row: Source) -> str:
    return reverse("admin:properties_source_change", args=[row.pk])


def text_of(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def typed(agency: Sender, **more) -> dict[str, object]:
    return {
        "sender": agency.pk,
        "address": "sftp://feeds.test/out.zip",
        "delivery": "REPLACED",
        "sign_in": "PASSWORD",
        "user": "agency",
        "new_secret": "",
        "is_enabled": "on",
        "every_minutes": "30",
        "daily_at": "",
        "expect_hours": "48",
        "mail_to": "a@b.test, c@d.test",
    } | more


def test_a_source_is_added_due_at_once_and_its_secret_is_stored_encrypted(main, agency):
    client = client_of(*MANAGES)
    assert client.post(ADD, typed(agency, new_secret=WORD)).status_code == 302
    row = Source.objects.get()
    assert (row.workspace, row.secret, row.mail_to) == (main, WORD, "a@b.test\nc@d.test")
    assert (row.every_minutes, row.daily_at, row.due_at is not None) == (30, None, True)
    for address in (page_of(row), LIST):
        assert WORD not in text_of(client, address)
    Source.objects.update(every_minutes=1440)
    assert "Every 1,440 minutes" in text_of(client, LIST)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"address": "gopher://x/"}, "The address begins with none of https"),
        ({"address": "ftp://u:p@x/"}, "The address holds a user"),
        ({"daily_at": "05:30"}, "Either every so many minutes, or once a day"),
        ({"every_minutes": ""}, "Either every so many minutes, or once a day"),
        ({"every_minutes": "0"}, "greater than or equal to 1"),
        ({"mail_to": "nobody"}, "nobody is not a mail address."),
    ],
)
def test_what_cannot_be_is_told_at_its_field_and_nothing_typed_comes_back(agency, more, told):
    page = client_of(*MANAGES).post(ADD, typed(agency, new_secret=WORD, **more)).content.decode()
    assert told in page
    assert WORD not in page
    assert not Source.objects.exists()


WEB = {"address": "https://feeds.test/out.xml", "new_secret": WORD}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"sign_in": "BEARER", "address": "sftp://x/a"}, "Only an address with https:// or http"),
        ({"sign_in": "HEADER"}, "Enter a name such as X-Api-Key"),
        ({"sign_in": "HEADER", "header": "X-Key: a"}, "Enter a name such as X-Api-Key"),
        ({"sign_in": "HEADER", "header": "Host"}, "This header is set by ourselves."),
        ({"sign_in": "BEARER", "new_secret": f"{WORD}\r\nX-Evil: 1"}, "A header takes one line"),
        ({"sign_in": "HEADER", "header": "X-Key", "new_secret": f"{WORD} ü"}, "A header takes one"),
        ({"sign_in": "GUESS"}, "Select a valid choice"),
    ],
)
def test_a_way_to_sign_in_that_cannot_be_sent_is_told_at_its_field(agency, more, told):
    page = client_of(*MANAGES).post(ADD, typed(agency, **WEB | more)).content.decode()
    assert told in page
    assert WORD not in page
    assert not Source.objects.exists()


@pytest.mark.parametrize("way", ["BEARER", "HEADER", "SIGNED"])
def test_a_token_or_key_is_stored_encrypted_and_never_shown(agency, way):
    client = client_of(*MANAGES)
    header = "X-Api-Key" if way == "HEADER" else ""
    assert client.post(ADD, typed(agency, **WEB, sign_in=way, header=header)).status_code == 302
    row = Source.objects.get()
    assert (row.sign_in, row.header, row.secret) == (way, header, WORD)
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM properties_source")
        assert WORD not in cursor.fetchone()[0]
    page = text_of(client, page_of(row))
    assert row.get_sign_in_display() in page
    assert WORD not in page


def test_a_change_keeps_the_secret_unless_it_would_go_to_another_server(agency, row):
    client = client_of(*MANAGES)
    assert client.post(page_of(row), typed(agency)).status_code == 302
    changed = Source.objects.get()
    assert (changed.secret, changed.every_minutes) == (WORD, 30)
    page = client.post(page_of(row), typed(agency, address="sftp://other.test/out.zip"))
    assert "leads to another server: enter its password or key again" in page.content.decode()
    other = typed(agency, address="sftp://other.test/out.zip", new_secret="another")
    assert client.post(page_of(row), other).status_code == 302
    changed = Source.objects.get()
    assert (changed.address, changed.secret, changed.etag) == (other["address"], "another", "")
    assert client.post(page_of(row), other | {"new_secret": "", "without_secret": "on"}).url
    assert Source.objects.get().secret == ""


def test_a_switch_off_takes_it_out_of_the_queue(agency, row):
    client = client_of(*MANAGES)
    assert client.post(page_of(row), typed(agency, is_enabled="")).status_code == 302
    assert (Source.objects.get().is_enabled, Source.objects.get().due_at) == (False, None)


@pytest.mark.parametrize(
    ("action", "columns"),
    [
        ("fetch_now", {"is_asked": True, "insists": False, "host_key": "ssh-rsa AAAA"}),
        ("fetch_all_the_same", {"is_asked": True, "insists": True, "host_key": "ssh-rsa AAAA"}),
        ("forget_key", {"is_asked": True, "insists": False, "host_key": ""}),
    ],
)
def test_a_fetch_by_hand_is_due_at_once_and_noted(agency, row, action, columns):
    later = timezone.now() + timedelta(hours=1)
    Source.objects.update(due_at=later, host_key="ssh-rsa AAAA")
    data = {"action": action, "_selected_action": [row.pk]}
    assert client_of(*MANAGES).post(LIST, data).url == page_of(row)
    found = Source.objects.get()
    assert {name: getattr(found, name) for name in columns} == columns
    assert found.due_at <= timezone.now()
    assert LogEntry.objects.count() == 1
    client_of(*SEES).post(LIST, data)
    assert LogEntry.objects.count() == 1


def test_who_only_sees_gets_no_form_and_no_key_of_an_address(agency, row):
    Source.objects.update(address="https://feeds.test/out.xml?key=geheim")
    client = client_of(*SEES)
    for address in (page_of(row), LIST):
        text = text_of(client, address)
        assert ("https://feeds.test/out.xml?…" in text, "geheim" in text) == (True, False)
    assert "Fetch now" not in text_of(client, page_of(row))
    assert client.get(ADD).status_code == 403
    assert client.post(page_of(row), typed(agency)).status_code == 403


def test_nobody_names_a_sender_of_a_workspace_of_others(agency):
    elsewhere = Workspace.objects.create(slug="other", base_url="http://other.test")
    other = Sender.objects.create(workspace=elsewhere, name="Other agency")
    client = client_of(*MANAGES)
    person = User.objects.get()
    person.user_permissions.remove(Permission.objects.get(codename="all_workspaces"))
    agency.workspace.people.add(person)
    assert "Other agency" not in text_of(client, ADD)
    assert "Agency · main" in text_of(client, ADD)
    client.post(ADD, typed(other))
    assert not Source.objects.exists()


def test_what_a_server_said_becomes_no_markup(agency, row):
    last = Import.objects.create(
        workspace=agency.workspace,
        sender=agency,
        source=row,
        name=CANARY,
        state="FAILED",
        problem=CANARY,
        ended_at=timezone.now(),
        released_at=timezone.now(),
    )
    Fetch.objects.create(
        workspace=agency.workspace,
        source=row,
        outcome="IMPORT",
        text=CANARY,
        name=CANARY,
        beside=[CANARY],
        beside_count=7,
        imported=last,
    )
    text = text_of(client_of(*MANAGES), page_of(row))
    assert (CANARY in text, ESCAPED in text, "and 6 more" in text) == (False, True, True)


def test_a_list_of_many_costs_as_many_queries_as_one_of_few(agency, row):
    client = client_of(*MANAGES)
    few = queries_of(client, LIST)
    for number in range(20):
        Source.objects.create(
            workspace=agency.workspace,
            sender=agency,
            address=f"https://{number}.test/",
            due_at=timezone.now(),
        )
    assert queries_of(client, LIST) == few


# --- files in turn ---
@pytest.fixture
def in_turn(row) -> Source:
    Source.objects.update(
        address="sftp://feeds.test/out/", delivery="IN_TURN", files_waiting=2, attempts=3
    )
    return Source.objects.get()


def file_of(row: Source, name: str = "2.zip", state: str = "STOPPED", **columns) -> DeliveredFile:
    return DeliveredFile.objects.create(source=row, name=name, state=state, **columns)


def skipped(client: Client, row: Source, file: object) -> str:
    data = {"action": "skip_file", "_selected_action": [row.pk], "file": str(file)}
    return client.post(LIST, data, follow=True).content.decode()


def test_a_file_that_stops_the_order_is_named_with_its_reason_and_skipped_by_one_press(in_turn):
    file_of(in_turn, "1.zip", "DONE")
    file = file_of(in_turn, problem="the ZIP is damaged: pack the feed again")
    client = client_of(*MANAGES)
    page = text_of(client, page_of(in_turn))
    why = "The file 2.zip stops the order: the ZIP is damaged: pack the feed again"
    assert (why in page, "Stopped by a file" in text_of(client, LIST)) == (True, True)
    assert (page.count("Skip this file"), page.count(f'name="file" value="{file.pk}"')) == (2, 2)
    (line,) = attention(User.objects.get(), timezone.now())
    assert line.badge == '<span class="cs-badge cs-danger">Stopped by a file</span>'
    assert "The file 2.zip was skipped." in skipped(client, in_turn, file.pk)
    found = Source.objects.get()
    assert (found.attempts, found.problem, found.due_at <= timezone.now()) == (0, "", True)
    assert DeliveredFile.objects.get(pk=file.pk).state == "SKIPPED"
    assert LogEntry.objects.count() == 1
    assert "Stopped by a file" not in text_of(client, page_of(in_turn))


@pytest.mark.rule("S17")
def test_all_files_are_skipped_by_one_press_on_the_page_by_who_may_and_it_is_noted(in_turn):
    button, data = "Skip all files that are there now", {"action": "skip_all_files"}
    data["_selected_action"] = [in_turn.pk]
    viewer, client = client_of(*SEES), client_of(*MANAGES)
    assert button not in text_of(viewer, page_of(in_turn))
    viewer.post(LIST, data)
    assert (Source.objects.get().skips_before, LogEntry.objects.count()) == (None, 0)
    assert text_of(client, page_of(in_turn)).count(button) == 1
    assert button not in text_of(client, LIST)
    said = client.post(LIST, data, follow=True).content.decode()
    assert "A worker skips them in a moment. Files that come later are imported." in said
    assert "Skips files until" in said
    found = Source.objects.get()
    assert found.skips_before == found.due_at <= timezone.now()
    assert noted() == ["All files that were in the folder then are skipped."]
    client.post(page_of(in_turn), typed(in_turn.sender, address=in_turn.address))
    assert Source.objects.get().skips_before is None
    assert button not in text_of(client, page_of(in_turn))
    client.post(LIST, data)
    assert (Source.objects.get().skips_before, LogEntry.objects.count()) == (None, 2)


@pytest.mark.rule("S17")
def test_only_the_file_that_a_person_saw_is_skipped_and_only_by_who_may(in_turn, agency):
    file = file_of(in_turn)
    other = Source.objects.create(
        workspace=agency.workspace, sender=agency, address="/a/", due_at=timezone.now()
    )
    elsewhere = file_of(other, "9.zip")
    client = client_of(*MANAGES)
    for key in (elsewhere.pk, file.pk + 1000, "x", ""):
        assert "Nothing was skipped" in skipped(client, in_turn, key)
    DeliveredFile.objects.filter(pk=file.pk).update(state="TAKEN")
    assert "Nothing was skipped" in skipped(client, in_turn, file.pk)
    DeliveredFile.objects.filter(pk=file.pk).update(state="STOPPED")
    skipped(client_of(*SEES), in_turn, file.pk)
    states = DeliveredFile.objects.order_by("name").values_list("state", flat=True)
    assert list(states) == ["STOPPED", "STOPPED"]
    assert "Skip this file" not in text_of(client_of(*SEES), page_of(in_turn))


def test_a_web_server_delivers_no_files_in_turn(agency):
    web = typed(agency, address="https://feeds.test/out/", delivery="IN_TURN")
    page = client_of(*MANAGES).post(ADD, web).content.decode()
    assert "Only SFTP, FTP and a folder of the server know this way." in page
    assert not Source.objects.exists()


def test_the_files_are_forgotten_if_the_address_changes_and_else_remembered(in_turn, agency):
    file_of(in_turn, state="DONE")
    client = client_of(*MANAGES)
    same = typed(agency, address="sftp://feeds.test/out/", delivery="IN_TURN", new_secret=WORD)
    client.post(page_of(in_turn), same | {"every_minutes": "7"})
    other = Sender.objects.create(workspace=agency.workspace, name="Other")
    client.post(page_of(in_turn), same | {"sender": other.pk})
    assert (Source.objects.get().sender, DeliveredFile.objects.count()) == (other, 1)
    client.post(page_of(in_turn), same | {"address": "sftp://feeds.test/in/"})
    assert (Source.objects.get().address, DeliveredFile.objects.count()) == (
        "sftp://feeds.test/in/",
        0,
    )


# --- what waits for a person ---
@pytest.mark.parametrize(
    ("columns", "state", "told"),
    [
        ({"attempts": 3, "problem": "no way in"}, None, "Does not come"),
        ({}, "FAILED", "Not imported"),
        ({}, "PREVIEWED", None),  # the import has a line of its own
        ({"set_at": timezone.now() - timedelta(days=9)}, None, "Stays away"),
        ({"attempts": 1, "problem": "no way in"}, "DONE", None),
        ({}, "DONE", None),
    ],
)
def test_the_overview_names_what_a_person_must_look_at(
    agency, row, admin_user, columns, state, told
):
    now = timezone.now()
    Source.objects.update(fetched_at=now, **columns)
    if state:
        Import.objects.create(
            workspace=agency.workspace,
            sender=agency,
            source=row,
            name="a",
            state=state,
            due_at=now,
            ended_at=now,
        )
    found = [str(one.badge) for one in attention(admin_user, now)]
    assert [told in one for one in found] == ([True] if told else [])


# --- senders ---
def test_a_sender_is_named_and_its_policy_must_be_whole(main):
    client = client_of(*MANAGES, "properties.add_sender")
    data = {
        "workspace": main.pk,
        "name": "Agency",
        "language": "FR",
        "reference": "AUTO",
        "missing": "SET_STATE",
        "missing_state": "",
        "header_row": "0",
        "columns": "{}",
        "flags": '{"a": 1}',
    }
    page = client.post(NEW_SENDER, data).content.decode()
    assert "Choose the state." in page
    assert "An object of texts" in page
    wrong = client.post(NEW_SENDER, data | {"flags": '{"no_such_column": "title"}'})
    assert "no_such_column: title is no column with its field" in wrong.content.decode()
    done = client.post(NEW_SENDER, data | {"missing_state": "PRIVATE", "flags": "{}"})
    assert done.status_code == 302
    row = Sender.objects.get()
    assert (row.language, row.missing, row.missing_state) == ("fr", "SET_STATE", "PRIVATE")
    assert "REFERENCE</option>" not in page
    assert "Agency" in text_of(client, SENDERS)


def test_the_workspace_of_a_sender_stays(main, agency):
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    page = reverse("admin:properties_sender_change", args=[agency.pk])
    data = {"workspace": other.pk, "name": "New name", "language": "de", "reference": "AUTO"}
    data |= {"missing": "LIST", "header_row": "0", "columns": "{}", "flags": "{}"}
    assert client_of(*MANAGES).post(page, data).status_code == 302
    agency.refresh_from_db()
    assert (agency.name, agency.workspace) == ("New name", main)
