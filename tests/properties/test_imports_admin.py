"""Feeds by upload in the admin: who may, what the pages say, and that nothing in a file runs."""

import csv
import io
import resource
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crm_sync.hooks import NEWEST
from crm_sync.models import Workspace
from properties.admin.import_ import waiting_imports
from properties.domain.editing import create
from properties.imports import job, upload as imports_upload
from properties.models import Import, Property
from tests.crm_sync.admin_pages import client_of, queries_of
from tests.problems import noted
from tests.properties.test_full_feed_guard import as_json
from tests.properties.uploaded import CANARY, fresh, rows, table, upload, work

LIST = reverse("admin:properties_import_changelist")
ADD = reverse("admin:properties_import_add")
MAY = ("view_import", "add_import", "change_property", "view_property")
State = Import.State


pytestmark = pytest.mark.usefixtures("data_dir")


def page_at(row: Import) -> str:
    return reverse("admin:properties_import_change", args=[row.pk])


def person(*permissions: str) -> Client:
    return client_of(*(f"properties.{name}" for name in permissions))


def hand_in(client, workspace, content: bytes, name: str = "stock.csv", **more):
    file = SimpleUploadedFile(name, content)
    return client.post(ADD, {"workspace": workspace.pk, "file": file, **more})


def act(client, action: str, *rows: Import):
    keys = [row.pk for row in rows]
    return client.post(LIST, {"action": action, "_selected_action": keys})


def files(data_dir: Path) -> list[Path]:
    folder = data_dir / "imports"
    return list(folder.iterdir()) if folder.exists() else []


def test_a_file_that_cannot_be_stored_is_told_on_the_page(main, data_dir):
    (data_dir / "imports").write_text("")  # where the folder should be
    client = person(*MAY)
    page = client.get(hand_in(client, main, b"objectReferenceId,title\nA,b\n").url)
    assert "Nothing was imported: the server cannot write the file now" in page.content.decode()
    assert Import.objects.count() == 0


def test_a_file_for_which_the_disk_has_no_room_leaves_nothing_there(main, data_dir, admin_user):
    new, file = Import(workspace=main), SimpleUploadedFile("stock.csv", b"x" * 2_000_000)
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, most))
    try:
        with pytest.raises(OSError, match="File too large"):
            imports_upload.receive(new, file, actor=admin_user, now=timezone.now())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
    assert files(data_dir) == []


# --- what waits for a person ---
def waits(client) -> list[tuple[str, str]]:
    lines = client.get("/admin/").context["attention"]
    return [(str(one.text), one.remedy) for one in lines if "Import" in one.text]


def test_the_overview_says_which_imports_wait_what_to_do_and_how_long(main, admin_user):
    foreign = b"Objekt-Nr.;Titel;PLZ;Farbe\nA1;Haus;8001;rot\n"
    for name, content in (("stock.csv", table(["A1"])), ("foreign.csv", foreign)):
        work(upload(main, admin_user, content, name=name))
    for name, day in (("foreign.csv", 4), ("stock.csv", 6)):
        until = datetime(2026, 5, day, 12, tzinfo=UTC)
        Import.objects.filter(name=name).update(due_at=until)
    columns = waiting_imports.COLUMNS % {"until": "Mon 4 May 2026, 12:00 UTC"}
    release = waiting_imports.RELEASE % {"until": "Wed 6 May 2026, 12:00 UTC"}
    told = [("Import: foreign.csv", columns), ("Import: stock.csv", release)]
    assert waits(person(*MAY)) == told
    (line, _) = waiting_imports.attention(admin_user, datetime(2026, 4, 27, 12, tzinfo=UTC))
    assert "just now" in line.since
    assert line.link == page_at(Import.objects.get(name="foreign.csv"))
    for without in MAY[:3]:
        assert waits(person(*(name for name in MAY if name != without))) == []
    imports_upload.cancel(Import.objects.all(), now=timezone.now())
    assert waits(person(*MAY)) == []


def test_the_overview_names_few_waiting_imports_in_one_query_and_none_of_others(
    main, admin_user, django_assert_num_queries
):
    now = timezone.now()
    for number in range(NEWEST + 1):
        Import.objects.create(
            workspace=main, name=str(number), state=State.PREVIEWED, due_at=now + job.KEPT
        )
    with django_assert_num_queries(1):
        assert len(waiting_imports.attention(admin_user, now)) == NEWEST
    other = User.objects.create(username="other", is_staff=True)
    other.user_permissions.add(*Permission.objects.filter(codename__in=MAY))
    assert waiting_imports.attention(other, now) == []


