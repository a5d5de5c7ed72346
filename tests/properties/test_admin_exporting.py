"""The chosen properties as a file: what the command writes, from the list."""

import csv
import errno
import io
import json
import tempfile
from datetime import UTC, datetime
from secrets import token_hex

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.messages.storage.fallback import FallbackStorage
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from crm_sync.models import Workspace
from orders.models import PersonSettings
from properties.admin.property import export_actions
from properties.domain.editing import create
from properties.feeds import open_feed
from properties.feeds.table.table_writer import write_xlsx
from properties.models import Property
from tests.problems import noted

LIST = "/admin/properties/property/"


def make(workspace, reference: str, **changes) -> Property:
    return create(workspace, reference, changes, origin="ADMIN", now=timezone.now())


@pytest.fixture
def stock(main) -> list[Property]:
    texts = [{"languageCode": "de", "title": "Haus"}]
    full = {"localizations": texts, "offerType": "RENT", "availabilityState": "ACTIVE"}
    return [
        make(main, "A1", title="One", **full),
        make(main, "A2", title='=HYPERLINK("http://x")', **full),
        make(main, "A3", title="Three", **full),
    ]


def export(client, kind: str, chosen, query: str = "", **more):
    keys = [row.pk for row in chosen]
    data = {"action": f"export_{kind}", "_selected_action": keys, **more}
    return client.post(f"{LIST}{query}", data)


def messages_of(client) -> list[str]:
    return [str(m) for m in client.get(LIST).context["messages"]]


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "json"])
def test_the_selection_is_what_the_command_writes_for_it(admin_client, stock, tmp_path, suffix):
    response = export(admin_client, suffix, stock[:2])
    assert response.streaming
    assert response["X-Content-Type-Options"] == "nosniff"
    day = f"{timezone.now():%Y-%m-%d}"
    assert response["Content-Disposition"] == (
        f'attachment; filename="properties-main-{day}.{suffix}"'
    )
    sent, written = tmp_path / f"sent.{suffix}", tmp_path / f"written.{suffix}"
    sent.write_bytes(response.getvalue())
    call_command("export_properties", "main", written, "--reference", "A1", "--reference", "A2")
    assert list(open_feed(sent)) == list(open_feed(written))
    assert [record.reference for record in open_feed(sent)] == ["A1", "A2"]


@time_machine.travel(datetime(2026, 7, 1, 22, 30, tzinfo=UTC), tick=False)
def test_the_day_in_the_name_of_the_file_is_that_of_the_person(client, stock):
    client.force_login(User.objects.create(username="one", is_staff=True, is_superuser=True))
    PersonSettings.objects.create(person=User.objects.get(), time_zone="Europe/Zurich")
    response = export(client, "csv", stock)
    assert response["Content-Disposition"].endswith('"properties-main-2026-07-02.csv"')


@pytest.mark.rule("S18")
def test_no_cell_is_a_formula(admin_client, stock):
    text = export(admin_client, "csv", stock).getvalue().decode("utf-8-sig")
    titles = [row["Title"] for row in csv.DictReader(io.StringIO(text))]
    assert titles == ["One", '\'=HYPERLINK("http://x")', "Three"]


def test_all_that_match_are_exported_and_not_only_those_on_the_page(admin_client, main):
    for n in range(103):
        make(main, f"A{n:03}", title="x")
    shown = Property.objects.order_by("object_reference_id")[:100]
    response = export(admin_client, "csv", shown, select_across="1")
    assert len(response.getvalue().splitlines()) == 104


def test_what_is_filtered_by_a_state_is_exported(admin_client, stock):
    response = export(admin_client, "csv", stock, "?state=NEVER_PUSHED", select_across="1")
    assert len(response.getvalue().splitlines()) == 4


def test_what_the_format_cannot_hold_is_told(admin_client, stock, main):
    bare = make(main, "A4", title="Without a state")
    mirrored = Property.objects.create(workspace=main, platform_id="P-5")
    document = json.loads(export(admin_client, "json", [*stock, bare, mirrored]).getvalue())
    assert [p["referenceId"] for p in document["properties"]] == ["A1", "A2", "A3"]
    (message,) = messages_of(admin_client)
    assert "platform id P-5 was left out: it has no reference of ours" in message
    assert "A4 was left out: " in message


