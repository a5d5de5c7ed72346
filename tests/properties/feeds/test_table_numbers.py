"""Numbers in tables: one rule for points and commas, formats of Excel, percentages."""

import math

import pytest
from hypothesis import given, strategies as st
from openpyxl import Workbook

from properties.catalog import FIELDS
from properties.catalog.numbers import Unreadable, number, say_number
from properties.feeds.profile import Profile
from properties.feeds.recognition import read_feed
from properties.feeds.table.table_cells import Formatted
from tests.properties.feeds.tables import table

STRICT = Profile(lenient=False)


ANY = FIELDS["address.geo.elevation"]  # that of a valley below the sea, or of a mountain


@table
def test_a_text_is_one_number(text, value):
    assert number(ANY, text) == value


@pytest.mark.parametrize("text", ["1.250", "1,250", "-1.250", "850,125"])
def test_one_mark_before_three_digits_is_unclear(text):
    with pytest.raises(Unreadable, match="is unclear"):
        number(ANY, text)


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("1.985", "yearBuilt", 1985),
        ("47,123", "address.geo.latitude", 47.123),
        ("3.500", "numberOfRooms", 3.5),
        ("2,850", "ceilingHeight", 2.85),
    ],
)
def test_an_unclear_number_is_what_its_field_can_mean(text, path, value):
    assert number(FIELDS[path], text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1,2,3",
        "1.25.000",
        "12.50,3,4",
        "1250,",
        ",5",
        "1'25",
        "two",
        "1..5",
        "--1",
        "12.50.-",
        "3_5",
        "٣",
        "nan",
        "Infinity",
    ],
)
def test_a_text_that_is_no_number_is_none(text):
    with pytest.raises(Unreadable, match="is not a number"):
        number(ANY, text)


@given(st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_said_of_a_number_is_read_as_this_number(value):
    read = number(ANY, say_number(value))
    assert math.isclose(read, value, rel_tol=0, abs_tol=0)


@given(st.integers(1, 999), st.integers(0, 999))
def test_point_and_comma_have_one_rule(before, behind):
    def reading(mark):
        try:
            return number(ANY, f"{before}{mark}{behind}")
        except Unreadable:
            return "unclear"

    assert reading(".") == reading(",")


@table
def test_a_number_in_a_text_column_keeps_the_zeros_that_excel_shows(number, form, text):
    assert Formatted(number, form).text == text


@pytest.fixture
def read_cell(tmp_path):
    """Read a workbook with one cell of the given column, number and format."""

    def read(column, number, form, profile=STRICT):
        book = Workbook()
        book.active.append(["objectReferenceId", column])
        book.active.append(["R-1", number])
        book.active["B2"].number_format = form
        book.save(tmp_path / "stock.xlsx")
        return next(iter(read_feed(tmp_path / "stock.xlsx", profile)))

    return read


@table
def test_a_number_of_excel_is_read_with_its_format(read_cell, column, number, form, value):
    record = read_cell(column, number, form)
    assert record.document == {"objectReferenceId": "R-1", **value}


def test_a_percentage_in_a_column_of_another_unit_is_refused(read_cell):
    refusal = read_cell("areaBwf", 0.5, "0%")
    assert refusal.reasons == ["areaBwf: “50%” is a percentage, not a number in m²"]


@pytest.mark.parametrize(
    ("column", "text", "document"),
    [
        ("prices.buy.wirPercentage", "2,5 %", {"prices": {"buy": {"wirPercentage": 2.5}}}),
        ("utilizationRatio", "60%", {"utilizationRatio": 0.6}),
        ("yearBuilt", "1.985", {"yearBuilt": 1985}),
    ],
)
def test_a_text_of_a_table_is_read_in_the_unit_of_its_column(tmp_path, column, text, document):
    path = tmp_path / "stock.csv"
    path.write_text(f"objectReferenceId;{column}\nR-1;{text}\n")
    assert [r.document for r in read_feed(path, STRICT)] == [
        {"objectReferenceId": "R-1", **document}
    ]


@table
def test_an_amount_has_the_currency_of_its_row_or_is_told(tmp_path, currency, amount, value):
    path = tmp_path / "stock.csv"
    names = "objectReferenceId;prices.buy.price;prices.currency"
    path.write_text(f'{names}\nR-1;"{amount}";{currency}\n', encoding="utf-8")
    (record,) = read_feed(path)
    if isinstance(value, int):
        assert record.document["prices"]["buy"] == {"price": value}
    else:
        assert "buy" not in record.document.get("prices", {})
        assert record.warnings[0] == f"prices.buy.price: {value}"
