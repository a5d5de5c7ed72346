"""IDX 3.01: how lines are cut into columns, and what names a property: kept and broken."""

import pytest

from properties.feeds import NotAFeed, Profile, Refusal
from properties.feeds.idx import object_reference
from properties.feeds.idx.idx_columns import COLUMNS
from properties.feeds.recognition import read_feed
from tests.properties.feeds.idx_lines import line, raw_of
from tests.properties.feeds.tables import table

TOO_MANY = "has 184 columns instead of 183: a # in a text, or behind all, ends one"


@pytest.fixture
def feed(tmp_path):
    """Read a file of the given lines."""

    def read(*lines, **profile):
        path = tmp_path / "unload.txt"
        path.write_bytes(b"".join(raw_of(text) + b"\r\n" for text in lines))
        return list(read_feed(path, Profile(**profile)))

    return read


def references(items):
    """Return the reference of each record, and the reasons of each refusal."""
    return [one.reasons if isinstance(one, Refusal) else one.reference for one in items]


# --- columns


def test_a_number_sign_in_a_text_refuses_its_line_and_no_other(feed):
    spoiled = line(ref_object="R-2", object_title="Wohnung #12", selling_price="900")
    assert references(feed(line(), spoiled, line(ref_object="R-3"))) == ["R-1", [TOO_MANY], "R-3"]


def test_a_file_whose_lines_all_end_with_a_separator_is_read(feed):
    lines = [line(ref_object=f"R-{n}", selling_price="900") + "#" for n in range(3)]
    items = feed(*lines)
    assert references(items) == ["R-0", "R-1", "R-2"]
    assert [item.document["prices"] for item in items] == [{"rent": {"gross": 900}}] * 3


def test_where_lines_end_with_a_separator_one_more_number_sign_is_found_too(feed):
    spoiled = line(ref_object="R-2", object_title="Wohnung #12") + "#"
    assert references(feed(line() + "#", spoiled)) == ["R-1", [TOO_MANY]]


def test_a_line_without_the_separator_that_ends_the_others_is_refused_alone(feed):
    lines = [line(ref_object=f"R-{n}") + "#" for n in range(2)]
    reason = "does not end with a # as the lines of this file do"
    last = line(ref_object="R-2", sparefield_4="x")
    assert references(feed(*lines, last)) == ["R-0", "R-1", [reason]]


def test_with_as_many_lines_of_either_count_that_of_the_field_list_counts(feed):
    spoiled = line(ref_object="R-2", object_title="Wohnung #12")
    assert references(feed(spoiled, line())) == [[TOO_MANY], "R-1"]


@table
def test_moved_columns_are_seen_by_their_values_where_every_line_has_one_more(feed, texts, reason):
    assert references(feed(line(object_title="Wohnung #12", **texts))) == [[reason]]


def test_a_column_that_is_missing_is_seen_by_the_values_of_others(feed):
    lacking = line(currency="CHF", agency_name="a#b").replace("##Wohnung", "#Wohnung")
    assert references(feed(lacking)) == [
        ["currency “CHF” stands in column 21 instead of 22: one is missing before it"]
    ]


def test_the_number_sign_of_an_entity_ends_no_column(feed):
    title = "l&#39;appartement &#x41;"
    record = feed(line(), line(ref_object="R-2", object_title=title, region="x"))[1]
    assert (record.document["title"], record.leftover) == ("l'appartement A", {"region": "x"})


def test_a_line_break_in_a_text_is_a_part_of_it(feed):
    broken = line(ref_object="R-2", object_description="Ruhig.\nHell.\r\n\r\nGross.", region="x")
    first, second, third = feed(line(), broken, line(ref_object="R-3"))
    assert second.document["localizations"][0]["description"] == "Ruhig.\nHell.\nGross."
    assert (second.leftover, second.position) == ({"region": "x"}, "line 2")
    assert (first.reference, third.reference, third.position) == ("R-1", "R-3", "line 6")


def test_a_carriage_return_alone_breaks_no_line(feed):
    record = feed(line(object_description="Ruhig.\rHell.", object_title="a\rb"))[0]
    assert record.document["title"] == "a b"
    assert record.document["localizations"][0]["description"] == "Ruhig.\nHell."


def test_what_follows_a_whole_record_and_is_none_is_refused_alone(feed):
    reason = "has 1 column instead of 183: it lacks columns, or breaks off"
    assert references(feed(line(), "3 records", line(ref_object="R-2"))) == [
        "R-1",
        [reason],
        "R-2",
    ]


