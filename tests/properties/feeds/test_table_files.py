"""Tables as senders save them: line ends, encodings, title rows, sheets, foreign names."""

import gzip
import os
import zipfile
from datetime import date

import pytest
from openpyxl import Workbook

from properties.feeds import NotAFeed, Record, Refusal
from properties.feeds.isolation import open_feed
from properties.feeds.profile import USUAL, Profile
from properties.feeds.recognition import read_feed, reader_of
from properties.feeds.records import FileWarning, Heading
from properties.feeds.table.csv_reader import SAMPLE
from tests.properties.feeds.tables import table

REF = "objectReferenceId"
TWO = [{REF: "R-1", "title": "Zürich"}, {REF: "R-2", "title": "Genève"}]


@pytest.fixture
def read(tmp_path):
    """Read a file of the given text or bytes."""

    def read_(content, profile=USUAL, name="stock.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_feed(path, profile))

    return read_


@pytest.fixture
def read_sheets(tmp_path):
    """Read a workbook of the given sheets, title to rows; one in brackets is hidden."""

    def read_(sheets, profile=USUAL):
        book = Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title.strip("()"))
            sheet.sheet_state = "hidden" if title.startswith("(") else "visible"
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / "stock.xlsx")
        return list(read_feed(tmp_path / "stock.xlsx", profile))

    return read_


def documents(items):
    return [item.document for item in items if isinstance(item, Record)]


def warned(items):
    return [item.text for item in items if isinstance(item, FileWarning)]


# --- line ends and encodings

LINES = [f"{REF},title", "R-1,Zürich", "R-2,Genève", ""]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"], ids=["LF", "CRLF", "CR", "CRCRLF"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"]
)
def test_a_table_reads_the_same_however_it_was_saved(read, end, encoding):
    assert documents(read(end.join(LINES).encode(encoding))) == TWO


@pytest.mark.parametrize(
    "content",
    [
        f"{REF},title\r\nR-2,Genè",  # nothing comes behind it
        f"{REF},title\nR-1,{'x' * (SAMPLE - len(REF) - 12)}è\nR-2,Genève",  # a block ends with it
    ],
)
def test_the_first_letter_beyond_ascii_of_a_windows_file_may_be_anywhere(read, content):
    data = content.encode("cp1252")
    assert "è" in content[:SAMPLE] or len(content) < SAMPLE
    assert len(content) < SAMPLE or content[SAMPLE - 1] == "è"
    *_, last = read(data)
    assert isinstance(last, Record)
    assert last.document["title"] == content.rpartition(",")[2]


def test_a_lone_cr_in_a_cell_needs_quotes(read):
    quoted = read(f'{REF},title\nR-1,"one\rtwo"\n')
    assert documents(quoted) == [{REF: "R-1", "title": "one\rtwo"}]
    with pytest.raises(NotAFeed, match=r"a line end \(CR\) in a cell without quotes$"):
        read(f"{REF},title\nR-1,one\rtwo\n")


def test_utf_16_that_breaks_off_is_no_feed(read):
    with pytest.raises(NotAFeed, match="no text after 0 records"):
        read((LINES[0] + "\nR-1,a\nR-2,b").encode("utf-16")[:-1])


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_separator_that_excel_is_told_is_obeyed(read, mark):
    text = f"sep={mark}\r\n{REF}{mark}title\r\nR-1{mark}a"
    assert documents(read(text)) == [{REF: "R-1", "title": "a"}]


def test_another_separator_than_the_line_says_finds_no_column(read):
    with pytest.raises(NotAFeed, match="neither SwissRETS"):
        read(f"sep=;\n{REF},title\nR-1,a\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(b"objectReferenceId\nR-1", mtime=0), "packed with gzip: unpack it first"),
        (b"%PDF-1.4\r%\xe2\xe3\xcf\xd3\r1 0 obj\r", "a PDF: ask its sender for a feed"),
        (b"7z\xbc\xaf\x27\x1c", "packed with 7-Zip: unpack it first"),
        (
            b"\x00\x01\x02\x03",
            "neither SwissRETS (XML, JSON) nor OpenImmo nor IDX nor a table of ours",
        ),
    ],
)
def test_a_file_of_another_kind_is_named(read, content, reason):
    with pytest.raises(NotAFeed) as caught:
        read(content)
    assert str(caught.value) == f"stock.csv: {reason}"


