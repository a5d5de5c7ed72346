"""Tables in our own columns: CSV and Excel, cell by cell, and files that want to do harm."""

import io
import zipfile
from datetime import date, datetime, time
from pathlib import Path

import pytest
from openpyxl import Workbook

from properties import catalog
from properties.feeds import NotAFeed, Refusal, Truncated
from properties.feeds.profile import Profile
from properties.feeds.recognition import read_feed
from properties.feeds.table import xlsx_reader
from properties.feeds.table.table_cells import EMPTY
from properties.feeds.table.table_columns import COLUMNS

EXAMPLE = Path(__file__).parents[3] / "examples" / "properties.csv"
REF = "objectReferenceId"
STRICT = Profile(lenient=False)  # one bad value refuses its row
SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture
def read_csv(tmp_path):
    """Read a CSV file of the given text or bytes."""

    def read(content):
        path = tmp_path / "stock.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_feed(path, STRICT))

    return read


@pytest.fixture
def read_xlsx(tmp_path):
    """Read a workbook with the given rows."""

    def read(*rows):
        path = tmp_path / "stock.xlsx"
        book = Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
        return list(read_feed(path, STRICT))

    return read


@pytest.fixture
def read_parts(tmp_path):
    """Read a workbook of two properties in which some parts are others."""

    def read(parts):
        book, whole = Workbook(), io.BytesIO()
        for row in ([REF, "title"], ["R-1", "one"], ["R-2", "two"]):
            book.active.append(row)
        book.save(whole)
        path = tmp_path / "stock.xlsx"
        with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for name in {*old.namelist(), *parts}:
                new.writestr(name, parts[name] if name in parts else old.read(name))
        return list(read_feed(path))

    return read


def sheet(rows, before=""):
    """Return the XML of a sheet."""
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    size = '<dimension ref="A1:XFD9"/>'
    data = f"<sheetData>{rows}</sheetData>"
    return f'{before}<worksheet xmlns="{namespace}">{size}{data}</worksheet>'


def excel(*parts):
    """Return a time as Excel knows it: without a zone."""
    return datetime(*parts)  # noqa: DTZ001


HEADER = f'<row r="1"><c r="A1" t="inlineStr"><is><t>{REF}</t></is></c></row>'


def test_our_example_imports_without_a_refusal():
    records = list(read_feed(EXAMPLE))
    assert [(r.reference, r.position) for r in records] == [
        ("MH-4001", "line 2"),
        ("MH-4002", "line 4"),
        ("MH-4003", "line 5"),
    ]
    assert [catalog.validate_document(r.document) for r in records] == [[], [], []]
    house = records[1].document
    assert house["prices"] == {"currency": "CHF", "buy": {"price": 1250000}}
    assert house["commissions"] == [{"payer": "BUYER", "percentage": 2.5}]
    assert house["localizations"] == [
        {"languageCode": "de", "title": "Reihenhaus mit Garten"},
        {"languageCode": "fr", "title": "Maison mitoyenne avec jardin"},
    ]
    assert records[0].document["propertyCategories"] == ["ONE_ROOM_FLAT", "FURNISHED_FLAT"]


# --- the file and its header


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_delimiters_and_encodings_are_told_apart(read_csv, delimiter, encoding):
    rows = [[REF, "title"], ["R-1", '"Küche, Bad; 900 €"']]
    text = "\n".join(delimiter.join(row) for row in rows)
    assert read_csv(text.encode(encoding))[0].document["title"] == "Küche, Bad; 900 €"


def test_text_that_begins_as_utf8_and_then_is_none_is_no_feed(read_csv):
    with pytest.raises(NotAFeed, match=r"^stock.csv: begins as UTF-8, but is none at byte 36$"):
        read_csv(f"{REF},title\nR-1,Kü".encode() + b"che R\xf6d")