# --- the way through ---
def test_a_file_is_handed_in_looked_at_released_and_imported(main, admin_client):
    response = hand_in(admin_client, main, table(["A1", "bad2"]), force="on")
    row = Import.objects.get()
    assert (response.status_code, response["Location"]) == (302, page_at(row))
    assert (row.state, row.name, row.force, row.uploaded_by.username) == (
        *(State.PREVIEWING, "stock.csv", True, "admin"),
    )
    assert not Property.objects.exists()
    work(row)
    page = admin_client.get(page_at(row)).content.decode()
    for text in (
        "This is what the import would do",
        "A1",
        "line 3",
        "1 cell more than the header",
    ):
        assert text in page
    assert "About the file" not in page  # nothing is said about it
    assert act(admin_client, "release", row)["Location"] == page_at(row)
    assert not Property.objects.exists()
    work(row)
    page = admin_client.get(page_at(row)).content.decode()
    assert "Some records could not be taken; all others were imported." in page
    assert Property.objects.get().object_reference_id == "A1"
    said = noted()
    assert said[-1] == "Released."


def test_a_request_never_reads_the_file(main, admin_client):
    assert hand_in(admin_client, main, b"no feed at all").status_code == 302
    row = Import.objects.get()
    assert (row.state, row.total, row.preview) == (State.PREVIEWING, None, {})
    assert act(admin_client, "release", row).status_code == 302
    assert fresh(row).state == State.PREVIEWING


def test_the_page_asks_how_far_it_is(main, admin_client, admin_user):
    row = upload(main, admin_user, table(["A1", "A2", "A3"]), released=True)
    url = reverse("admin:properties_import_progress", args=[row.pk])
    page = admin_client.get(page_at(row)).content.decode()
    assert f'data-follow="{url}?state=RUNNING"' in page
    work(row, until=0.0)
    response = admin_client.get(url, {"state": "RUNNING"})
    part = response.content.decode()
    assert '<progress value="1" max="3"' in part
    assert "Imported 1 of 3 records" in part
    assert "data-next" not in part
    assert "no-store" in response["Cache-Control"]
    work(row)
    part = admin_client.get(url, {"state": "RUNNING"}).content.decode()
    assert f'<a href="{page_at(row)}" data-next' in part
    assert "data-follow" not in admin_client.get(page_at(row)).content.decode()


def test_without_a_worker_the_page_says_that_it_waits_for_one(main, admin_client, admin_user):
    row = upload(main, admin_user, table(["A1", "A2"]), released=True)
    work(row, until=0.0)
    url = reverse("admin:properties_import_progress", args=[row.pk])
    assert "Imported 1 of 2 records" in admin_client.get(url).content.decode()
    long_ago = timezone.now() - timedelta(seconds=20)
    Import.objects.update(due_at=long_ago)
    assert "Waits for a worker, after 1 record." in admin_client.get(url).content.decode()
    Import.objects.update(lease_token=uuid.uuid4(), lease_until=long_ago)
    assert "Waits for a worker, after 1 record." in admin_client.get(url).content.decode()


def test_what_was_cancelled_in_the_middle_says_what_stays(main, admin_client, admin_user):
    row = upload(main, admin_user, table(["A1", "A2", "A3"]), released=True)
    work(row, until=0.0)
    assert act(admin_client, "cancel", row)["Location"] == page_at(row)
    page = admin_client.get(page_at(row)).content.decode()
    assert (
        "It was cancelled after 1 of 3 records."
        " What was imported until then stays: 1 record new or changed."
    ) in page
    assert noted()[-1] == "Cancelled."


def test_several_are_cancelled_from_the_list(main, admin_client, admin_user):
    first, second = (upload(main, admin_user, table(["A1"])) for _ in range(2))
    act(admin_client, "cancel", first, second)
    assert {fresh(row).state for row in (first, second)} == {State.CANCELLED}


# --- what is refused at the door ---
def test_a_file_that_is_too_large_is_not_kept(main, admin_client, settings, data_dir):
    settings.IMPORT_FILE_LIMIT = 1000
    response = hand_in(admin_client, main, b"x" * 1001)
    assert "The file is larger than 1000\xa0bytes" in response.content.decode()
    assert (Import.objects.count(), files(data_dir)) == (0, [])
    assert hand_in(admin_client, main, b"x" * 1000).status_code == 302