def test_a_pipe_is_named_and_nobody_waits_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotAFeed, match=r"^pipe: is no file that can be read twice"):
        reader_of(tmp_path / "pipe")


# --- where the header is


def test_title_rows_and_empty_rows_above_the_header_are_no_records(read, read_sheets):
    text = f'"Bestand, Stand 1.1.2026";\n;\n{REF};title\nR-1;Zürich\nR-2;Genève\n'
    assert documents(read(text)) == TWO
    rows = [["Bestand"], [], [REF, "title"], ["R-1", "Zürich"], ["R-2", "Genève"]]
    items = read_sheets({"a": rows})
    assert documents(items) == TWO
    assert [item.position for item in items] == ["row 4", "row 5"]


@pytest.mark.parametrize("unseen", ["\u00a0", "\u202f", "\u200b", "\ufeff", "\u2060 "])
def test_what_people_do_not_see_in_a_header_is_a_blank(read, read_sheets, unseen):
    names = [f"{unseen}{REF}{unseen}", f"Loyer{unseen}net", "title"]
    profile = Profile(columns={"Loyer net": "prices.rent.net"})
    expected = [{REF: "M-1", "title": "Haus", "prices": {"rent": {"net": 900}}}]
    assert documents(read(f"{','.join(names)}\nM-1,900,Haus\n", profile)) == expected
    assert documents(read_sheets({"A": [names, ["M-1", 900, "Haus"]]}, profile)) == expected


def test_a_header_row_can_be_chosen(read, read_sheets):
    rows = [[REF, "title"], ["R-0", "old"], [REF, "floor"], ["R-1", "2"]]
    text = "\n".join(",".join(row) for row in rows)
    for items in (
        read(text, Profile(header_row=3)),
        read_sheets({"a": rows}, Profile(header_row=3)),
    ):
        assert documents(items) == [{REF: "R-1", "floor": 2}]
    for profile in (Profile(header_row=9), Profile(header_row=1000)):
        with pytest.raises(NotAFeed, match=f"row {profile.header_row} is no header: it is empty"):
            read(text, profile)


def test_a_header_far_below_is_found_where_it_is_chosen(read):
    text = "note,\n" * 30 + f"{REF},title\nR-1,a\n"
    assert documents(read(text, Profile(header_row=31))) == [{REF: "R-1", "title": "a"}]


def test_cover_sheets_and_hidden_sheets_are_not_read(read_sheets):
    good, old = [[REF], ["R-1"]], [[REF, "title"], ["R-0", "x"]]
    items = read_sheets({"Cover": [["Our stock", "2026"]], "(Old)": old, "Stock": good})
    assert documents(items) == [{REF: "R-1"}]
    assert warned(items) == ['the sheet "Stock" is read, and not: Cover; Old (hidden)']


def test_a_sheet_can_be_chosen_even_a_hidden_one(read_sheets):
    sheets = {"Stock": [[REF], ["R-1"]], "(Old)": [[REF], ["R-0"]]}
    assert documents(read_sheets(sheets, Profile(sheet="old"))) == [{REF: "R-0"}]
    with pytest.raises(NotAFeed) as caught:
        read_sheets(sheets, Profile(sheet="New"))
    assert str(caught.value) == (
        'stock.xlsx: no sheet is called "New"; there is: Stock; Old (hidden)'
    )


# --- names that are not ours


def test_an_unknown_column_is_set_aside_with_a_warning_and_kept(read):
    items = read(f"{REF},prices.rent.grss,Loyer brut,Farbe,rooms,,title\nR-1,5,1'200,rot,3,x,a\n")
    assert warned(items) == [
        'the column "prices.rent.grss" is set aside: none of ours has this name; the nearest:'
        " prices.rent.gross, prices.rent.extra, prices.rent.net",
        'the column "Loyer brut" is set aside: none of ours has this name; it may be'
        " prices.rent.gross: choose it for the sender",
        'the column "Farbe" is set aside: none of ours has this name',
        'the column "rooms" is set aside: it is read-only, the platform sets it',
        'the column "column (6)" is set aside: none of ours has this name',
    ]
    record = items[-1]
    assert record.document == {REF: "R-1", "title": "a"}
    assert record.leftover == {
        **{"prices.rent.grss": "5", "Loyer brut": "1'200", "Farbe": "rot", "rooms": "3"},
        "column (6)": "x",
    }


