"""IDX 3.01: our example imports whole, each column finds its place, bad lines are refused."""

import json
from pathlib import Path

import pytest

from properties import catalog
from properties.feeds import NotAFeed, Profile, Record, Refusal, Truncated
from properties.feeds.idx import codes
from properties.feeds.idx.idx_columns import COLUMNS, As
from properties.feeds.recognition import read_feed
from tests.properties.feeds.idx_lines import line, raw_of
from tests.properties.feeds.tables import table

EXAMPLE = Path(__file__).parents[3] / "examples" / "idx" / "unload.txt"


@pytest.fixture
def feed(tmp_path):
    """Read a file of the given lines, texts or bytes."""

    def read(*lines, end=b"\r\n", **profile):
        path = tmp_path / "unload.txt"
        path.write_bytes(b"\r\n".join(map(raw_of, lines)) + end)
        return list(read_feed(path, Profile(**profile)))

    return read


def test_our_example_imports_without_a_refusal():
    records = list(read_feed(EXAMPLE))
    assert [r.reference for r in records] == [
        "MH-30~MH-30-A~MH-3001",
        "MH-31~~MH-3002",
        "MH-32~MH-32-B~MH-3003",
    ]
    assert [catalog.validate_document(r.document) for r in records] == [[], [], []]


def test_a_flat_for_rent_gets_the_names_and_types_of_the_platform():
    flat = next(iter(read_feed(EXAMPLE)))
    expected = json.loads((Path(__file__).parent / "tables" / "flat.json").read_text("utf-8"))
    assert {"document": flat.document, "leftover": flat.leftover} == expected


# --- the tables


def test_the_table_has_each_of_the_183_columns_once_and_in_order():
    assert [column.number for column in COLUMNS] == list(range(183))
    assert len({column.name for column in COLUMNS}) == 183


def test_every_column_leads_to_a_field_of_the_catalog():
    paths = [p for c in COLUMNS if c.path for p in c.path.split(", ")]
    general = [p.replace("localizations.", "localizations[].") for p in paths]
    assert [p for p in general if catalog.find(p) is None] == []


def test_a_column_has_a_path_exactly_when_it_is_not_kept():
    odd = [c.name for c in COLUMNS if bool(c.path) == (c.read is As.KEPT)]
    assert odd == ["version"]


def test_every_value_of_the_tables_is_one_that_the_catalog_knows():
    categories = {c for types in codes.CATEGORIES.values() for c in types.values()}
    assert categories <= set(catalog.FIELDS["propertyCategories"].enum)
    assert set(codes.PROPERTY_TYPES.values()) <= set(catalog.FIELDS["propertyType"].enum)
    assert set(codes.PROPERTY_TYPES) == set(codes.CATEGORIES)
    assert set(codes.OFFER_TYPES.values()) == set(catalog.FIELDS["offerType"].enum)
    for units in codes.PRICE_UNITS["RENT"].values():
        assert catalog.validate("prices.rent", units) == []
    for units in codes.PRICE_UNITS["SALE"].values():
        assert catalog.validate("prices.buy", units) == []


# --- values


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        *(("1", "APPLIES"), ("Y", "APPLIES"), ("y", "APPLIES")),
        *(("0", "DOES_NOT_APPLY"), ("N", "DOES_NOT_APPLY"), ("", None), ("?", None)),
    ],
)
def test_a_flag_says_yes_or_no_and_a_blank_one_nothing(feed, text, flag):
    record = feed(line(elevator=text))[0]
    assert record.document.get("characteristics", {}).get("hasElevator") == flag
    assert record.leftover == ({"elevator": "?"} if text == "?" else {})


NOTHING = "no flag of it is set"


@pytest.mark.parametrize(
    ("category", "texts", "flags"),
    [
        ("PARK", {"fireplace": "N", "elevator": "0", "swimmingpool": "nein"}, NOTHING),
        ("PARK", {"under_roof": "N"}, {"isUnderRoof": "DOES_NOT_APPLY"}),
        ("PROP", {"elevator": "Y", "balcony": "N"}, {"hasElevator": "APPLIES"}),
        ("APPT", {"elevator": "N", "corner_house": "N"}, {"hasElevator": "DOES_NOT_APPLY"}),
        ("HOUSE", {"corner_house": "N", "gas_supply": "N"}, {"isCornerHouse": "DOES_NOT_APPLY"}),
    ],
)
def test_a_no_counts_only_where_the_category_has_what_is_asked(feed, category, texts, flags):
    record = feed(line(object_category=category, **texts))[0]
    assert record.document.get("characteristics", NOTHING) == flags
    assert record.leftover == {}


def test_a_no_counts_in_a_column_and_a_category_that_the_sender_gave_a_meaning(feed):
    flags = {"ramp": "characteristics.hasSauna", "GARDEN": "PLOT"}
    first = feed(line(object_category="PARK", ramp="N"), flags=flags)[0]
    assert first.document["characteristics"] == {"hasSauna": "DOES_NOT_APPLY"}
    second = feed(line(object_category="GARDEN", elevator="N"), flags=flags)[0]
    assert second.document["characteristics"] == {"hasElevator": "DOES_NOT_APPLY"}