def test_a_header_with_bytes_that_are_no_text_is_no_feed(read_csv):
    with pytest.raises(NotAFeed, match=r"^stock.csv: no text after 0 records: "):
        read_csv(f"{REF},title".encode() + b"\x81\nR-1,a\n")


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (f"{REF},title,title", 'the column "title" is there twice'),
        ("title,floor", f"a table without the column {REF}"),
        ("a,b", f"a table of which no column is known, without the column {REF}"),
    ],
)
def test_a_header_that_is_not_ours_is_no_feed(read_csv, read_xlsx, header, reason):
    for read in (lambda: read_csv(header + "\nR-1"), lambda: read_xlsx(header.split(","))):
        with pytest.raises(NotAFeed) as caught:
            read()
        assert str(caught.value).partition(": ")[2].startswith(reason)


def test_every_field_that_can_be_written_has_a_column():
    missing = {
        path
        for path, field in catalog.FIELDS.items()
        if "[]" not in path and not field.read_only and path not in COLUMNS
    }
    containers = {catalog.Kind.OBJECT, catalog.Kind.MERGED}
    assert {p for p in missing if catalog.FIELDS[p].kind not in containers} == {"localizations"}


def test_empty_rows_and_columns_at_the_end_are_nothing(read_csv, read_xlsx):
    assert [r.position for r in read_csv(f"{REF},title,,\n,,,\nR-1,a,,\n\n")] == ["line 3"]
    assert [r.position for r in read_xlsx([REF, None], [], ["R-1"], [None])] == ["row 3"]


# --- rows


def test_one_bad_cell_refuses_its_row_with_every_reason(read_csv):
    good, bad = read_csv(f"{REF},floor,offerType,title\nR-1,2,RENT,a\nR-2,two,SALE,{'x' * 256}\n")
    assert good.reference == "R-1"
    assert bad == Refusal(
        "line 3",
        "R-2",
        [
            "floor: “two” is not a number such as 1200 or 4.5",
            "offerType: “SALE” is not one of its values: choose one of BUY, RENT",
            "title: Use at most 255 characters, not 256",
        ],
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",a,", f"{REF}: This value is missing"),
        (f"{EMPTY},a,", f"{REF}: This value is missing"),
        ("R-1,b,", f'{REF} "R-1" is a duplicate: an earlier record has it'),
        (f"{REF},title,", f'{REF} "{REF}" is a duplicate: an earlier record has it'),
        ("..,a,", f'{REF}: The reference cannot be "..": that is a step in a path'),
        ("R-2,a", "has 2 cells, the header has 3"),
        ("R-2,a,,more", "has 1 cell more than the header"),
    ],
)
def test_a_row_that_is_none_is_refused(read_csv, row, reason):
    refusal = read_csv(f"{REF},title,floor\nR-1,a,\n{row}\n")[1]
    assert (refusal.position, refusal.reasons) == ("line 3", [reason])


@pytest.mark.parametrize(
    "rest", ['R-2,"never ended', "R-2", '"R-2"x,a\n'], ids=["quote", "cells", "garbage"]
)
def test_a_csv_that_breaks_off_is_truncated(read_csv, rest):
    with pytest.raises(Truncated):
        read_csv(f"{REF},title\nR-1,a\n{rest}")


def test_odd_phones_are_taken_and_reported(read_csv):
    record = read_csv(f"{REF},seller.contactPerson.phone\nR-1,?\n")[0]
    assert record.document["seller"] == {"contactPerson": {"phone": "?"}}
    told = "is no phone number; it is imported all the same"
    assert (record.leftover, record.warnings) == (
        {},
        (f"seller.contactPerson.phone: “?” {told}",),
    )


# --- what a row changes

KNOWN = {
    "title": "old",
    "floor": 1,
    "address": {"street": "Old 1", "locality": "Bern"},
    "prices": {"currency": "CHF", "rent": {"gross": 9, "interval": "MONTH"}},
    "localizations": [
        {"languageCode": "fr", "title": "vieux"},
        {"languageCode": "de", "title": "alt", "excerpt": "kurz"},
    ],
}


