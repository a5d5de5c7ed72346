"""What holds for all keys of both sides: a matching is a partition, whatever the order (I36)."""

import time
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from properties.domain.matching import match
from properties.match_keys import address_key, is24_key, reference_key, unit_key

side = st.lists(st.none() | st.sampled_from("abcdef"), max_size=12).map(
    lambda keys: list(enumerate(keys))
)


@pytest.mark.rule("I36")
@given(ours=side, theirs=side)
def test_each_row_is_in_exactly_one_part_once(ours, theirs):
    found = match(ours, theirs)
    mine = [a for a, _ in found.matched] + [*found.only_ours]
    their = [b for _, b in found.matched] + [*found.only_theirs]
    for group in found.ambiguous:
        mine += group.ours
        their += group.theirs
    assert sorted(mine) == [row for row, _ in ours]
    assert sorted(their) == [row for row, _ in theirs]


@pytest.mark.rule("I36")
@given(ours=side, theirs=side)
def test_a_key_is_matched_if_each_side_has_it_once_and_ambiguous_if_one_has_it_more_often(
    ours, theirs
):
    counts = [Counter(key for _, key in rows if key is not None) for rows in (ours, theirs)]
    both = counts[0].keys() & counts[1].keys()
    found = match(ours, theirs)
    own, other = dict(ours), dict(theirs)
    once = {key for key in both if counts[0][key] == counts[1][key] == 1}
    assert {own[a] for a, _ in found.matched} == once
    assert all(own[a] == other[b] for a, b in found.matched)
    assert {group.key for group in found.ambiguous} == both - once


@given(ours=side, theirs=side)
def test_the_sides_can_be_exchanged(ours, theirs):
    one, other = match(ours, theirs), match(theirs, ours)
    assert {(b, a) for a, b in one.matched} == set(other.matched)
    assert {(group.key, group.theirs, group.ours) for group in one.ambiguous} == {
        (group.key, group.ours, group.theirs) for group in other.ambiguous
    }
    assert (one.only_ours, one.only_theirs) == (other.only_theirs, other.only_ours)


@given(ours=side, theirs=side, data=st.data())
def test_the_order_of_the_rows_does_not_count(ours, theirs, data):
    shuffled = data.draw(st.permutations(ours)), data.draw(st.permutations(theirs))
    assert match(*shuffled) == match(ours, theirs)


def seconds(count: int) -> float:
    ours = [(number, f"street {number % (count // 2)}") for number in range(count)]
    theirs = [(number, f"street {number}") for number in range(count)]
    began = time.process_time()
    match(ours, theirs)
    return time.process_time() - began


def test_ten_times_as_many_rows_take_about_ten_times_as_long():
    seconds(1_000)
    assert min(seconds(10_000) for _ in range(3)) < 0.5


# --- the keys


def home(street="Seestrasse", number="4", code="8002", rooms=3.5, **more):
    place = {"street": street, "streetNumber": number, "postalCode": code, "locality": "Zürich"}
    return {"address": place | more, "numberOfRooms": rooms}


@pytest.mark.parametrize(
    "other",
    [
        home("SEESTRASSE"),
        home("Seestr."),
        home("Seestraße"),
        home("Seestr"),
        home("Seestrasse 4", ""),
        home("Seestrasse", " 4 "),
        home(code=" 8002"),
        home(rooms=3.50),
        home(rooms="3.5"),
        home(locality="Zuerich"),
    ],
)
def test_an_address_is_the_same_however_it_is_written(other):
    assert address_key(other) == address_key(home()) == "seestr4|8002|3.5"


@pytest.mark.parametrize(
    "other",
    [
        home("Bergstrasse"),
        home(number="4a"),
        home(code="8003"),
        home(rooms=4.5),
        home(rooms=None),
        home(rooms=35),
    ],
)
def test_another_address_or_other_rooms_are_another_property(other):
    assert address_key(other) not in (None, address_key(home()))


def test_accents_umlauts_and_a_letter_of_the_number_do_not_count():
    assert address_key(home("Rue de l'Église", "12 B")) == address_key(
        home("rue de l eglise", "12b")
    )
    assert address_key(home("Müllerweg")) == address_key(home("Muellerweg"))


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"address": None},
        {"address": "Seestrasse 4"},
        {"address": {"street": "Seestrasse"}, "numberOfRooms": 3},
        {"address": {"postalCode": "8002"}, "numberOfRooms": 3},
        {"address": {"street": {"odd": 1}, "postalCode": ["8002"]}},
        {"address": {"street": "…", "postalCode": "-"}},
    ],
)
def test_without_a_street_or_a_postal_code_nothing_is_matched(document):
    assert address_key(document) is None


@pytest.mark.parametrize("rooms", ["1e999999999", "NaN", 10**400, -3, True, [3], "three"])
def test_odd_rooms_are_no_rooms(rooms):
    assert address_key(home(rooms=rooms)) == "seestr4|8002|"


def test_egid_and_ewid_are_compared_by_their_digits():
    def unit(egid, ewid=None):
        return unit_key({"swissReferences": {"egid": egid, "ewid": ewid}})

    assert unit("190 167 443", "2") == unit("0190167443", "EWID 2") == "190167443/2"
    assert unit("190167443") == "190167443/"
    assert (unit(None, "2"), unit("none"), unit_key({"swissReferences": 7})) == (None, None, None)
    assert unit("1901", "67") != unit("19016", "7")


def test_references_and_is24_ids_are_compared_without_separators():
    assert reference_key("MH-1001") == reference_key("mh 1001") == "mh1001"
    assert is24_key({"is24Id": "IS24/77 "}) == is24_key({"is24Id": "is2477"})
    assert (reference_key(None), reference_key("--"), is24_key({})) == (None, None, None)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4))
def test_a_document_of_any_shape_has_a_short_key_or_none(value):
    address = {"street": value, "streetNumber": value, "postalCode": value}
    document = {"address": address, "numberOfRooms": value, "is24Id": value}
    document["swissReferences"] = {"egid": value, "ewid": value}
    for made in (address_key(document), is24_key(document), unit_key(document)):
        assert made is None or 0 < len(made) <= 100