def test_many_unknown_columns_are_counted(read):
    names = [f"x{n}" for n in range(400)]
    items = read(f"{REF},{','.join(names)}\nR-1{',y' * 400}\n")
    assert len(warned(items)) == 21
    assert warned(items)[-1] == "380 more columns are set aside"
    assert len(items[-1].leftover) == 400


def test_two_columns_of_one_foreign_name_are_both_kept(read):
    record = read(f"{REF},Bild,Bild\nR-1,a.jpg,b.jpg\n")[-1]
    assert record.leftover == {"Bild": "a.jpg", "Bild (3)": "b.jpg"}


def test_a_foreign_table_is_read_as_its_sender_says(read):
    profile = Profile(
        columns={"Objekt-Nr.": REF, "PLZ": "address.postalCode", "LOYER BRUT (CHF)": "", "Ort": "x"}
    )
    items = read("Objekt-Nr.;plz;Loyer brut;Ort\nR-1;8001;900;Chur\n", profile)
    heading, record = items
    assert heading == Heading(
        "",
        1,
        (
            ("Objekt-Nr.", REF, ""),
            ("plz", "address.postalCode", ""),
            ("Loyer brut", "", ""),
            ("Ort", "", ""),
        ),
    )
    assert record.document == {REF: "R-1", "address": {"postalCode": "8001"}}
    assert record.leftover == {"Loyer brut": "900", "Ort": "Chur"}


def test_a_column_that_is_like_an_assigned_one_is_set_aside_beside_it(read):
    profile = Profile(columns={"Preis CHF": "prices.buy.price"})
    items = read(f"{REF};Preis CHF;Preis EUR\nR-1;100;90\n", profile)
    (record,) = [one for one in items if isinstance(one, Record)]
    assert record.document["prices"] == {"buy": {"price": 100}}
    assert record.leftover == {"Preis EUR": "90"}


@table
def test_a_street_may_have_its_number_in_one_column(read, header, cells, address):
    profile = Profile(columns={"Adresse": "address.street", "Nr": "address.streetNumber"})
    (record,) = [
        one for one in read(f"{REF},{header}\nM-1,{cells}\n", profile) if isinstance(one, Record)
    ]
    assert record.document["address"] == address
    assert (record.leftover, record.warnings) == ({}, ())


def test_a_foreign_table_without_its_reference_says_what_may_be_it(read):
    with pytest.raises(NotAFeed) as caught:
        read("Objekt-Nr.;PLZ\nR-1;8001\n")
    assert str(caught.value) == (
        f"stock.csv: a table without the column {REF};"
        ' "Objekt-Nr." may be it: choose it for the sender'
    )


def test_two_columns_that_are_read_as_one_are_no_feed(read):
    with pytest.raises(NotAFeed) as caught:
        read(f"{REF},Name,title\nR-1,a,b\n", Profile(columns={"Name": "title"}))
    assert str(caught.value) == 'stock.csv: the column "Name" (as title) is there twice'


# --- bad values


def test_a_bad_value_is_set_aside_and_told_and_its_row_is_read(read, read_sheets):
    text = f"{REF},floor,offerType,title\nR-1,two,SALE,a\n"
    for items in (read(text), read_sheets({"a": [line.split(",") for line in text.split()]})):
        record = items[0]
        assert record.document == {REF: "R-1", "title": "a"}
        assert record.leftover == {"floor": "two", "offerType": "SALE"}
        assert record.warnings == (
            "floor: “two” is not a number such as 1200 or 4.5",
            "offerType: “SALE” is not one of its values: choose one of BUY, RENT",
        )


def test_a_warning_names_the_column_of_the_file_and_ours(read):
    record = read(f"{REF},Etage\nR-1,hoch\n", Profile(columns={"Etage": "floor"}))[-1]
    assert record.warnings == ("Etage (floor): “hoch” is not a number such as 1200 or 4.5",)