@pytest.mark.parametrize(
    ("column", "text", "changes"),
    [
        ("title", "", {}),
        ("title", "new", {"title": "new"}),
        ("floor", EMPTY, {"floor": None}),
        ("address.street", "New 2", {"address": {"street": "New 2", "locality": "Bern"}}),
        ("address.street", f" {EMPTY} ", {"address": {"locality": "Bern"}}),
        (
            "address.geo.latitude",
            "47.1",
            {"address": {"street": "Old 1", "locality": "Bern", "geo": {"latitude": 47.1}}},
        ),
        ("prices.rent.gross", "10", {"prices.rent": {"gross": 10, "interval": "MONTH"}}),
        ("prices.buy.price", "10", {"prices.buy": {"price": 10}}),
        ("prices.buy.price", EMPTY, {"prices.buy": None}),
        (
            "localizations.de.title",
            "neu",
            {
                "localizations": [
                    {"languageCode": "fr", "title": "vieux"},
                    {"languageCode": "de", "title": "neu", "excerpt": "kurz"},
                ]
            },
        ),
        (
            "localizations.fr.title",
            EMPTY,
            {"localizations": [{"languageCode": "de", "title": "alt", "excerpt": "kurz"}]},
        ),
        (
            "localizations.it.title",
            "nuovo",
            {
                "localizations": [
                    *KNOWN["localizations"],
                    {"languageCode": "it", "title": "nuovo"},
                ]
            },
        ),
        ("localizations.it.title", EMPTY, {"localizations": KNOWN["localizations"]}),
    ],
)
def test_a_cell_is_laid_over_what_is_known(read_csv, column, text, changes):
    record = read_csv(f"{REF},{column}\nR-1,{text}\n")[0]
    assert record.changes(KNOWN) == {REF: "R-1", **changes}


def test_a_cleared_field_is_part_of_the_digest(read_csv):
    documents = [read_csv(f"{REF},address.street\nR-1,{c}\n")[0].document for c in ("", EMPTY)]
    assert documents == [{REF: "R-1"}, {REF: "R-1", "address": {"street": None}}]


# --- cells

COLUMN_FOR = {
    "text": "title",
    "number": "areaBwf",
    "floor": "floor",
    "bool": "isFurnished",
    "date": "energyCertificate.issuedAt",
    "time": "availabilityStartAt",
    "enum": "offerType",
    "country": "address.countryCode",
    "state": "characteristics.hasBalcony",
    "json": "commissions",
    "categories": "propertyCategories",
}


