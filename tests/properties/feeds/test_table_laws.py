"""Whatever bytes a table is made of: it is read or refused in words, and no cell moves."""

import csv
import io
import re
import tempfile
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from openpyxl import Workbook, load_workbook

from properties.feeds import NotAFeed, Record
from properties.feeds.recognition import read_feed
from properties.feeds.spool import Line
from properties.feeds.table.table_cells import FORMULA
from properties.feeds.table.table_writer import ColumnNames, write_csv, write_xlsx

REF = "objectReferenceId"
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252")
SHEET = "xl/worksheets/sheet1.xml"

pieces = st.sampled_from(
    (
        *(REF, "title", "floor", "Loyer brut", "sep=;", "\r", "\n", "\r\n", ",", ";", "\t", '"'),
        *('""', "R-1", "1.250", "\0", "\ufeff", "<empty>", "'=1", "€", "ü", "\x1a", "\u2028"),
    )
)
soup = st.lists(pieces, max_size=40).map("".join)


def read(content, name="stock.csv"):
    """Read a file; nothing where it is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        with suppress(NotAFeed):
            return list(read_feed(path))
        return []


@given(soup, st.sampled_from(ENCODINGS), st.integers(0, 3))
def test_no_table_of_characters_ends_in_anything_but_words(text, encoding, cut):
    content = f"{REF},title\nR-1,a\n{text}".encode(encoding, errors="replace")
    for one in (content, content[: len(content) - cut], text.encode(encoding, errors="replace")):
        for item in read(one):
            assert Line.read(Line.of(item).text).item() == item


@given(st.binary(max_size=200), st.sampled_from([b"", f"{REF},title\n".encode(), b"sep=;\r"]))
def test_no_table_of_bytes_ends_in_anything_but_words(rest, begin):
    read(begin + rest)


cells = st.text(
    st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from('\r\n\t",;'), max_size=8
).filter(lambda text: text.strip() and text.strip() != "<empty>" and text[0] not in "'=+-@\t\r\n")
columns = st.lists(
    st.sampled_from(["title", "author", "parcelNumbers", "Farbe", "Loyer brut", "xyz"]),
    min_size=1,
    max_size=6,
    unique=True,
)


@given(
    columns,
    st.data(),
    st.sampled_from(",;\t"),
    st.sampled_from(("\n", "\r\n", "\r")),
    st.sampled_from(("utf-8", "utf-8-sig", "utf-16", "utf-16-le")),
    st.sampled_from(("", "Stock of today\n", "sep")),
)
def test_no_cell_of_a_csv_moves(names, data, delimiter, end, encoding, above):
    rows = data.draw(
        st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), max_size=4)
    )
    out = io.StringIO()
    # The writer puts no quotes around another line end than that of its rows.
    has_lines = any(one in cell for row in rows for cell in row for one in "\r\n")
    quoting = csv.QUOTE_ALL if has_lines else csv.QUOTE_MINIMAL
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow([REF, *names])
    writer.writerows([f"R-{n}", *row] for n, row in enumerate(rows))
    before = f"sep={delimiter}{end}" if above == "sep" else above.replace("\n", end)
    items = read((before + out.getvalue()).encode(encoding))
    records = [item for item in items if isinstance(item, Record)]
    assert [r.reference for r in records] == [f"R-{n}" for n in range(len(rows))]
    for record, row in zip(records, rows, strict=True):
        said = {**record.document, **record.leftover}
        assert {name: said[name] for name in names} == dict(zip(names, row, strict=True))


@cache
def book():
    """A workbook of one property."""
    whole, content = Workbook(), io.BytesIO()
    for row in ([REF, "title", "floor"], ["R-1", "a", 5]):
        whole.active.append(row)
    whole.save(content)
    return content.getvalue()


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=4))
def test_no_workbook_with_other_bytes_ends_in_anything_but_words(at, other):
    content = book()
    at %= len(content)
    read(content[:at] + other + content[at + len(other) :], "stock.xlsx")


tags = st.sampled_from(
    (
        *(
            "<row>",
            "</row>",
            '<row r="1">',
            '<row r="x">',
            '<c r="A1"><v>5</v></c>',
            "<c/>",
            "</c>",
        ),
        *('<c t="s"><v>99</v></c>', '<c r="B1" s="77"><v>1</v></c>', '<c t="b"><v>x</v></c>'),
        *('<c t="inlineStr"><is><t>objectReferenceId</t></is></c>', '<c t="d"><v>x</v></c>'),
        *("<v>1e999</v>", '<c r="AAAA1"/>', "<c/>", "&x;", "<!-- -->", '<c t="n"><v>nan</v></c>'),
    )
)


@given(st.lists(tags, max_size=12).map("".join))
def test_no_sheet_of_tags_ends_in_anything_but_words(rows):
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    xml = f'<worksheet xmlns="{namespace}"><sheetData>{rows}</sheetData></worksheet>'
    new = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book())) as old, zipfile.ZipFile(new, "w") as made:
        for name in old.namelist():
            made.writestr(name, xml if name == SHEET else old.read(name))
    read(new.getvalue(), "stock.xlsx")


signs = st.sampled_from("=+-@\uff1d\uff0b\uff0d\uff20")
breaks = st.sampled_from((";", ",", "\t", "\n", "\r\n", '"', '""', "'", " ", "a", "1"))
risky = st.lists(breaks | signs, min_size=1, max_size=8).map("".join).filter(str.strip)
NUMBER = re.compile(r"[+-]?[\d.eE+-]+")


@pytest.mark.rule("S18")
@given(st.lists(st.tuples(risky, risky), min_size=1, max_size=3))
def test_no_cell_of_an_export_is_a_formula_wherever_a_spreadsheet_splits_it(texts):
    sent = [
        {
            REF: f"R-{n}",
            "title": title,
            "localizations": [{"languageCode": "de", "equipment": more}],
        }
        for n, (title, more) in enumerate(texts)
    ]
    names = ColumnNames()
    for document in sent:
        names.need(document)
    with tempfile.TemporaryDirectory() as folder:
        for write, name in ((write_csv, "stock.csv"), (write_xlsx, "stock.xlsx")):
            path = Path(folder) / name
            list(write(path, sent, names.ordered()))
            found = [one.document for one in read_feed(path) if isinstance(one, Record)]
            assert [one["title"] for one in found] == [one["title"] for one in sent]
            assert [one["localizations"] for one in found] == [one["localizations"] for one in sent]
        text = (Path(folder) / "stock.csv").read_text(encoding="utf-8-sig")
        for delimiter in ",;\t":
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
                for cell in row:
                    assert not FORMULA.match(cell) or NUMBER.fullmatch(cell), (delimiter, cell)
        book = load_workbook(Path(folder) / "stock.xlsx")
        kinds = {cell.data_type for row in book.active for cell in row if cell.value is not None}
        assert kinds == {"s"}
