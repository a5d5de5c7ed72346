"""IDX 3.01: no file ends in a traceback, and no value of a record stands in another's column."""

import tempfile
from pathlib import Path

from hypothesis import given, strategies as st

from properties.catalog import FIELDS, numbers
from properties.feeds import NotAFeed, Record
from properties.feeds.idx import idx_text as values
from properties.feeds.idx.idx_columns import COLUMNS, As
from properties.feeds.recognition import read_feed
from tests.properties.feeds.idx_lines import NUMBER, SMALLEST

PIECES = (
    *("#", "##", "\r", "\n", "\r\n", '"', "'", ";", "\t", "\0", "\x1a", "\x85", "\u2028"),
    *("&", "&#39;", "&#x27;", "&#", "&amp;", "<br>", "<b", "é", "€", "½", "x", " ", "IDX3.01"),
    *("\nIDX3.01#", "1'200", "01.02.2026", "CHF", "MONTHLY", "a@b.ch"),
)
ENCODINGS = ("utf-8", "iso-8859-1", "cp1252", "iso-8859-15")
# Texts of people, with what a portal does not read; their values say in which column they belong.
NAMES = [c.name for c in COLUMNS if c.read in {As.KEPT, As.TEXT, As.LINES} and 4 < c.number < 177]
junk = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)


@st.composite
def records(draw, names=tuple(NAMES), texts=junk):
    """Return a record as bytes, without its end: each value begins with the name of its column."""
    chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=4))
    said = {**SMALLEST, **{name: f"{name}:{draw(texts)}" for name in chosen}}
    marks = {"currency": "CHF", "price_unit": "MONTHLY", "last_modified": "01.02.2026 10:00:00"}
    cells = [""] * len(COLUMNS)
    for name, text in {**said, **marks, "ref_object": f"R{draw(st.integers(0, 99))}"}.items():
        cells[NUMBER[name]] = text
    return "#".join(cells).encode(draw(st.sampled_from(ENCODINGS)), errors="replace")


def read(raw):
    """Return what is in a file of these bytes; nothing for one that is no feed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "unload.txt"
        path.write_bytes(raw)
        try:
            return list(read_feed(path))
        except NotAFeed:
            return []


@given(lines=st.lists(records(), min_size=1, max_size=5), end=st.sampled_from([b"\r\n", b"#\r\n"]))
def test_each_value_of_a_record_stands_in_its_column(lines, end):
    for item in read(b"".join(line + end for line in lines)):
        if isinstance(item, Record):
            assert_in_place(item)


@given(
    clean=st.lists(records(texts=st.just("x")), min_size=4, max_size=4),
    spoiled=st.lists(records(), max_size=3),
    end=st.sampled_from([b"\r\n", b"#\r\n"]),
)
def test_also_where_nothing_but_their_count_tells_that_columns_moved(clean, spoiled, end):
    unmarked = [
        line.replace(b"CHF#", b"#")
        .replace(b"MONTHLY#", b"#")
        .replace(b"#01.02.2026 10:00:00", b"#")
        for line in (*clean, *spoiled)
    ]
    for item in read(b"".join(line + end for line in unmarked)):
        if isinstance(item, Record):
            assert_in_place(item)


def assert_in_place(record):
    """Check that each text of a record begins with the name of its column."""
    for name, text in record.leftover.items():
        if name in NAMES:
            assert text.startswith(f"{name}:")
    for path, name in (("title", "object_title"), ("houseReferenceId", "ref_house")):
        if path in record.document and record.document[path] != SMALLEST.get(name):
            assert record.document[path].startswith(f"{name}:")
    for texts in record.document.get("localizations", []):
        if "description" in texts:
            assert texts["description"].startswith("object_description:")


@given(
    raw=st.binary(max_size=300), lines=st.lists(records(), max_size=3), place=st.integers(0, 900)
)
def test_no_bytes_end_in_a_traceback(raw, lines, place):
    whole = b"IDX3.01#" + b"\r\n".join(lines)
    read(whole[:place] + raw + whole[place:])


@given(
    number=st.integers(0, 10**9),
    mark=st.sampled_from(["", "'", "\u2019", " ", "\u00a0"]),
    tenths=st.integers(0, 9),
    point=st.sampled_from([".", ","]),
    unit=st.sampled_from(["", " m2", "m²", " qm."]),
)
def test_a_number_with_marks_and_a_unit_is_the_number(number, mark, tenths, point, unit):
    decimals = f"{point}{tenths}" if tenths else ""
    text = f"{number:,}".replace(",", mark) + decimals + unit
    assert numbers.number(FIELDS["areaBwf"], text) == float(f"{number}.{tenths}")


@given(text=st.text(alphabet="<>/&;#brpli aé\n\r", max_size=40))
def test_a_text_without_html_is_a_text_that_stays(text):
    once = values.in_lines(text)
    if "&" not in once and "<" not in once:
        assert values.in_lines(once) == once
