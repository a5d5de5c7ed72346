"""The catalog: its size, what is the same, what may travel, what is refused."""

from decimal import Decimal

import pytest
from django.utils.translation import override
from hypothesis import example, given, settings, strategies as st

from crm_sync.platform import references
from crm_sync.sentence import Sentence
from crm_sync.text import capitalized, clean, holds_nothing_unstorable
from properties import catalog, merge
from properties.catalog import UNSENDABLE, Kind, equal, sendable
from properties.catalog.field_names import stored_label

# --- the table


def test_the_catalog_has_315_fields_of_which_76_stand_at_top_level():
    assert (len(catalog.FIELDS), len(catalog.TOP_LEVEL)) == (315, 76)


def test_every_top_level_field_stands_in_one_group():
    assert {group: len(rows) for group, rows in catalog.GROUPS.items()} == {
        "Core": 4,
        "References": 7,
        "Availability": 3,
        "Classification": 6,
        "Areas and counts": 21,
        "Heating and energy": 4,
        "Prices": 6,
        "Amenities": 1,
        "Listing": 8,
        "Read-only": 1,
        "Extra": 15,
    }


@pytest.mark.rule("4.6 rule 3")
def test_four_objects_merge_and_two_fields_are_read_only():
    merged = {path for path, row in catalog.TOP_LEVEL.items() if row.kind is Kind.MERGED}
    assert merged == catalog.MERGED
    assert sorted(catalog.READ_ONLY) == ["id", "rooms"]


def test_every_field_stands_in_an_object_or_list_that_the_table_has():
    orphans = [
        row.path for row in catalog.FIELDS.values() if row.parent not in {*catalog.FIELDS, ""}
    ]
    assert orphans == []


def test_enums_and_only_enums_have_values():
    with_values = {row.path for row in catalog.FIELDS.values() if row.enum}
    enums = {row.path for row in catalog.FIELDS.values() if row.kind in {Kind.ENUM, Kind.ENUM_LIST}}
    assert with_values == enums


@pytest.mark.rule("2.4 Amenities")
def test_86_characteristics_have_three_states_and_unknown_is_a_value_nowhere_else():
    with_unknown = [row for row in catalog.FIELDS.values() if "UNKNOWN" in row.enum]
    assert len(with_unknown) == 86
    assert {row.parent for row in with_unknown} == {"characteristics"}
    assert {row.enum for row in with_unknown} == {("APPLIES", "DOES_NOT_APPLY", "UNKNOWN")}


def test_labels_are_unique_within_an_object():
    labels = [(row.parent, catalog.label(row.path)) for row in catalog.FIELDS.values()]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("prices.rent.gross", "prices.rent.gross"),
        ("localizations[].title", "localizations[].title"),
        ("localizations[0].title", "localizations[].title"),
        ("localizations.0.title", "localizations[].title"),
        ("publishers[2].options[10].key", "publishers[].options[].key"),
        ("propertyCategories[3]", "propertyCategories"),
        ("prices.0", None),
        ("localizations.title", None),
        ("nothing", None),
        ("", None),
    ],
)
def test_a_field_is_found_however_its_items_are_written(path, found):
    field = catalog.find(path)
    assert (field.path if field else None) == found


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("numberOfRooms", "Number of rooms"),
        ("prices.rent.gross", "Rent · gross"),
        ("prices", "Prices"),
        ("localizations[0].title", "Texts 1 · title"),
        ("localizations.1.title", "Texts 2 · title"),
        ("characteristics.hasElevator", "Elevator"),
        ("swissReferences.egid", "EGID"),
        ("objectReferenceId", "Object reference ID"),
        ("somethingNew.fooBar", "Something new · foo bar"),
    ],
)
def test_a_path_reads_in_words(path, label):
    assert catalog.label(path) == label