def test_an_export_to_a_full_disk_says_so_and_leaves_no_draft(
    admin_client, stock, monkeypatch, tmp_path
):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export_actions, "written", full)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert export(admin_client, "csv", stock).status_code == 302
    text = "Nothing was exported: the server cannot write the file now; its disk may be full"
    assert messages_of(admin_client) == [text]
    assert list(tmp_path.iterdir()) == []


def test_one_file_holds_one_workspace(admin_client, stock):
    other = Workspace.objects.create(slug="other", base_url="http://x.test")
    response = export(admin_client, "csv", [*stock, make(other, "A1", title="Theirs")])
    assert response.status_code == 302
    assert messages_of(admin_client) == [
        "One file holds one workspace: narrow the list to one first."
    ]


def test_who_may_look_may_export_and_who_may_not_may_not(viewer, stock):
    assert len(export(viewer, "csv", stock).getvalue().splitlines()) == 4
    stranger = Client()
    stranger.force_login(User.objects.create(username="other", is_staff=True))
    assert export(stranger, "csv", stock).status_code == 403


@pytest.fixture
def large(main) -> list[str]:
    """Make more properties than one query reads, and more than one piece holds."""
    full = {"offerType": "RENT", "availabilityState": "ACTIVE", "title": "x"}
    references = [f"A{n:04}" for n in range(1_250)]
    Property.objects.bulk_create(
        Property(
            workspace=main,
            object_reference_id=reference,
            desired=full
            | {
                "localizations": [
                    {"languageCode": "de", "title": "x", "description": token_hex(400)}
                ]
            },
        )
        for reference in references
    )
    return references


@pytest.fixture
def large_export(rf, admin_user):
    """Return the answer to an export that takes longer than its patience, and its messages."""

    def start(suffix: str, chosen):
        request = rf.post(LIST)
        request.user, request.session = admin_user, {}
        request._messages = FallbackStorage(request)
        response = export_actions.export(request, chosen, suffix, patience=0.0)
        return response, [str(m) for m in request._messages]

    return start


SUFFIXES = pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".json"])


@SUFFIXES
def test_a_large_export_is_sent_while_it_is_written(large, large_export, tmp_path, suffix):
    response, messages = large_export(suffix, Property.objects.with_state(timezone.now()))
    assert messages == [
        "The last export was large: manage.py export_properties names what it could not hold."
    ]
    pieces = list(response.streaming_content)
    sent = tmp_path / f"sent{suffix}"
    sent.write_bytes(b"".join(pieces))
    assert max(map(len, pieces)) < sent.stat().st_size / 4
    assert [record.reference for record in open_feed(sent)] == large


def test_what_a_workbook_holds_stays_while_it_grows(tmp_path):
    path, names = tmp_path / "growing.xlsx", ["objectReferenceId", "title"]
    documents = [{"objectReferenceId": f"A{n}", "title": token_hex(120)} for n in range(800)]
    seen = [path.read_bytes() for _ in write_xlsx(path, documents, names)][::80]
    assert len(set(seen)) > 3
    assert all(path.read_bytes().startswith(one) for one in seen)


@SUFFIXES
def test_who_takes_an_export_slowly_gets_what_was_chosen(large, large_export, tmp_path, suffix):
    chosen = Property.objects.with_state(timezone.now()).filter(sync_state="NEVER_PUSHED")
    response, _ = large_export(suffix, chosen)
    pieces = iter(response.streaming_content)
    first = next(pieces)
    for row in Property.objects.only("pk"):  # meanwhile a worker pushes them all
        Property.objects.filter(pk=row.pk).update(platform_id=f"P-{row.pk}", due_at=None)
    sent = tmp_path / f"sent{suffix}"
    sent.write_bytes(first + b"".join(pieces))
    assert [record.reference for record in open_feed(sent)] == large


@SUFFIXES
def test_who_leaves_an_export_leaves_no_draft_behind(large, large_export, tmp_path, suffix):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path))
        response, _ = large_export(suffix, Property.objects.all())
        next(iter(response.streaming_content))
        assert list(tmp_path.iterdir())
        response.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.rule("S17")
@pytest.mark.parametrize("suffix", ["csv", "xlsx", "json"])
def test_who_exported_how_many_and_to_which_format_stands_in_the_history(
    admin_client, stock, suffix
):
    export(admin_client, suffix, stock[:2])
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_repr) == ("admin", "main")
    assert noted()[-1] == f"Exported 2 properties as {suffix.upper()}."