def test_every_flag_names_the_categories_that_have_it():
    assert all(bool(c.no_counts_for) is (c.read is As.FLAG) for c in COLUMNS)
    assert {one for c in COLUMNS for one in c.no_counts_for} <= set(codes.PROPERTY_TYPES)


@table
def test_a_price_is_a_rent_or_a_purchase_in_its_unit(feed, texts, prices):
    record = feed(line(**texts))[0]
    assert (record.document.get("prices"), record.leftover) == (prices, {})


def test_a_price_that_does_not_go_with_the_offer_is_left_over(feed):
    texts = {"offer_type": "SALE", "selling_price": "9", "rent_net": "8", "price_unit": "MONTHLY"}
    record = feed(line(**texts))[0]
    assert record.document["prices"] == {"buy": {"price": 9}}
    assert record.leftover == {"rent_net": "8", "price_unit": "MONTHLY"}


def test_a_zero_says_nothing_except_for_the_ground_floor(feed):
    record = feed(line(number_of_rooms="0", surface_living="0", year_built="0", floor="0"))[0]
    assert record.document["floor"] == 0
    assert record.document.keys() & {"numberOfRooms", "areaBwf", "yearBuilt"} == set()
    assert record.leftover == {}


def test_what_is_otherwise_but_harmless_is_left_over(feed):
    odd = {"available_from": "sofort", "number_of_apartments": "7.5", "object_type": "99"}
    record = feed(line(**odd, agency_phone="-"))[0]
    assert record.leftover == odd
    told = "is no phone number; it is imported all the same"
    assert record.warnings == (f"seller.organization.phone: “-” {told}",)
    assert record.document["seller"] == {"organization": {"phone": "-"}}
    assert "propertyCategories" not in record.document


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("4½ Zimmer für 900 Fr.".encode("latin-1"), "4½ Zimmer für 900 Fr."),
        ("für 900 €".encode("iso-8859-15"), "für 900 €"),
        ("für 900 €\u2014ruhig".encode("cp1252"), "für 900 €\u2014ruhig"),
        ("für 900 €".encode(), "für 900 €"),
    ],
)
def test_the_encodings_that_senders_use_are_told_apart(feed, raw, title):
    before, _, after = line(object_title="TITLE").encode().partition(b"TITLE")
    assert feed(before + raw + after)[0].document["title"] == title


# --- refusals


@table
def test_a_bad_line_is_refused_with_its_reasons_and_the_others_are_taken(feed, texts, reasons):
    first, bad = feed(line(ref_object="R-0"), "", line(**texts))
    assert isinstance(first, Record)
    assert (bad.position, bad.reasons) == ("line 3", reasons)


def test_a_second_record_with_a_reference_is_refused(feed):
    first, second = feed(line(), line())
    assert isinstance(first, Record)
    assert second == Refusal(
        "line 2", "R-1", ['ref_object "R-1" is a duplicate: an earlier record has it']
    )


def test_a_line_with_another_number_of_columns_is_refused(feed):
    _, short, long = feed(line(), "IDX3.01#x", line() + "#more")
    assert (short.position, short.reasons) == (
        "line 2",
        ["has 2 columns instead of 183: it lacks columns, or breaks off"],
    )
    assert long.reasons == [
        "has 184 columns instead of 183: a # in a text, or behind all, ends one"
    ]


def test_a_separator_behind_the_last_column_does_no_harm(feed):
    assert isinstance(feed(line() + "#")[0], Record)


def test_a_file_that_breaks_off_in_a_line_is_truncated(feed):
    with pytest.raises(Truncated, match=r"^unload.txt: breaks off in line 2$"):
        feed(line(), line(ref_object="R-2")[:-9], end=b"")


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ("IDX2.00#x", "unload.txt: IDX2.00 is not IDX3.01"),
        ("IDX3.01" + "#" * 300_000, "unload.txt: line 1 is longer than 262,144 bytes"),
    ],
)
def test_another_version_or_an_endless_line_is_no_feed(feed, first, reason):
    with pytest.raises(NotAFeed) as caught:
        feed(first)
    assert str(caught.value) == reason


def test_characters_that_no_database_keeps_are_removed_and_reported(feed):
    record = feed(line(object_description="a\0b"))[0]
    assert record.document["localizations"][0]["description"] == "ab"
    assert record.leftover == {"(cleaned)": "characters that no database can keep were removed"}


@pytest.mark.parametrize(
    ("category", "kind", "found"),
    [
        *(("INDUS", "5", "STORAGE"), ("INDUS", "21", "COMMERCIAL"), ("HOUSE", "99", "HOUSE")),
        ("HOUSE", "3", "HOUSE"),
    ],
)
def test_the_type_follows_the_main_category_and_else_the_word_of_idx(feed, category, kind, found):
    record = feed(line(object_category=category, object_type=kind))[0]
    assert record.document["propertyType"] == found