@pytest.mark.parametrize("language", ["en", "de", "fr", "it"])
def test_a_stored_path_is_read_in_the_words_of_the_page(language):
    paths = [*catalog.FIELDS, "localizations[0].title", "images.2.url", "somethingNew.fooBar"]
    stored = [Sentence.loaded(stored_label(path).dumped) for path in paths]
    with override(language):
        assert [capitalized(one.said()) for one in stored] == [catalog.label(one) for one in paths]


# --- equality


@pytest.mark.parametrize(
    ("path", "a", "b"),
    [
        ("numberOfRooms", 2, 2.0),
        ("numberOfRooms", 2, Decimal("2.00")),
        ("floor", None, ""),
        ("title", "", None),
        ("availabilityStartAt", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:00"),
        ("availabilityStartAt", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00"),
        ("availabilityStartAt", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00.000+01:00"),
        ("availabilityStartAt", "2026-01-01", "2026-01-01T00:00:00Z"),
        ("conditions", None, []),
        ("localizations", [], ""),
        ("customFields", {}, None),
        ("address", {"geo": {}, "street": ""}, None),
        ("prices.rent", {"gross": 2, "net": None}, {"gross": 2.0}),
        ("prices", {"rent": {"gross": 1}}, {"rent": {"gross": 1.0}, "buy": {}}),
        ("localizations", [{"title": "a", "excerpt": None}], [{"title": "a"}]),
        ("aNewField", {"a": [2]}, {"a": [2.0]}),
    ],
)
def test_values_that_mean_the_same_are_equal(path, a, b):
    assert equal(path, a, b)
    assert equal(path, b, a)


@pytest.mark.parametrize(
    ("path", "a", "b"),
    [
        ("numberOfRooms", 1, True),
        ("isFurnished", False, None),
        ("isFurnished", True, 1),
        ("floor", 0, None),
        ("title", "a", "A"),
        ("title", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00"),
        ("availabilityStartAt", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00-01:00"),
        ("propertyCategories", ["VILLA", "LOFT"], ["LOFT", "VILLA"]),
        ("localizations", [{"title": "a"}], [{"title": "a"}, {"title": "a"}]),
        ("characteristics", {"hasRamp": "UNKNOWN"}, {}),
        ("aNewField", None, ""),
        ("aNewField", 1, True),
    ],
)
def test_values_that_mean_different_things_are_not_equal(path, a, b):
    assert not equal(path, a, b)


@pytest.mark.parametrize(
    ("a", "b", "is_same"),
    [
        ({"a": 1, "b": [True]}, {"b": [True], "a": 1.0}, True),
        ({"a": {"b": 1}}, {"a": {"b": True}}, False),
        ([1, 0], [1, False], False),
        (["a", "b"], ["b", "a"], False),
        ({"a": None}, {}, False),
        (None, None, True),
    ],
)
def test_json_is_the_same_in_any_order_of_members_and_true_is_no_number(a, b, is_same):
    assert merge.same_json(a, b) is is_same
    assert merge.same_json(b, a) is is_same


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.decimals(-3, 3, places=1),
    st.sampled_from(["", "a", "UNKNOWN", "VILLA", "2026-01-01T00:00:00Z", "2026-01-01"]),
)
names = st.sampled_from(["gross", "interval", "geo", "title", "languageCode", "options", "0", "x"])
json_values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(names, v, max_size=3), max_leaves=6
)
leaves = st.sampled_from(
    [path for path in catalog.FIELDS if catalog.misplaced(path) is None]
    + ["aNewField", "prices.aNewOne"]
)
paths = st.one_of(leaves, st.sampled_from(sorted(catalog.FIELDS)))


@settings(max_examples=150, deadline=None)
@given(paths, json_values, json_values, json_values)
def test_equality_is_an_equivalence(path, a, b, c):
    assert equal(path, a, a)
    assert equal(path, a, b) == equal(path, b, a)
    if equal(path, a, b) and equal(path, b, c):
        assert equal(path, a, c)


@settings(max_examples=100, deadline=None)
@given(paths, st.sampled_from([None, "", [], {}, 0, False]), st.sampled_from([None, "", [], {}]))
def test_what_says_nothing_is_equal_to_all_that_says_nothing(path, a, b):
    if equal(path, a, None) and equal(path, b, None):
        assert equal(path, a, b)


# --- what may travel


@pytest.mark.parametrize(
    ("path", "value", "sent"),
    [
        ("title", "Loft", "Loft"),
        ("title", "", UNSENDABLE),
        ("floor", None, UNSENDABLE),
        ("floor", 0, 0),
        ("isFurnished", False, False),
        ("id", "7", UNSENDABLE),
        ("rooms", [{"name": "Bath"}], UNSENDABLE),
        ("rooms", [], UNSENDABLE),
        ("heatingType", "UNKNOWN", UNSENDABLE),
        ("energyCertificate.type", "UNKNOWN", UNSENDABLE),
        ("localizations", None, []),
        ("energyCertificate.energySources", "", []),
        ("customFields", None, {}),
        ("address", {"geo": {}}, {}),
        ("prices.rent", {"gross": None}, {}),
        ("characteristics.hasRamp", None, "UNKNOWN"),
        ("characteristics.hasRamp", "UNKNOWN", "UNKNOWN"),
        ("characteristics.hasSomethingNew", "", "UNKNOWN"),
        ("prices.rent", {"gross": 9, "net": None, "interval": "UNKNOWN"}, {"gross": 9}),
        ("propertyCategories", ["UNKNOWN", "VILLA", None], ["VILLA"]),
        ("prices.additionalOffers", [{"price": 1, "interval": "UNKNOWN"}], [{"price": 1}]),
        ("publishers", [{"id": "a", "options": [], "x": None}], [{"id": "a", "options": []}]),
        ("address", {"geo": {}, "street": "", "locality": "Bern"}, {"locality": "Bern"}),
        ("customFields", {"a": "UNKNOWN", "b": None}, {"a": "UNKNOWN"}),
        ("aNewField", {"a": None}, {"a": None}),
        ("aNewField", None, UNSENDABLE),
        ("aNewField", "UNKNOWN", UNSENDABLE),
    ],
)
def test_what_of_a_value_may_travel(path, value, sent):
    assert sendable(path, value) == sent


@pytest.mark.parametrize(
    ("path", "value"),
    [("propertyCategories", ["UNKNOWN"]), ("prices.rent", {"interval": "UNKNOWN"})],
)
def test_a_value_of_nothing_but_unknown_is_not_turned_into_a_clearing(path, value):
    assert sendable(path, value) is UNSENDABLE


def unknowns(path: str, value: object) -> list[str]:
    """Return where UNKNOWN stands as the value of an enum that the catalog knows."""
    field = catalog.find(path)
    if isinstance(value, dict):
        return [p for name, member in value.items() for p in unknowns(f"{path}.{name}", member)]
    if isinstance(value, list):
        return [p for item in value for p in unknowns(f"{path}[]", item)]
    is_enum = field is not None and field.kind in {Kind.ENUM, Kind.ENUM_LIST}
    return [path] if is_enum and value == "UNKNOWN" else []


@settings(max_examples=300, deadline=None)
@given(leaves, json_values)
@example("energyCertificate.energySources", "UNKNOWN")  # a text where a list belongs
def test_never_none_never_rooms_and_unknown_in_characteristics_only(path, value):
    sent = sendable(path, value)
    assert sent is not None
    if path in catalog.READ_ONLY:
        assert sent is UNSENDABLE
    if sent is not UNSENDABLE and not path.startswith("characteristics."):
        assert unknowns(path, sent) == []


@settings(max_examples=150, deadline=None)
@given(leaves, json_values)
def test_what_travels_would_travel_again_unchanged(path, value):
    sent = sendable(path, value)
    if sent is not UNSENDABLE:
        assert repr(sendable(path, sent)) == repr(sent)


# --- validation


@pytest.mark.rule("S24", "2.4 Read-only", "7 UNKNOWN; 255", "8 texts")
@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("title", "x" * 256, "title: Use at most 255 characters, not 256"),
        ("title", 7, "title: Write a text"),
        ("title", "a\0b", "title: Remove the control character in this text"),
        ("title", "\ud800", "title: Remove the half of a character in this text"),
        ("id", "1", "id: Only the platform can change this"),
        ("rooms", [{}], "rooms: Only the platform can change this"),
        (
            "heatingDistribution",
            "UNKNOWN",
            "heatingDistribution: UNKNOWN cannot be sent: leave it out",
        ),
        (
            "heatingDistribution",
            "WALL",
            "heatingDistribution: “WALL” is not one of its values: choose one of RADIATOR, FLOOR",
        ),
        (
            "propertyCategories",
            ["VILLA", "UNKNOWN"],
            "propertyCategories[1]: UNKNOWN cannot be sent: leave it out",
        ),
        ("propertyCategories", "VILLA", "propertyCategories: Write a list"),
        ("propertyCategories", {}, "propertyCategories: Write a list"),
        ("customFields", [], "customFields: Write an object"),
        ("address", {"geo": []}, "address.geo: Write an object"),
        ("floor", 1.5, "floor: Write a whole number"),
        (
            "address",
            {"geo": {"latitude": 90.1, "longitude": 180}},
            "address.geo.latitude: Write a number between -90 and 90, not 90.1",
        ),
        ("address", {"countryCode": "ch"}, "address.countryCode: Use a two-letter code such as CH"),
        ("areaBwf", -0.5, "areaBwf: Write a number from 0, not -0.5"),
        ("prices.rent", {"gross": -1}, "prices.rent.gross: Write a number from 0, not -1"),
        (
            "prices.buy",
            {"wirPercentage": 101},
            "prices.buy.wirPercentage: Write a number between 0 and 100, not 101",
        ),
        ("yearBuilt", 19, "yearBuilt: Write a number between 1000 and 2999, not 19"),
        ("numberOfRooms", True, "numberOfRooms: Write a number"),
        ("numberOfRooms", "4.5", "numberOfRooms: Write a number"),
        ("floor", "two", "floor: “two” is not a number such as 1200 or 4.5"),
        ("numberOfRooms", float("nan"), "numberOfRooms: Write a finite number"),
        ("isFurnished", "yes", "isFurnished: Write true or false"),
        (
            "energyCertificate.issuedAt",
            "03-2015",
            "energyCertificate.issuedAt: “03-2015” is not a date such as 2026-01-31",
        ),
        (
            "availabilityStartAt",
            "2026-02-30T00:00:00Z",
            "availabilityStartAt: “2026-02-30T00:00:00Z” is no day of the calendar",
        ),
        ("prices", {"currency": "chf"}, "prices.currency: Use a three-letter code such as CHF"),
        ("prices", {"rent": {"gross": "9"}}, "prices.rent.gross: Write a number"),
        ("address", {"geo": {"latitude": 1}}, "address.geo.longitude: This value is missing"),
        ("address", [1], "address: Write an object"),
        ("localizations", [{}], "localizations[0].languageCode: This value is missing"),
        ("localizations", ["de"], "localizations[0]: Write an object"),
        (
            "localizations",
            [{"languageCode": "de"}, {"languageCode": "de"}],
            "localizations[1].languageCode: “de” is there already: a language has one text",
        ),
        ("videoLinks", [{"title": "Tour"}], "videoLinks[0].url: This value is missing"),
        ("customFields", {"a": 1}, "customFields.a: Write a text"),
        ("aNewField", ["\0"], "aNewField[0]: Remove the control character in this text"),
        (
            "objectReferenceId",
            "..",
            'objectReferenceId: The reference cannot be "..": that is a step in a path',
        ),
    ],
)
def test_what_the_platform_would_refuse_is_named(path, value, message):
    assert [fault.sentence for fault in catalog.validate(path, value)] == [message]


@pytest.mark.rule("8 texts")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("title", None),
        ("title", "x" * 255),
        ("title", ""),
        ("rooms", []),
        ("localizations", [{"languageCode": "de", "description": "x" * 5000 + "\n"}]),
        ("virtualTourLinks", [{"url": "https://example.com/" + "x" * 300}]),
        ("characteristics", {"hasRamp": "UNKNOWN"}),
        ("numberOfRooms", 4.5),
        ("floor", -1),
        ("address", {"geo": {"latitude": -90, "longitude": 180, "elevation": -3.5}}),
        ("floor", 2.0),
        ("address", {"geo": {"latitude": None, "longitude": None}}),
        ("availabilityStartAt", "2026-01-31"),
        ("aNewField", {"any": [1, None, True]}),
    ],
)
def test_what_the_platform_takes_has_no_fault(path, value):
    assert catalog.validate(path, value) == []