def leaf(record, column):
    return {".".join((leaf_, *way)): value for leaf_, way, value in record.parts}[column]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("text", "=1+1", "=1+1"),
        ("text", "'=1+1", "=1+1"),
        ("text", "'n abend", "'n abend"),
        ("text", f"'{EMPTY}", EMPTY),
        ("number", "1'250'000", 1250000),
        ("number", "1\u2019250.5", 1250.5),
        ("number", "4,5", 4.5),
        ("number", " 4.0 ", 4),
        ("floor", "-3", -3),
        ("floor", "'-3", -3),
        ("number", "1e3", 1000),
        ("bool", "WAHR", True),
        ("bool", "0", False),
        ("date", "31.1.2026", "2026-01-31"),
        ("time", "31.01.2026 09:30", "2026-01-31T09:30:00Z"),
        ("time", "2026-01-31", "2026-01-31"),
        ("enum", " RENT ", "RENT"),
        ("country", " ch ", "CH"),
        ("state", "ja", "APPLIES"),
        ("state", "0", "DOES_NOT_APPLY"),
        ("state", "UNKNOWN", "UNKNOWN"),
        ("categories", "LOFT | APARTMENT", ["LOFT", "APARTMENT"]),
        ("json", '"[{""amount"": 1}]"', [{"amount": 1}]),
    ],
)
def test_a_text_becomes_a_value_of_its_column(read_csv, kind, text, value):
    record = read_csv(f"{REF};{COLUMN_FOR[kind]}\nR-1;{text}\n")[0]
    assert leaf(record, COLUMN_FOR[kind]) == value


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("number", "1,200", ": “1,200” is unclear: write 1200 or 1.2"),
        ("number", "nan", ": “nan” is not a number such as 1200 or 4.5"),
        ("number", "1e999", ": “1e999” is too large"),
        ("number", "9" * 400, f": “{'9' * 40}…” is too large"),
        ("bool", "maybe", ": “maybe” is neither yes nor no"),
        ("date", "1/2/2026", ": “1/2/2026” is not a date such as 2026-01-31"),
        ("date", "31.02.2026", ": “31.02.2026” is no day of the calendar"),
        ("json", "[1", ": This is not JSON: the mistake is at line 1, column 3"),
        ("json", "NaN", ": This is not JSON: NaN is no number"),
        ("json", "9" * 5_000, ": This holds a number that is too long"),
        (
            "json",
            '[{"x":1e999}]'.replace('"', '""').join('""'),
            ": This holds 1e999, which is too large",
        ),
        ("json", "[" * 100_000, ": This is nested too deeply"),
        ("json", "5", ": Write a list"),
        ("enum", "UNKNOWN", ": UNKNOWN cannot be sent: leave it out"),
        ("text", "a\x01b", ": Remove the control character in this text"),
    ],
)
def test_a_text_that_is_no_value_is_refused_under_its_column(read_csv, kind, text, reason):
    column = COLUMN_FOR[kind]
    refusal = read_csv(f"{REF};{column}\nR-1;{text}\n")[0]
    assert refusal.reasons == [f"{column}{reason}"]


@pytest.mark.parametrize(
    ("kind", "content", "value"),
    [
        ("text", 8001, "8001"),
        ("text", 8001.0, "8001"),
        ("text", 4.5, "4.5"),
        ("number", 4.0, 4),
        ("number", "4,5", 4.5),
        ("bool", True, True),
        ("bool", 1, True),
        ("date", excel(2026, 1, 31), "2026-01-31"),
        ("date", excel(2026, 1, 31, 9), "2026-01-31"),
        ("time", excel(2026, 1, 31, 9, 30), "2026-01-31T09:30:00Z"),
        ("time", date(2026, 1, 31), "2026-01-31"),
    ],
)
def test_cells_of_excel_become_values_of_the_catalog(read_xlsx, kind, content, value):
    record = read_xlsx([REF, COLUMN_FOR[kind]], ["R-1", content])[0]
    found = leaf(record, COLUMN_FOR[kind])
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("text", True, "Write a text, and format the cells as text: the cell holds true or false"),
        (
            "text",
            excel(2026, 5, 3),
            "Write a text, and format the cells as text: the cell holds a date",
        ),
        ("number", excel(2026, 5, 4), "Write a number: the cell holds a date"),
        ("number", True, "Write a number: the cell holds true or false"),
        ("bool", 2, "“2” is neither yes nor no"),
        ("date", 46000, "Write a date: the cell holds a number"),
        ("time", time(9), "Write a date and a time: the cell holds something else"),
        ("text", "#N/A", "The cell holds the error #N/A"),
        ("json", 5, "Write JSON: the cell holds a number"),
    ],
)
def test_a_cell_of_another_type_is_refused(read_xlsx, kind, content, reason):
    refusal = read_xlsx([REF, COLUMN_FOR[kind]], ["R-1", content])[0]
    assert refusal.reasons == [f"{COLUMN_FOR[kind]}: {reason}"]


def test_a_formula_is_read_as_the_value_that_excel_computed(read_parts):
    rows = (
        HEADER
        + '<row r="2"><c r="A2" t="str"><f>"R-"&amp;1</f><v>R-1</v></c>'
        + '<c r="B2" t="str"><f>A9</f></c></row>'
    )
    assert [r.reference for r in read_parts({SHEET: sheet(rows)})] == ["R-1"]


