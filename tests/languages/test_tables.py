"""A table that a person downloads is in their language, and is read back in each of ours."""

import csv
import io
from urllib.parse import quote

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override
from openpyxl import load_workbook

from properties import catalog
from properties.catalog import Kind
from properties.domain.editing import create
from properties.exports.export_file import written
from properties.feeds import open_feed
from properties.feeds.profile import Profile
from properties.feeds.recognition import read_feed
from properties.feeds.records import Heading, Record
from properties.feeds.table import table_names
from properties.feeds.table.table_columns import COLUMNS, localized
from properties.feeds.table.table_names import LANGUAGES, column_of, in_words, of_words, title
from properties.feeds.table.table_writer import (
    ColumnNames,
    as_csv,
    as_xlsx,
    usual,
    write_csv,
    write_xlsx,
)
from properties.models import Property
from tests.languages.pseudo import CODE, longer

REF = "objectReferenceId"
EVERY = (*LANGUAGES, "de-ch")
SUFFIXES = ("csv", "xlsx")
FULL = {
    "title": "Loft",
    "offerType": "RENT",
    "propertyType": "APARTMENT",
    "propertyCategories": ["ATELIER", "WORKSHOP", "FURNISHED_FLAT"],
    "isFurnished": True,
    "isMultiStoryPlan": False,
    "characteristics": {"hasBalcony": "APPLIES", "hasElevator": "DOES_NOT_APPLY"},
    "address": {"street": "Seestrasse 4", "countryCode": "CH"},
    "yearBuilt": 1990,
    "energyCertificate": {"constructionYear": 1991},
    "prices": {"rent": {"gross": 1290, "interval": "MONTH"}},
    "localizations": [
        {"languageCode": "de", "title": "Loft", "location": "am See"},
        {"languageCode": "fr", "title": "Loft", "location": "au bord du lac"},
    ],
}


def table_of(folder, documents, suffix, language):
    """Write documents as a table for a reader of a language."""
    names = ColumnNames()
    for document in documents:
        names.need(document)
    path = folder / f"stock.{suffix}"
    write = write_csv if suffix == "csv" else write_xlsx
    assert [unsaid for _, unsaid in write(path, documents, names.ordered(), language=language)] == [
        [] for _ in documents
    ]
    return path


def rows_of(path):
    if path.suffix == ".csv":
        return list(csv.reader(io.StringIO(path.read_text("utf-8-sig"))))
    return [[cell.value for cell in row] for row in load_workbook(path).active]


def of_every_value():
    """Return documents that have each value of each field with values."""
    many = max(len(column.field.enum) for column in COLUMNS.values())
    for number in range(many):
        parts = {}
        for name, column in COLUMNS.items():
            if column.field.kind is Kind.BOOLEAN:
                parts[name] = bool(number % 2)
            elif column.field.enum:
                value = column.field.enum[number % len(column.field.enum)]
                parts[name] = [value] if column.field.kind is Kind.ENUM_LIST else value
        document = {REF: f"R-{number}"}
        for name, value in parts.items():
            *way, last = name.split(".")
            place = document
            for one in way:
                place = place.setdefault(one, {})
            place[last] = value
        yield document


# --- the names ---
@pytest.mark.parametrize("language", EVERY)
def test_each_column_is_found_by_its_header_in_each_language(language):
    names = [*COLUMNS, *(n for code in ("de", "fr", "id", "rm") for n in localized(code))]
    found = {name: column_of(title(name, language), language) for name in names}
    assert [name for name, column in found.items() if column is None or column.name != name] == []


def test_no_header_of_any_language_means_two_columns():
    meant = {}
    for language in EVERY:
        for name in (*COLUMNS, *localized("de")):
            meant.setdefault(title(name, language).casefold(), set()).add(name)
    assert [(header, names) for header, names in meant.items() if len(names) > 1] == []


@pytest.mark.parametrize("language", EVERY)
def test_each_value_of_each_field_is_found_by_its_name_in_each_language(language):
    wrong = [
        (field.path, value)
        for field in catalog.FIELDS.values()
        for value in field.enum
        if of_words(field, in_words(field, value, language), language) != value
        or "|" in in_words(field, value, language)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [
        ("Atelier", "de", "ATELIER"),
        ("Atelier", "fr", "WORKSHOP"),
        ("Atelier", "", "Atelier"),  # it has two meanings
        ("werkstatt", "", "WORKSHOP"),
        ("Werkstatt", "it", "WORKSHOP"),
        ("Zelt", "de", "Zelt"),
    ],
)
def test_a_value_means_what_it_does_in_the_language_of_its_table(text, language, value):
    field = catalog.FIELDS["propertyCategories"]
    assert of_words(field, [text], language) == [value]


# --- there and back ---
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("language", ["", *EVERY])
def test_each_value_of_the_catalog_is_read_back_from_a_table_in_each_language(
    tmp_path, language, suffix
):
    documents = list(of_every_value())
    records = list(read_feed(table_of(tmp_path, documents, suffix, language)))
    assert [record.document for record in records] == documents


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("language", EVERY)
def test_what_a_person_exports_is_imported_without_a_change(main, tmp_path, language, suffix):
    Property.objects.create(workspace=main, object_reference_id="R-1", desired=FULL)
    path = tmp_path / f"stock.{suffix}"
    list(written(path, Property.objects.all(), language))
    (record,) = open_feed(path)  # in the process of its own
    assert (record.reference, record.document) == ("R-1", {REF: "R-1"} | FULL)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_says_all_in_the_language_of_its_reader(tmp_path, suffix):
    document = {
        REF: "R-1",
        **{"propertyType": "HOUSE", "isFurnished": True, "yearBuilt": 1990},
        **{"characteristics": {"hasBalcony": "DOES_NOT_APPLY"}},
        **{"energyCertificate": {"constructionYear": 1991}, "prices": {"rent": {"gross": 900}}},
        "localizations": [{"languageCode": "fr", "title": "Maison"}],
    }
    heads, cells = rows_of(table_of(tmp_path, [document], suffix, "de"))
    assert dict(zip(heads, map(str, cells), strict=True)) == {
        "Objektreferenz": "R-1",
        "Objektart": "Haus",
        "Möbliert": "Ja",
        "Baujahr": "1990",
        "Baujahr laut Energieausweis": "1991",
        "Balkon": "Trifft nicht zu",
        "Miete · Bruttomiete": "900",
        "Texte · fr · Titel": "Maison",
    }