def test_the_end_of_a_file_of_dos_is_no_record(feed):
    assert references(feed(line(), b"\x1a")) == ["R-1"]


def test_a_first_line_with_the_names_of_the_columns_is_no_record(feed):
    names = "#".join(column.name for column in COLUMNS)
    assert references(feed(names, line())) == ["R-1"]
    others = names.replace("sender_id#object_category", "object_category#sender_id")
    with pytest.raises(NotAFeed, match="neither SwissRETS"):
        feed(others, line())


def test_a_record_of_many_short_lines_has_an_end(tmp_path):
    path = tmp_path / "unload.txt"
    path.write_bytes(b"IDX3.01#\r\n" + b"x\r\n" * 100_000)
    with pytest.raises(NotAFeed, match="line 1 is longer than 262,144 bytes"):
        list(read_feed(path))


# --- what names a property


def objects(*keys):
    """Return a line for each property, house, object and, if there is one, agency."""
    names = ("ref_property", "ref_house", "ref_object", "agency_id")
    return [line(**dict(zip(names, key, strict=False))) for key in keys]


def test_an_object_is_named_by_all_three_references(feed):
    items = feed(*objects(("P", "A", "1"), ("P", "B", "1"), ("P", "A", "2"), ("P", "A", "1")))
    assert references(items) == [
        "P~A~1",
        "P~B~1",
        "P~A~2",
        ['the joined reference "P~A~1" is a duplicate: an earlier record has it'],
    ]


def test_what_is_blank_keeps_its_place_and_a_reference_alone_is_a_name(feed):
    items = feed(*objects(("P", "A", ""), ("P", "B", "null"), ("", "A", "1"), ("", "", "1")))
    assert references(items) == ["P~A~", "P~B~", "~A~1", "1"]


def test_the_agency_is_a_part_of_the_names_where_a_file_has_several(feed):
    keys = [("P", "A", "1", "MH"), ("P", "A", "1", "ZH"), ("", "", "2", "ZH"), ("P", "B", "1", "")]
    assert references(feed(*objects(*keys))) == ["MH~P~A~1", "ZH~P~A~1", "ZH~2", "~P~B~1"]
    one = [("P", "A", "1", "MH"), ("P", "A", "2", "mh"), ("P", "A", "3", "")]
    assert references(feed(*objects(*one))) == ["P~A~1", "P~A~2", "P~A~3"]


@table
def test_a_sender_or_the_names_that_are_known_may_say_what_names_its_objects(feed, rule, found):
    keys = [("P", "A", "1", "MH"), ("P", "B", "1", "MH"), ("P", "C", "", "MH"), ("", "", "2", "MH")]
    named = references(feed(*objects(*keys), reference=rule))
    expected = [["ref_object is missing"] if name is None else name for name in found]
    assert named[: len(expected)] == expected


@table
def test_the_names_that_are_known_say_which_rule_gave_them(names, rule):
    assert object_reference.rule_of(names) == rule


def test_a_line_with_moved_columns_has_no_say_in_what_names_the_others(feed):
    spoiled = line(sender_id="a#b", ref_property="P", ref_house="1", ref_object="2")
    items = feed(*objects(("P", "A", "1"), ("P", "A", "3")), spoiled)
    assert references(items) == ["P~A~1", "P~A~3", [TOO_MANY]]


def test_a_line_with_moved_columns_makes_no_second_agency(feed):
    texts = {"object_title": "a#b", "currency": "CHF", "url": "ZH", "agency_id": "MH"}
    cells = line(ref_object="2", **texts).split("#")
    spoiled = "#".join([*cells[:100], *cells[101:]])  # of the right count
    keys = [("P", "A", "1", "MH"), ("P", "A", "3", "MH")]
    named = references(feed(*objects(*keys), spoiled))
    assert named[:2] == ["P~A~1", "P~A~3"]
    assert named[2][0].startswith("currency “CHF” stands in column 23 instead of 22")


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        ({"object_title": "Wohnung #12"}, "R-1"),
        ({"sender_id": "CRM #1"}, None),
        ({"offer_type": "", "object_title": "Wohnung #12"}, "R-1"),
    ],
)
def test_a_line_that_is_spoiled_behind_its_references_is_still_named(feed, texts, named):
    refusal = feed(line(**texts), line(ref_object="R-2"))[0]
    assert (refusal.reference, refusal.reasons) == (named, [TOO_MANY])


def test_what_breaks_off_before_its_references_end_is_not_named(feed):
    assert feed(line(), "IDX3.01##APPT##RENT#P#A#1")[1].reference is None