# --- files that want to do harm


def test_a_workbook_with_entities_is_no_feed(read_parts):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    rows = HEADER + '<row r="2"><c r="A2" t="inlineStr"><is><t>&b;</t></is></c></row>'
    with pytest.raises(NotAFeed, match="after 0 records: it declares entities"):
        read_parts({SHEET: sheet(rows, bomb)})


MEBIBYTE = 1024**2
ROW = '<row r="2"><c r="A2" t="inlineStr"><is><t>{}</t></is></c></row>'


@pytest.mark.parametrize(
    "rows",
    [
        ROW.format("x" * 17 * MEBIBYTE),
        ROW.format("<![CDATA[" + "<row r='3'>" * 2 * MEBIBYTE + "]]>"),
        "<!--xx-->" * 2 * MEBIBYTE,
    ],
    ids=["text", "CDATA", "comments"],
)
def test_a_sheet_is_no_feed_before_anyone_builds_a_row_that_is_too_large(read_parts, rows):
    reason = f"one row of {SHEET} is larger than 16,777,216 bytes"
    with pytest.raises(NotAFeed, match=f"^stock.xlsx: {reason}"):
        read_parts({SHEET: sheet(HEADER + rows)})


@pytest.mark.parametrize(
    ("part", "limit"),
    [("xl/styles.xml", "MAX_OTHER"), (SHEET, "MAX_SHEET")],
    ids=["other", "sheet"],
)
def test_a_part_that_unpacks_to_more_than_its_limit_is_no_feed(
    read_parts, monkeypatch, part, limit
):
    monkeypatch.setattr(xlsx_reader, limit, 100_000)
    with pytest.raises(NotAFeed, match=f"{part} is larger than 100,000 bytes unpacked"):
        read_parts({part: " " * 100_001})


@pytest.mark.parametrize(
    "cell",
    [
        '<row r="999999999999"><c><v>1</v></c></row>',
        '<row r="2"><c r="XFD2"><v>1</v></c></row>',
    ],
    ids=["row", "column"],
)
def test_a_cell_far_out_fills_no_memory(read_parts, monkeypatch, cell):
    monkeypatch.setattr(xlsx_reader, "MAX_ROWS", 1_000)
    assert read_parts({SHEET: sheet(HEADER + cell)}) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            b"PK\x03\x04rubbish",
            "broken workbook after 0 records: "
            "a part of it is damaged: open it in Excel and save it again",
        ),
        (b"\xd0\xcf\x11\xe0", "an old or locked Excel file: save it as .xlsx or CSV"),
        (
            f"{REF},title\nR-1,{'x' * 1_100_000}".encode(),
            "a row is longer than 1,048,576 characters",
        ),
        (
            f"{REF},title\nR-1,{'x' * 140_000}".encode(),
            "broken CSV after 0 records: a cell has more than 131,072 characters",
        ),
    ],
    ids=["no zip", "old Excel", "endless line", "giant cell"],
)
def test_a_file_that_is_none_is_no_feed(read_csv, content, reason):
    with pytest.raises(NotAFeed) as caught:
        read_csv(content)
    assert str(caught.value) == f"stock.csv: {reason}"


def test_a_zip_without_a_workbook_is_no_feed(tmp_path):
    path = tmp_path / "stock.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(NotAFeed, match=r"^stock.xlsx: a zip file, but no Excel workbook$"):
        list(read_feed(path))


def test_a_broken_sheet_is_truncated_behind_its_first_records(read_parts):
    rows = HEADER + '<row r="2"><c r="A2" t="inlineStr"><is><t>R-1</t></is></c></row><row'
    with pytest.raises(Truncated, match="broken workbook after 1 records"):
        read_parts({SHEET: sheet(rows)})
