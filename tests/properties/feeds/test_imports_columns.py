"""Which column of a foreign table is which: proposed in the preview, said by a person, kept."""

import io

import openpyxl
import pytest
from django.urls import reverse
from django.utils import timezone

from crm_sync.models import Workspace
from properties.imports.column_choice import TableMapping, Unusable, correct
from properties.models import Import, Property, Sender
from properties.models.import_ import ImportState as State
from tests.problems import noted
from tests.properties.test_imports_admin import ADD, act, page_at, person
from tests.properties.uploaded import fresh, upload, work

FOREIGN = b"Objekt-Nr.;Titel;PLZ;Farbe\nA1;Haus;8001;rot\nA2;Hof;8002;blau\n"
MAPPED = {"Objekt-Nr.": "objectReferenceId", "Titel": "title", "PLZ": "address.postalCode"}


@pytest.fixture
def looked_at(main, admin_user):
    """Upload a file, and let a worker look at it."""

    def look(content=FOREIGN, **more) -> Import:
        row = upload(main, admin_user, content, **more)
        work(row)
        return fresh(row)

    return look


def say(client, row, columns=None, **more):
    """Post what a person says of the columns, by their names."""
    names = [name for name, _, _ in row.preview["heading"][2]]
    said = {f"column-{names.index(name)}": ours for name, ours in (columns or {}).items()}
    return client.post(
        reverse("admin:properties_import_columns", args=[row.pk]), said | more, follow=True
    )


def test_a_foreign_table_waits_for_a_person_with_a_proposal(looked_at, admin_client):
    row = looked_at()
    assert (row.state, row.total) == (State.PREVIEWED, 0)
    assert row.preview["heading"] == [
        "",
        1,
        [
            ["Objekt-Nr.", "", "objectReferenceId"],
            ["Titel", "", "title"],
            ["PLZ", "", "address.postalCode"],
            ["Farbe", "", ""],
        ],
    ]
    page = admin_client.get(page_at(row)).content.decode()
    assert "say below which column is which" in page
    assert page.count('<span class="cs-badge cs-warning">proposed</span>') == 3
    assert 'name="column-2" value="address.postalCode" list="our-columns"' in page
    assert act(admin_client, "release", row).status_code == 302
    work(row)
    assert not Property.objects.exists()


def test_what_a_person_says_is_kept_with_a_new_sender_and_imported(looked_at, admin_client, main):
    row = looked_at()
    page = say(admin_client, row, MAPPED | {"Farbe": ""}, sender="Agency").content.decode()
    assert "Kept with Agency. A worker looks at the file again." in page
    sender = Sender.objects.get(workspace=main, name="Agency")
    assert (fresh(row).state, fresh(row).sender) == (State.PREVIEWING, sender)
    assert sender.columns == MAPPED | {"Farbe": ""}
    assert noted()[-1] == "Columns kept with Agency."
    work(row)
    assert fresh(row).preview["counts"]["new"] == 2
    assert fresh(row).preview["warnings"] == []
    act(admin_client, "release", row)
    work(row)
    found = Property.objects.get(object_reference_id="A1")
    assert found.desired == {
        **{"objectReferenceId": "A1", "title": "Haus", "address": {"postalCode": "8001"}},
    }
    assert found.leftover == {"Farbe": "rot"}


def test_the_next_file_of_the_sender_is_read_the_same_way(looked_at, admin_client, main):
    say(admin_client, looked_at(), MAPPED, sender="Agency")
    answer = TableMapping({"Titel": "author", "title": "title"})
    second = looked_at(FOREIGN.replace(b"A1", b"B1"))
    second.sender = Sender.objects.get()
    correct(second, answer, now=timezone.now())
    work(second)
    assert Sender.objects.get().columns == MAPPED | {"Titel": "author"}
    assert fresh(second).preview["new"] == ["B1", "A2"]


def test_what_a_person_saw_is_imported_whatever_the_sender_says_since(
    looked_at, admin_client, main
):
    row = looked_at()
    say(admin_client, row, MAPPED, sender="Agency")
    work(row)
    Sender.objects.update(columns={"Objekt-Nr.": "objectReferenceId"})
    act(admin_client, "release", row)
    work(row)
    assert Property.objects.get(object_reference_id="A1").desired["title"] == "Haus"


def test_sheet_and_header_row_are_kept_too(looked_at, admin_client):
    book, content = openpyxl.Workbook(), io.BytesIO()
    book.active.title = "First"
    for line in (["Objekt-Nr.", "Titel"], ["A1", "x"]):
        book.active.append(line)
    other = book.create_sheet("Second")
    for line in (["Stand", "heute"], ["Objekt-Nr.", "Titel"], ["B1", "y"]):
        other.append(line)
    book.save(content)
    row = looked_at(content.getvalue(), name="stock.xlsx")
    assert row.preview["heading"][:2] == ["First", 1]
    columns = {"Objekt-Nr.": "objectReferenceId"}
    say(admin_client, row, columns, sender="Agency", sheet="Second", header_row="2")
    work(row)
    assert fresh(row).preview["new"] == ["B1"]
    page = admin_client.get(page_at(row)).content.decode()
    assert 'name="sheet" maxlength="31" value="Second"' in page
    assert 'name="header_row" value="2"' in page