def test_the_command_writes_the_words_of_the_platform(main, tmp_path):
    create(main, "R-1", {"propertyType": "HOUSE"}, origin="ADMIN", now=timezone.now())
    path = tmp_path / "stock.csv"
    with override("de"):
        list(written(path, Property.objects.all()))
    assert rows_of(path) == [[REF, "propertyType"], ["R-1", "HOUSE"]]


# --- what is ours, and what is not ---
def items_of(path, text):
    path.write_text(text)
    return list(read_feed(path, Profile()))


def test_a_table_without_our_name_of_the_reference_is_a_foreign_one(tmp_path):
    heading, *_ = items_of(tmp_path / "a.csv", f"{REF},Titel,Balkon\nR-1,Loft,Ja\n")
    assert heading.columns == ((REF, REF, ""), ("Titel", "", "title"), ("Balkon", "", ""))


def test_a_column_of_another_language_counts_too(tmp_path):
    text = "Objektreferenz;TITEL;Numero di locali;Farbe\nR-1;Loft;4;rot\n"
    heading, _, record = items_of(tmp_path / "a.csv", text)
    assert isinstance(heading, Heading)
    assert heading.columns == (
        ("Objektreferenz", REF, ""),
        ("TITEL", "title", ""),
        ("Numero di locali", "numberOfRooms", ""),
        ("Farbe", "", ""),
    )
    assert record.document == {REF: "R-1", "title": "Loft", "numberOfRooms": 4}


@pytest.mark.parametrize("apostrophe", ["'", "’"])  # noqa: RUF001 - people type both
def test_a_table_with_one_column_of_ours_is_a_table(tmp_path, apostrophe):
    text = f"Riferimento dell{apostrophe}oggetto\nR-1\n"
    (record,) = items_of(tmp_path / "a.csv", text)
    assert isinstance(record, Record)
    assert record.document == {REF: "R-1"}


def test_a_street_in_a_table_of_ours_is_without_its_number(tmp_path):
    text = "Objektreferenz,Adresse · Straße\nR-1,Strasse 4\n"
    (record,) = items_of(tmp_path / "a.csv", text)
    assert record.document["address"] == {"street": "Strasse 4"}


# --- the downloads ---
@pytest.mark.parametrize("language", EVERY)
def test_the_template_is_in_the_language_of_its_reader_and_is_read(tmp_path, language):
    (heads,) = csv.reader(io.StringIO(as_csv(language).decode("utf-8-sig")))
    assert heads == [title(name, language) for name in usual()]
    assert [column_of(head, language).name for head in heads] == usual()
    book = load_workbook(io.BytesIO(as_xlsx(language)))
    sheet, words = book.worksheets
    assert [cell.value for cell in sheet[1]] == heads
    texts = [name for name in usual() if name.startswith("localizations")]
    described = [row[0].value for row in words][1:]
    assert described == [title(name, language) for name in (*COLUMNS, *texts)]


def test_the_sheets_of_the_template_say_all_in_german():
    sheet, words = load_workbook(io.BytesIO(as_xlsx("de"))).worksheets
    assert (sheet.title, words.title) == ("Objekte", "Spalten")
    said = {row[0].value: row[1].value for row in words}
    assert said["Spalte"] == "enthält"
    assert said["Möbliert"] == "ja, nein"
    assert said["Angebotsart"] == "eines von: Kauf, Miete"
    assert said["Objektreferenz"] == "Text, höchstens 255 Zeichen"


def test_each_text_of_the_template_is_translated(reader):
    response = reader.get(reverse("admin:properties_import_template_xlsx"))
    book = load_workbook(io.BytesIO(response.content))
    plain = [
        cell.value
        for sheet in book
        for row in sheet.iter_rows()
        for cell in row
        if cell.value and not cell.value.startswith("⟦")
    ]
    assert [sheet.title for sheet in book] == [longer("properties"), longer("columns")]
    assert set(plain) == {"2026-01-31", "2026-01-31T09:00:00Z"}
    assert quote(longer("template"), safe="~") in response["Content-Disposition"]


def test_the_name_and_the_header_of_a_download_are_in_the_language_of_who_downloads(reader, main):
    row = create(main, "R-1", {"propertyType": "HOUSE"}, origin="ADMIN", now=timezone.now())
    chosen = {"action": "export_csv", "_selected_action": [row.pk]}
    response = reader.post(reverse("admin:properties_property_changelist"), chosen)
    heads, cells = csv.reader(io.StringIO(response.getvalue().decode("utf-8-sig")))
    assert heads == [table_names.title(name, CODE) for name in (REF, "propertyType")]
    assert heads[0].startswith("⟦")
    assert cells == ["R-1", longer("House")]
    name = longer("properties-%(workspace)s-%(day)s")
    name %= {"workspace": "main", "day": f"{timezone.now():%Y-%m-%d}"}
    assert quote(name, safe="~") in response["Content-Disposition"]