def test_half_a_position_is_set_aside_with_its_other_half(read):
    text = f"{REF},address.geo.latitude,address.geo.longitude,address.street\nR-1,95,8.5,Weg\n"
    record = read(text)[0]
    assert record.document == {REF: "R-1", "address": {"street": "Weg"}}
    assert record.leftover == {"address.geo.latitude": "95", "address.geo.longitude": 8.5}
    assert record.warnings == (
        "address.geo.latitude: Write a number between -90 and 90, not 95",
        "address.geo.longitude cannot stand without address.geo.latitude",
    )


@pytest.mark.parametrize(
    ("row", "reference", "reason"),
    [
        ("..,3", "..", f'{REF}: The reference cannot be "..": that is a step in a path'),
        (",3", None, f"{REF}: This value is missing"),
        ("R-0,3", "R-0", f'{REF} "R-0" is a duplicate: an earlier record has it'),
    ],
)
def test_a_row_without_a_good_reference_is_refused_all_the_same(read, row, reference, reason):
    assert read(f"{REF},floor\nR-0,1\n{row}\n")[1] == Refusal("line 3", reference, [reason])


@pytest.mark.parametrize(
    ("digits", "kept"), [("1E400", "inf"), ("9" * 400, "9" * 400), ("9" * 5000, "9" * 5000)]
)
def test_a_number_that_is_too_large_costs_its_cell_and_not_the_workbook(tmp_path, digits, kept):
    book = Workbook()
    for row in ([REF, "areaBwf", "floor"], ["M-1", 777, 3], ["M-2", 5, 4]):
        book.active.append(row)
    book.save(tmp_path / "plain.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "plain.xlsx") as plain,
        zipfile.ZipFile(tmp_path / "stock.xlsx", "w") as large,
    ):
        for name in plain.namelist():
            large.writestr(name, plain.read(name).replace(b"<v>777<", f"<v>{digits}<".encode()))
    first, second = open_feed(tmp_path / "stock.xlsx")
    assert (first.document, first.leftover) == ({REF: "M-1", "floor": 3}, {"areaBwf": kept})
    assert len(first.warnings) == 1
    assert second.document == {REF: "M-2", "areaBwf": 5, "floor": 4}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([["M-1", "=1+1"]], ["one formula has no value yet, first in B2"]),
        ([["M-1", "=1+1"], ["M-2", "=2+2"]], ["2 formulas have no value yet, first in B2"]),
        ([["M-1", 5]], []),
    ],
)
def test_a_formula_that_nobody_has_computed_is_told(read_sheets, rows, told):
    items = read_sheets({"A": [[REF, "areaBwf"], *rows]})
    ending = ": open the file in Excel and save it"
    assert warned(items) == [f"{text}{ending}" for text in told]
    assert [one[REF] for one in documents(items)] == [row[0] for row in rows]


def test_an_address_of_mail_that_is_none_is_kept_and_reported(read):
    items = read(f"{REF},seller.inquiryEmail,owner.email\nM-1,info at muster,a@muster.example\n")
    (record,) = items
    assert record.document["seller"] == {"inquiryEmail": "info at muster"}
    told = "is no mail address; it is imported all the same"
    assert record.warnings == (f"seller.inquiryEmail: “info at muster” {told}",)


def test_what_excel_holds_is_kept_as_json_can_hold_it(read_sheets):
    row = ["R-1", date(2026, 1, 31), 1.5, True, "#N/A", "a\x07b"[:1]]
    record = read_sheets({"a": [[REF, "A", "B", "C", "D", "E"], row]})[-1]
    kept = {"A": "2026-01-31T00:00:00", "B": 1.5, "C": True, "D": "#N/A", "E": "a"}
    assert record.leftover == kept


def test_an_odd_contact_refuses_no_row_of_a_strict_sender(tmp_path):
    path = tmp_path / "stock.csv"
    path.write_text(f"{REF},owner.email\nM-1,info at muster\n")
    (record,) = read_feed(path, Profile(lenient=False))
    assert record.document["owner"] == {"email": "info at muster"}
    assert len(record.warnings) == 1