@pytest.mark.parametrize("missing", ["workspace", "file"])
def test_both_the_workspace_and_the_file_are_needed(main, admin_client, data_dir, missing):
    data = {"workspace": main.pk, "file": SimpleUploadedFile("a.csv", b"x")}
    response = admin_client.post(ADD, {k: v for k, v in data.items() if k != missing})
    assert "This field is required" in response.content.decode()
    assert (Import.objects.count(), files(data_dir)) == (0, [])


def test_the_form_offers_workspaces_without_reading_a_secret(admin_client, settings):
    Workspace.objects.create(slug="main", base_url="http://x.test", fixed_token="canary")
    settings.SECRET_KEYS_AT_REST = ["-o_Fsu4QcVHYqVAfJ8S6-PL8wAGOmNS8vL93e2XW6mQ="]  # another key
    page = admin_client.get(ADD).content.decode()
    assert ("main</option>" in page, "canary" in page) == (True, False)


# --- who may what ---
@pytest.mark.parametrize("missing", ["add_import", "change_property"])
def test_importing_needs_both_permissions(main, admin_user, missing):
    client = person(*(name for name in MAY if name != missing))
    row = upload(main, admin_user, table(["A1"]))
    work(row)
    assert client.get(ADD).status_code == 403
    assert hand_in(client, main, table(["A2"])).status_code == 403
    page = client.get(page_at(row)).content.decode()
    assert ('value="release"' in page, 'value="cancel"' in page) == (False, False)
    assert "Import a feed" not in client.get(LIST).content.decode()
    for action in ("release", "cancel"):
        act(client, action, row)
    assert (fresh(row).state, Import.objects.count()) == (State.PREVIEWED, 1)


def test_who_has_both_permissions_may(main):
    client = person(*MAY)
    assert hand_in(client, main, table(["A1"])).status_code == 302
    row = Import.objects.get()
    work(row)
    act(client, "release", row)
    assert fresh(row).state == State.RUNNING
    act(client, "cancel", row)
    assert fresh(row).state == State.CANCELLED


def test_who_may_not_see_imports_sees_none_of_them(main, admin_user):
    row = upload(main, admin_user, table(["A1"]))
    client = person("view_property", "change_property")
    views = ("properties_import_progress", "properties_import_refused")
    pages = [LIST, ADD, page_at(row), *(reverse(f"admin:{v}", args=[row.pk]) for v in views)]
    assert [client.get(url).status_code for url in pages] == [403, 403, 403, 404, 404]
    assert all(Client().get(url).status_code == 302 for url in pages)


def test_nothing_changes_by_a_get_or_without_the_token(main, admin_client, admin_user):
    row = upload(main, admin_user, table(["A1"]))
    work(row)
    admin_client.get(f"{LIST}?action=release&_selected_action={row.pk}")
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(admin_user)
    assert act(forged, "release", row).status_code == 403
    assert hand_in(forged, main, table(["A1"])).status_code == 403
    assert admin_client.post(page_at(row), {"state": "RUNNING"}).status_code == 403
    assert admin_client.post(f"{page_at(row)}../delete/", {"post": "yes"}).status_code == 403
    assert (fresh(row).state, Import.objects.count()) == (State.PREVIEWED, 1)


# --- names of people ---
FOREIGN = (
    "objectReferenceId,title,address.street,address.locality,Balkon\n"
    "A1,Loft,Seestrasse,Zürich,Süd\n"
    "A2,Loft,,,\n"
    "A3,,,,\n"
)


def test_a_preview_names_its_properties_by_address_or_title_and_says_what_has_no_field(
    main, admin_client, admin_user
):
    address = {"street": "Gasse", "locality": "Bern"}
    create(main, "A1", {"address": address}, origin="ADMIN", now=timezone.now())
    row = upload(main, admin_user, FOREIGN.encode())
    work(row)
    page = admin_client.get(page_at(row)).context
    lists = {part["name"]: part["rows"] for part in page["parts"]}
    assert lists["new"] == [("Loft", "A2", ""), ("A3", "", "")]
    assert lists["aside"] == [("Gasse, Bern", "A1", 'Balkon: "Süd"')]
    assert [(one["name"], one["reference"]) for one in page["changed"]["records"]] == [
        ("Gasse, Bern", "A1")
    ]
    imports_upload.release(rows(row), actor=admin_user, now=timezone.now())
    while fresh(row).state == State.RUNNING:
        work(row)
    page = admin_client.get(page_at(row)).context
    assert page["says"] == "All records were imported. Not all of their values: see below."
    assert next(p for p in page["parts"] if p["name"] == "aside")["rows"] == [
        ("Seestrasse, Zürich", "A1", 'Balkon: "Süd"')
    ]