def test_a_document_names_all_its_faults_at_their_fields():
    document = {"title": "Loft", "floor": "x", "prices": {"buy": {"price": "y"}}}
    faults = catalog.validate_document(document)
    assert [fault.path for fault in faults] == ["floor", "prices.buy.price"]


@settings(max_examples=200, deadline=None)
@given(paths, json_values)
def test_validation_answers_whatever_it_is_asked(path, value):
    assert all(fault.message for fault in catalog.validate(path, value))


@pytest.mark.parametrize("reference", ["A-1", "a b", "ä.ö", "...", "x" * 255, "A&B=C;D"])
def test_a_reference_that_can_travel(reference):
    assert references.path_fault(reference) is None


@pytest.mark.parametrize("reference", ["2026/17", "a?b", "a#b", "50%", "a\\b"])
def test_a_reference_that_is_sent_in_bodies_alone(reference):
    assert references.fault(reference) is None
    assert references.path_fault(reference) is not None


@pytest.mark.rule("S14")
@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("", "is empty"),
        ("x" * 256, "is longer than 255 characters (256)"),
        ("a/b", 'holds "/", which cannot travel in an address'),
        ("a?b", 'holds "?", which cannot travel in an address'),
        ("a#b", 'holds "#", which cannot travel in an address'),
        ("a%b", 'holds "%", which cannot travel in an address'),
        ("a\nb", "holds a control character"),
        (".", 'cannot be ".": that is a step in a path'),
        ("..", 'cannot be "..": that is a step in a path'),
        (" a", "begins or ends with a space"),
        ("a ", "begins or ends with a space"),
    ],
)
def test_a_reference_that_cannot_travel(reference, reason):
    assert references.path_fault(reference) == f"The reference {reason}"