@pytest.mark.parametrize(
    ("columns", "more", "faults"),
    [
        ({"Titel": "titel"}, {}, ["“titel” is none of our columns."]),
        (
            {"Titel": "title", "Farbe": "title"},
            {},
            ["“title” is chosen for 2 columns of the file."],
        ),
        ({"Titel": "title"}, {"sender": ""}, ["Name the sender: what you say is kept with it."]),
        (
            {},
            {"sender": "x" * 81},
            ["The name of the sender is longer than 80 characters."],
        ),
    ],
)
def test_what_cannot_be_kept_is_said_and_changes_nothing(
    looked_at, admin_client, columns, more, faults
):
    row = looked_at()
    page = say(admin_client, row, columns, **({"sender": "Agency"} | more)).content.decode()
    for fault in faults:
        assert fault in page
    assert (Sender.objects.count(), fresh(row).state) == (0, State.PREVIEWED)


def test_what_was_entered_is_shown_again_with_why_it_was_refused(looked_at, admin_client):
    row = looked_at()
    columns = {"Objekt-Nr.": "", "Titel": "titel", "PLZ": "address.postalCode", "Farbe": "title"}
    page = say(admin_client, row, columns, sender="My agency", header_row="3")
    text = page.content.decode()
    assert (page.redirect_chain, page.status_code) == ([], 200)
    assert "“titel” is none of our columns." in text
    for number, value in enumerate(("", "titel", "address.postalCode", "title")):
        assert f'name="column-{number}" value="{value}"' in text
    states = [one["state"] for one in page.context["columns"]["rows"]]
    assert states == ["set aside", "chosen", "proposed", "chosen"]
    assert 'name="sender" maxlength="80" value="My agency"' in text
    assert 'name="header_row" value="3"' in text
    assert "This is what the import would do" not in text
    assert "say below which column is which" in text


def test_columns_of_an_import_that_waits_no_more_stay_as_they_are(looked_at, main):
    row = looked_at()
    Import.objects.update(state=State.CANCELLED, ended_at=timezone.now())
    with pytest.raises(Unusable, match="does not wait for a person any more"):
        correct(row, TableMapping(MAPPED, sender="Agency"), now=timezone.now())
    assert not Sender.objects.exists()


def test_who_may_not_import_may_not_say_what_a_column_is(looked_at, client):
    row = looked_at()
    url = reverse("admin:properties_import_columns", args=[row.pk])
    viewer = person("view_import", "view_property")
    importer = person("view_import", "change_import")  # it may release, but change no sender
    for who in (viewer, importer):
        assert who.post(url, {"sender": "Agency"}).status_code == 403
        assert "our-columns" not in who.get(page_at(row)).content.decode()
    assert person("add_import", "change_property").post(url).status_code in (403, 404)
    assert viewer.get(url).status_code == 405
    assert not Sender.objects.exists()


def test_a_table_in_our_own_names_asks_nothing(looked_at, admin_client):
    row = looked_at(b"objectReferenceId,title\nA1,x\n")
    assert "heading" not in row.preview
    assert "our-columns" not in admin_client.get(page_at(row)).content.decode()


def test_names_of_columns_are_text_and_nothing_else(looked_at, admin_client):
    row = looked_at(b'objectReferenceId,"<svg onload=alert(1)>"\nA1,x\n')
    page = admin_client.get(page_at(row)).content.decode()
    assert ("&lt;svg onload" in page, "<svg onload" in page) == (True, False)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_template_can_be_downloaded_and_read_back(admin_client, looked_at, kind):
    page = admin_client.get(ADD).content.decode()
    url = reverse(f"admin:properties_import_template_{kind}")
    assert f'href="{url}"' in page
    response = admin_client.get(url)
    assert response["Content-Disposition"] == f'attachment; filename="template.{kind}"'
    row = looked_at(response.content, name=f"template.{kind}")
    assert (row.state, row.problem, "heading" in row.preview) == (State.PREVIEWED, "", False)
    assert person("view_import").get(url).status_code == 403


def test_a_template_fills_to_a_property(admin_client, looked_at):
    content = admin_client.get(reverse("admin:properties_import_template_csv")).content.decode(
        "utf-8-sig"
    )
    names = content.strip().split(",")
    line = ",".join({"Object reference ID": "A1", "Offer type": "Rent"}.get(n, "") for n in names)
    assert looked_at(f"{content}{line}\n".encode()).preview["new"] == ["A1"]


def test_a_sender_of_another_workspace_with_the_name_is_another_one(looked_at, admin_client):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test")
    Sender.objects.create(workspace=other, name="Agency")
    say(admin_client, looked_at(), MAPPED, sender="Agency")
    assert sorted(Sender.objects.values_list("workspace__slug", "columns")) == [
        ("main", MAPPED),
        ("other", {}),
    ]
