"""The pure parts of the form: values to inputs and back, inputs into leaves, the form_tree."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from properties.catalog import FIELDS, Kind, leaf_of, steps
from properties.catalog.numbers import Unreadable
from properties.forms import assembly, form_tree, input_values

ZURICH = ZoneInfo("Europe/Zurich")
FIELD = {field.kind: field for field in FIELDS.values()} | {Kind.DECIMAL: FIELDS["areaBwf"]}


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (Kind.STRING, "a", "a"),
        (Kind.TEXT, "a\nb", "a\nb"),
        (Kind.INTEGER, 3, "3"),
        (Kind.DECIMAL, 4.5, "4.5"),
        (Kind.DECIMAL, -0.25, "-0.25"),
        (Kind.BOOLEAN, False, "false"),
        (Kind.ENUM, "GAS", "GAS"),
        (Kind.DATE, "2026-01-31", "2026-01-31"),
        (Kind.DATETIME, "2026-01-31T09:00:00Z", "2026-01-31T10:00:00"),
        (Kind.DATETIME, "2026-07-31T09:00:00Z", "2026-07-31T11:00:00"),
        (Kind.OBJECT_LIST, [{"a": 1}], '[\n  {\n    "a": 1\n  }\n]'),
    ],
)
def test_a_value_comes_back_from_its_input_as_it_went_in(kind, value, shown):
    assert input_values.shown(kind, value, ZURICH) == shown
    assert input_values.read(FIELD[kind], shown, ZURICH) == value
    assert input_values.same(kind, shown, shown.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.DECIMAL, "1'200.50", 1200.5),
        (Kind.DECIMAL, "1\u2019200\u2019000", 1200000),
        (Kind.DECIMAL, "85,5", 85.5),
        (Kind.DECIMAL, "1'250.--", 1250),
        (Kind.DECIMAL, "4½", 4.5),
        (Kind.DATE, "31.1.2026", "2026-01-31"),
        (Kind.INTEGER, " 12 ", 12),
        (Kind.TEXT, "  a\r\nb  ", "a\nb"),
        (Kind.STRING, "   ", None),
        (Kind.DATETIME, "2026-01-31T09:00+05:00", "2026-01-31T04:00:00Z"),
        (Kind.DATETIME, "2026-01-31", "2026-01-31"),
        (Kind.DATETIME, "31.01.2026 10:00", "2026-01-31T09:00:00Z"),
        (Kind.BOOLEAN, "", None),
    ],
)
def test_what_people_type_is_understood(kind, text, value):
    assert input_values.read(FIELD[kind], text, ZURICH) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.DECIMAL, "12.500"),
        (Kind.DECIMAL, "1e999"),
        (Kind.DECIMAL, "NaN"),
        (Kind.INTEGER, "1 2"),
        (Kind.DATE, "31/1/2026"),
        (Kind.DATETIME, "9 o'clock"),
        (Kind.OBJECT_LIST, "[NaN]"),
        (Kind.OBJECT_LIST, "[1e999]"),
        (Kind.OBJECT_LIST, "[" * 100_000),
    ],
)
def test_what_is_no_value_of_the_field_is_refused(kind, text):
    with pytest.raises(Unreadable):
        input_values.read(FIELD[kind], text, UTC)


def test_a_path_is_cut_into_steps_and_its_leaf():
    assert steps("a[10].b.c") == ("a", 10, "b", "c")
    leaves = {
        "title": "title",
        "address.geo.latitude": "address",
        "prices.rent.gross": "prices.rent",
        "prices.additionalOffers[0].price": "prices.additionalOffers",
        "localizations[1].title": "localizations",
    }
    assert {path: leaf_of(path) for path in leaves} == leaves


def test_only_touched_members_of_a_leaf_are_written():
    stored = {"street": "A", "unknown": [1], "geo": {"latitude": 1, "longitude": 2}}
    touched = {
        "address.street": None,
        "address.geo.latitude": None,
        "address.geo.longitude": None,
        "address.locality": "Bern",
    }
    made = assembly.assemble("address", stored, touched, set())
    assert made.value == {"unknown": [1], "locality": "Bern"}
    assert stored == {"street": "A", "unknown": [1], "geo": {"latitude": 1, "longitude": 2}}


def test_rows_that_stay_empty_are_left_out_and_the_others_know_their_place():
    stored = [{"url": "a"}, {"url": "b"}]
    touched = {"videoLinks[0].url": None, "videoLinks[4].url": "e"}
    made = assembly.assemble("videoLinks", stored, touched, set())
    assert (made.value, made.rows) == ([{"url": "b"}, {"url": "e"}], (1, 4))
    gone = assembly.assemble("videoLinks", stored, {}, {0, 1})
    assert (gone.value, gone.rows) == (None, ())


def test_the_tree_has_each_field_of_the_catalog_once():
    tabs = form_tree.tabs({})
    shown = [place.path for tab in tabs for block in tab.blocks for place in block.all_places]
    assert len(shown) == len(set(shown))
    own = {"[]".join(path.split("[0]")) for path in shown if "[1]" not in path}
    inputs = {
        path
        for path, field in FIELDS.items()
        if not field.read_only
        and field.kind not in {Kind.OBJECT, Kind.MERGED, Kind.MAP}
        and not (field.kind is Kind.OBJECT_LIST and "[]" not in path)
        and path.count("[]") < 2  # what an item holds many of is one JSON input
    }
    assert own - inputs == {"customFields[].name", "customFields[].value"}
    assert inputs - own == set()


def test_no_field_stands_where_nobody_would_look_for_it():
    places = {
        place.path: tab.title
        for tab in form_tree.tabs({}, creating=False)
        for block in tab.blocks
        for place in block.all_places
    }
    wanted = {"areaBwf": "Areas and counts", "yearBuilt": "Classification", "offerType": "General"}
    wanted |= {"title": "Texts", "localizations[0].description": "Texts"}
    assert {path: places[path] for path in wanted} == wanted
    assert "Extra" not in places.values()
    # Whatever the catalog calls extra has a place of its own.
    extra = {row.path for row in FIELDS.values() if row.group == "Extra"}
    assert form_tree.WHERE.keys() == extra | {"title", "localizations"}
