"""An import says old to new before it is released, cut to what a page can show."""

import csv
import io
import json
import re

import pytest
from django.utils import timezone
from hypothesis import given, strategies as st

from orders.models import PersonSettings
from properties.admin.import_.import_changes import ON_A_PAGE, in_words
from properties.domain.editing import create
from properties.imports import job
from properties.imports.differences import LENGTH, MOST, RECORDS, differences, shortened
from properties.imports.report import DIFFERENCES
from properties.models import Property
from tests.crm_sync.admin_pages import queries_of
from tests.properties.test_full_feed_guard import as_json
from tests.properties.test_imports_admin import page_at
from tests.properties.uploaded import CANARY, fresh, table, upload, work

pytestmark = pytest.mark.usefixtures("data_dir")


def looked_at(workspace, user, content: bytes, name: str = "stock.csv"):
    row = upload(workspace, user, content, name=name)
    work(row, limits=job.SliceLimits())
    return fresh(row)


def shown(client, row, query: str = "") -> list[tuple[str, str, str]]:
    """Return field, old and new of each row on the page."""
    page = client.get(page_at(row) + query).content.decode()
    cells = '<td data-label="Field">(.*?)</td><td .*?>(.*?)</td><td .*?>(.*?)</td>'
    return re.findall(cells, page, re.DOTALL)


def test_the_preview_says_old_and_new_of_each_changed_field(main, admin_user, admin_client):
    texts = [{"languageCode": "de", "title": "Haus"}, {"languageCode": "fr", "title": "Maison"}]
    create(
        main,
        "A1",
        {"title": "House", "numberOfRooms": 4, "localizations": texts},
        origin="ADMIN",
        now=timezone.now(),
    )
    content = "objectReferenceId,title,numberOfRooms,localizations.de.title\nA1,Villa,4,Palast\n"
    row = looked_at(main, admin_user, content.encode())
    assert row.preview["differences"] == [
        [
            "A1",
            [
                ["localizations[0].title", "de · title", "Haus", "Palast"],
                ["title", "", "House", "Villa"],
            ],
            2,
        ]
    ]
    assert shown(admin_client, row) == [
        ("Texts · de · title", "Haus", "Palast"),
        ("Title", "House", "Villa"),
    ]
    assert Property.objects.get().desired["title"] == "House"


def test_the_preview_names_a_member_as_every_page_does(main, admin_user, admin_client):
    rent = {"prices.currency": "CHF", "prices.rent": {"net": 1800, "interval": "MONTH"}}
    create(main, "A1", rent, origin="ADMIN", now=timezone.now())
    content = "objectReferenceId,prices.rent.net\nA1,1700\n"
    row = looked_at(main, admin_user, content.encode())
    assert [name for name, _, _ in shown(admin_client, row)] == ["Rent · net"]


def test_the_preview_names_a_member_in_the_language_of_the_reader(main, admin_user, admin_client):
    PersonSettings.objects.create(person=admin_user, language="de")
    held = {
        "address": {"streetNumber": "4a"},
        "seller": {"organization": {"website": {"url": "https://a.test", "label": "A"}}},
        "localizations": [{"languageCode": "fr", "title": "Maison"}],
        "customFields": {"Team · 3.5": "Nord"},
    }
    create(main, "A1", held, origin="ADMIN", now=timezone.now())
    new = {"address.streetNumber": "4b", "seller.organization.website.url": "https://b.test"}
    new |= {"localizations.fr.title": "Villa", "customFields": '{"Team · 3.5": "Süd"}'}
    file = io.StringIO()
    csv.writer(file).writerows([["objectReferenceId", *new], ["A1", *new.values()]])
    row = looked_at(main, admin_user, file.getvalue().encode())
    page = admin_client.get(page_at(row)).content.decode()
    assert re.findall('<td data-label="Feld">(.*?)</td>', page) == [
        "Adresse · Hausnummer",
        "Eigene Felder · Team · 3.5",
        "Texte · fr · Titel",
        "Verkäuferschaft · Organisation · Website · URL",
    ]


def test_what_was_imported_says_the_same_as_the_preview(main, admin_user, admin_client):
    create(main, "A1", {"title": "Old"}, origin="ADMIN", now=timezone.now())
    preview = looked_at(main, admin_user, table(["A1", "A2"])).preview
    row = upload(main, admin_user, table(["A1", "A2"]), released=True)
    work(row, until=0.0)
    work(row)
    assert fresh(row).report["differences"] == preview["differences"]
    assert [name for name, _, _ in shown(admin_client, row)] == ["Number of rooms", "Title"]


def test_the_hundred_first_record_is_only_counted(main, admin_user, admin_client):
    references = [f"A{n:03}" for n in range(RECORDS + 5)]
    work(upload(main, admin_user, table(references), released=True), limits=job.SliceLimits())
    row = looked_at(main, admin_user, table(references, title="Palace"))
    assert len(row.preview["differences"]) == RECORDS
    assert row.preview["counts"]["changed"] == RECORDS + 5
    assert "and 5 more" in admin_client.get(page_at(row)).content.decode()