# --- cleaning


@pytest.mark.rule("S24")
@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ("a\0b", ("ab", True)),
        ({"a\0": ["\ud800x", 1]}, ({"a": ["x", 1]}, True)),
        ({"a": "kept", "a\0": "gone"}, ({"a": "kept"}, True)),
        ({"a": [None, True, 1.5, "ä😀"]}, ({"a": [None, True, 1.5, "ä😀"]}, False)),
    ],
)
def test_what_no_database_can_keep_is_removed_and_told(value, cleaned):
    assert clean(value) == cleaned


TEXTS = st.text(st.sampled_from("aä😀\0\ud800\udfff\\u0"), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inside: st.lists(inside, max_size=3) | st.dictionaries(TEXTS, inside)
)


@given(VALUES)
def test_a_value_that_holds_nothing_unstorable_is_cleaned_of_nothing(value):
    _, changed = clean(value)
    assert not (holds_nothing_unstorable(value) and changed)


@pytest.mark.parametrize(
    ("value", "is_told"),
    [
        ({"a": [None, True, 1.5, "ä😀"]}, True),
        ("a\0b", False),
        ({"\ud800": 1}, False),
        pytest.param(10**5000, False, id="longer than an integer's text may be"),
    ],
)
def test_it_is_told_without_a_walk_that_a_value_holds_nothing_unstorable(value, is_told):
    assert holds_nothing_unstorable(value) is is_told
