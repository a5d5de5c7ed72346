"""Which members of two values differ, and the value that a person makes from both."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from properties.catalog import FIELDS, equal
from properties.members import MOST, differing, from_both
from tests.properties.documents import value

LEAVES = ["address", "prices.rent", "localizations", "publishers", "customFields", "commissions"]
LEAVES += ["seller", "title", "propertyCategories", "prices.additionalOffers"]
laws = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
few = st.sampled_from("ab")


@st.composite
def sides(draw):
    """Draw a leaf and what each side has there; often much alike."""
    leaf = draw(st.sampled_from(LEAVES))
    values = st.none() | value(FIELDS[leaf], few)
    return leaf, draw(values), draw(values)


def names(members) -> set:
    return {one.steps for one in members}


@laws
@given(sides())
def test_no_member_differs_exactly_when_both_mean_the_same(case):
    leaf, ours, theirs = case
    assert (not differing(leaf, ours, None, theirs)) == equal(leaf, ours, theirs)


@laws
@given(sides(), st.randoms(use_true_random=False))
def test_each_member_is_as_the_side_that_was_chosen_for_it(case, random):
    leaf, ours, theirs = case
    members = names(differing(leaf, ours, None, theirs))
    taken = {steps for steps in members if random.random() < 0.5}
    made = from_both(leaf, ours, theirs, taken)
    assert names(differing(leaf, made, None, theirs)) == members - taken
    if taken != members:  # else it is theirs, in their order
        assert names(differing(leaf, ours, None, made)) == taken
    assert from_both(leaf, ours, theirs, ()) == ours
    assert from_both(leaf, ours, theirs, members) == (theirs if members else ours)


@pytest.mark.parametrize(
    ("leaf", "ours", "theirs", "found"),
    [
        ("title", "a", "b", [("", "a", "b")]),
        ("title", "a", "a", []),
        ("title", "a", None, [("", "a", None)]),
        (
            "prices.rent",
            {"gross": 100, "net": 80, "interval": "MONTH"},
            {"gross": 100.0, "net": 90},
            [("Net", 80, 90), ("Interval", "MONTH", None)],
        ),
        (
            "localizations",
            [{"languageCode": "de", "title": "Haus", "excerpt": "x"}, {"languageCode": "fr"}],
            [
                {"languageCode": "it", "title": "Casa"},
                {"languageCode": "de", "title": "Villa", "excerpt": "x"},
            ],
            [
                ("de · title", "Haus", "Villa"),
                ("fr", {"languageCode": "fr"}, None),
                ("it", None, {"languageCode": "it", "title": "Casa"}),
            ],
        ),
        # The same language twice: the entries cannot be told apart.
        (
            "localizations",
            [{"languageCode": "de"}, {"languageCode": "de"}],
            [{"languageCode": "de"}],
            [("", [{"languageCode": "de"}, {"languageCode": "de"}], [{"languageCode": "de"}])],
        ),
        # Half of one point and half of another one is no place.
        (
            "address",
            {"street": "A", "geo": {"latitude": 1, "longitude": 2}},
            {"street": "A", "geo": {"latitude": 3, "longitude": 2}},
            [("Coordinates", {"latitude": 1, "longitude": 2}, {"latitude": 3, "longitude": 2})],
        ),
        ("customFields", {"our key": "a", "b": "c"}, {"our key": "d"}, None),
        ("propertyCategories", ["FLAT", "LOFT"], ["LOFT"], [("", ["FLAT", "LOFT"], ["LOFT"])]),
    ],
)
def test_what_differs_is_named_down_to_its_member(leaf, ours, theirs, found):
    members = differing(leaf, ours, None, theirs)
    found = [("our key", "a", "d"), ("b", "c", None)] if found is None else found
    assert [(one.name, one.ours, one.theirs) for one in members] == found


def test_entries_in_another_order_are_one_difference():
    ours = [{"languageCode": "de"}, {"languageCode": "fr"}]
    (only,) = differing("localizations", ours, None, ours[::-1])
    assert only.steps == ()


def test_what_was_before_stands_beside_each_member():
    members = differing("prices.rent", {"net": 1}, {"net": 2, "gross": 3}, {"net": 4, "gross": 5})
    assert [(one.name, one.base) for one in members] == [("Gross", 3), ("Net", 2)]


def test_a_leaf_in_which_very_many_members_differ_is_decided_as_one():
    ours = {f"k{n}": "a" for n in range(MOST + 1)}
    assert [one.steps for one in differing("customFields", ours, None, {})] == [()]
    del ours["k0"]
    assert len(differing("customFields", ours, None, {})) == MOST