def test_a_record_of_very_many_fields_is_folded_and_cut(main, admin_user, admin_client):
    old, new = ({f"field{n:02}": text for n in range(90)} for text in ("old", "new"))
    for reference in ("A1", "A2"):
        create(main, reference, {"customFields": old}, origin="ADMIN", now=timezone.now())
    file = io.StringIO()
    cells = [["objectReferenceId", "title", "customFields"], ["A1", "New", json.dumps(new)]]
    csv.writer(file).writerows([*cells, ["A2", "New", json.dumps(old)]])
    row = looked_at(main, admin_user, file.getvalue().encode())
    page = admin_client.get(page_at(row)).content.decode()
    assert (page.count('<details class="pi-record">'), page.count('"pi-record"')) == (1, 2)
    assert ("91 values" in page, "1 value<" in page) == (True, True)
    assert ("Custom fields · field07", "old", "new") in shown(admin_client, row)
    many = {f"field{n}": "old" for n in range(MOST + 50)}
    found = differences("A", many, many, dict.fromkeys(many, "new"))
    assert (len(found.first), found.count) == (MOST, MOST + 50)


def test_however_much_is_changed_the_page_stays_small(main, admin_user, admin_client):
    """The worst that a summary can hold: each value long, each page full."""
    row = looked_at(main, admin_user, table(["A1"]))
    long = [["title", "", "é" * LENGTH, "ü" * LENGTH]] * MOST
    kept = [[f"R{n}", long, MOST] for n in range(DIFFERENCES // MOST)]
    kept += [[f"Z{n}", [], 3] for n in range(RECORDS - len(kept))]
    row.preview["differences"] = kept
    row.preview["counts"] |= {"changed": 100_000}
    row.save()
    response = admin_client.get(page_at(row))
    pages = response.context["changed"]["pages"]
    assert len(pages) == len(kept) // ON_A_PAGE + DIFFERENCES // ON_A_PAGE + 1
    for number in (1, len(pages)):
        assert len(admin_client.get(f"{page_at(row)}?changed={number}").content) < 250_000
    assert "and 99,900 more" in response.content.decode().replace("99900", "99,900")


@pytest.mark.parametrize("asked", ["0", "-1", "x", "9999", "99999999999", "²"])
def test_a_page_that_is_not_there_is_the_nearest_one(main, admin_user, admin_client, asked):
    create(main, "A1", {"title": "Old"}, origin="ADMIN", now=timezone.now())
    row = looked_at(main, admin_user, table(["A1"]))
    assert len(shown(admin_client, row, f"?changed={asked}")) == 2


def test_old_and_new_are_text_and_nothing_else(main, admin_user, admin_client):
    create(main, "A1", {"title": CANARY}, origin="ADMIN", now=timezone.now())
    content = f'objectReferenceId,title,"customFields.{CANARY}"\nA1,"{CANARY}!",{CANARY}\n'
    row = looked_at(main, admin_user, content.encode())
    page = admin_client.get(page_at(row)).content.decode()
    assert ("&lt;svg onload" in page, "<svg onload" in page) == (True, False)


def test_the_page_asks_the_database_the_same_however_much_is_changed(
    main, admin_user, admin_client
):
    for reference in ("A1", "A2", "A3"):
        create(main, reference, {"title": "Old"}, origin="ADMIN", now=timezone.now())
    few = looked_at(main, admin_user, table(["A1"]))
    many = looked_at(main, admin_user, table(["A1", "A2", "A3"]))
    assert queries_of(admin_client, page_at(few)) == queries_of(admin_client, page_at(many))


def test_a_full_feed_says_old_and_new_like_a_table(main, admin_user, admin_client):
    first = as_json(["A1"]).encode()
    work(upload(main, admin_user, first, name="stock.json", released=True))
    second = first.replace(b"Wohnung", b"Villa")
    row = looked_at(main, admin_user, second, name="stock.json")
    rows = shown(admin_client, row)
    assert ("Texts · de · title", "Wohnung", "Villa") in rows


# --- pure ---
@given(st.text(max_size=400), st.text(max_size=400))
def test_two_texts_that_differ_still_differ_when_they_are_cut(old, new):
    cut = shortened(old, new)
    assert (cut[0] == cut[1]) == (old == new)
    assert max(map(len, cut)) <= LENGTH + 2


def test_of_long_texts_the_first_difference_is_shown():
    same = "x" * 1000
    old, new = shortened(f"{same}old{same}", f"{same}new{same}")
    assert ("old" in old, "new" in new, old[0], old[-1]) == (True, True, "…", "…")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("numberOfRooms: “x” is not a number", "Number of rooms: “x” is not a number"),
        (
            "title: Use at most 255 characters, not 300",
            "Title: Use at most 255 characters, not 300",
        ),
        ("The reference has a slash", "The reference has a slash"),
        ("prices.rent.net: Write a number", "Rent · net: Write a number"),
    ],
)
def test_a_refusal_is_told_with_the_name_of_its_field(reason, said):
    assert in_words(reason) == said