def test_an_import_of_an_earlier_version_shows_the_names_of_what_was_set_aside(
    main, admin_client, admin_user
):
    row = upload(main, admin_user, table(["A1"]))
    work(row)
    old = fresh(row).preview | {"aside": [["A1", ["Balkon", "Pool"]]]}
    del old["headlines"]
    Import.objects.update(preview=old)
    parts = admin_client.get(page_at(row)).context["parts"]
    assert next(p for p in parts if p["name"] == "aside")["rows"] == [("A1", "", "Balkon; Pool")]


# --- hostile text ---
def test_what_a_file_says_and_is_called_is_text_and_nothing_else(main, admin_client, admin_user):
    content = f'objectReferenceId,title,numberOfRooms\n"{CANARY}",x,1\n"b{CANARY}?",x,{CANARY}\n'
    row = upload(main, admin_user, content.encode(), name=f"{CANARY}.csv", released=True)
    work(row)
    broken = upload(main, admin_user, f"title,{CANARY}\n".encode(), name=f"{CANARY}.csv")
    work(broken)
    assert CANARY in fresh(broken).name
    for url in (LIST, page_at(row), page_at(broken)):
        page = admin_client.get(url).content.decode()
        assert ("&lt;svg onload" in page, "<svg onload" in page) == (True, False)


def test_the_list_of_refusals_is_an_attachment_without_a_formula(main, admin_client, admin_user):
    content = 'objectReferenceId,title\n"=1+1","a","b"\n'
    row = upload(main, admin_user, content.encode(), name='"x\r\ny".csv')
    work(row)
    response = admin_client.get(reverse("admin:properties_import_refused", args=[row.pk]))
    assert response["Content-Disposition"] == f'attachment; filename="refused-{row.pk}.csv"'
    assert response["X-Content-Type-Options"] == "nosniff"
    lines = list(csv.reader(io.StringIO(response.content.decode("utf-8-sig"))))
    assert lines[0] == ["record", "reference", "reasons"]
    assert lines[1][:2] == ["line 2", "'=1+1"]


def test_a_cut_list_of_refusals_says_how_many_are_missing(main, admin_client, admin_user):
    row = upload(main, admin_user, table(f"bad{n}" for n in range(1003)))
    work(row, limits=job.SliceLimits())
    text = admin_client.get(
        reverse("admin:properties_import_refused", args=[row.pk])
    ).content.decode()
    assert len(text.splitlines()) == 1002
    assert text.splitlines()[-1] == "and 3 more,,"
    assert "and 803 more" in admin_client.get(page_at(row)).content.decode()


# --- bounded ---
def test_the_list_asks_the_database_the_same_however_many_there_are(main, admin_user, admin_client):
    upload(main, admin_user, table(["A1"]))
    few = queries_of(admin_client, LIST)
    for _ in range(8):
        upload(main, admin_user, table(["A1"]))
    assert queries_of(admin_client, LIST) == few


def test_before_the_first_upload_the_list_says_what_to_do(db, admin_client):
    page = admin_client.get(LIST).content.decode()
    assert "No feed was uploaded yet" in page
    assert ADD in page or "hand_in" in page


def test_a_feed_that_lacks_most_of_the_stock_says_so_before_it_is_imported(
    main, admin_client, admin_user
):
    work(
        upload(
            main, admin_user, as_json(["A1", "A2", "A3"]).encode(), name="stock.json", released=True
        )
    )
    row = upload(main, admin_user, as_json(["A1"]).encode(), name="stock.json")
    assert work(row) == State.PREVIEWED
    page = admin_client.get(page_at(row)).content.decode()
    assert "it lacks 2 of the 3 properties that the last feed held" in page
    assert "Not in the feed any more: they stay as they are" in page
    imports_upload.release(Import.objects.filter(pk=row.pk), actor=admin_user, now=timezone.now())
    assert work(row) == State.FAILED


def test_the_list_writes_large_numbers_as_all_pages_do(workspace):
    counts = {"new": 1234, "refused": 1}
    known = {"name": "stock.csv", "state": State.PREVIEWED, "due_at": timezone.now()}
    Import.objects.create(workspace=workspace, **known, preview={"counts": counts})
    page = person("view_import").get(LIST).content.decode()
    assert "1,234 new, 1 refused" in page
