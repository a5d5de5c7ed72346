"""What holds for every three-way merge; the judge is the platform's PATCH (§4.6, I2, I4, I5)."""

import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from properties.catalog import UNSENDABLE, equal, is_vacant, sendable
from properties.merge import (
    MERGED,
    changed,
    document,
    leaves,
    smallest_patch,
    three_way,
)
from properties.ownership import Ownership
from sandbox.interface.property_fields import PROPERTY, Field
from sandbox.state.property_update import merge as patched

laws = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)


NO_RULES = Ownership("")
FIXED = {
    "integer": st.integers(0, 2),
    "decimal": st.sampled_from([0, 1, 1.0, 2.5]),
    "boolean": st.booleans(),
    "date": st.dates(dt.date(2026, 1, 1), dt.date(2026, 1, 2)).map(str),
    "datetime": st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"]),
    "map": st.dictionaries(st.sampled_from("pq"), st.sampled_from("ab"), max_size=2),
    "read-only": st.sampled_from(["7", "8"]),
    "text": st.sampled_from("ab"),
}


def of_kind(field: Field, depth: int = 3) -> st.SearchStrategy[Any]:
    """Values that the platform takes for a field; few of each, so that sides meet by chance."""
    if field.kind in FIXED:
        return FIXED[field.kind]
    if field.kind == "enum":
        return st.sampled_from(sorted(field.values)[:2])
    if field.kind == "enums":
        return st.lists(st.sampled_from(sorted(field.values)[:2]), max_size=2)
    one = members(field.members, depth - 1)
    return st.lists(one, max_size=2) if field.kind == "list" else one


def members(fields: dict[str, Field], depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with at most three of these members."""
    names = sorted(fields)
    if depth < 0:
        return st.just({})
    return st.lists(st.sampled_from(names), max_size=3, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({n: of_kind(fields[n], depth) for n in chosen})
    )


SCALARS = ["title", "numberOfRooms", "isFurnished", "heatingType", "availabilityStartAt", "id"]
WHOLE = ["address", "propertyCategories", "videoLinks", "localizations", "customFields", "rooms"]
FEW = {name: PROPERTY[name] for name in [*SCALARS, *WHOLE, *sorted(MERGED)]}
few = members(FEW, 3)  # the same 16 fields on all sides, so that they meet
documents = st.one_of(few, members(PROPERTY, 3))


def same(one: dict, other: dict) -> bool:
    """Say whether two documents mean the same, leaf by leaf."""
    a, b = leaves(one), leaves(other)
    return all(equal(path, a.get(path), b.get(path)) for path in a.keys() | b.keys())


def patch_of(desired: dict, observed: dict, *, inflight=(), blocked=(), owner=NO_RULES):
    return smallest_patch(
        desired=desired,
        observed=observed,
        inflight=inflight,
        blocked=blocked,
        equal=equal,
        sendable=sendable,
        owner=owner,
        vacant=is_vacant,
    )


def merged(base, ours, theirs, inflight=None, owner=NO_RULES):
    return three_way(
        base=base,
        ours=ours,
        theirs=theirs,
        inflight=inflight or {},
        equal=equal,
        owner=owner,
        vacant=is_vacant,
    )


# --- leaves


@laws
@given(documents)
def test_a_document_put_together_from_its_leaves_is_the_same(whole):
    empty = {name for name in MERGED if whole.get(name) == {}}  # says nothing: rule 3
    assert document(leaves(whole)) == {k: v for k, v in whole.items() if k not in empty}


@laws
@given(documents, documents)
def test_a_change_sets_its_leaves_and_no_other(before, after):
    wanted = leaves(after)
    result = changed(before, wanted)
    assert leaves(result) == leaves(before) | wanted
    assert changed(result, dict.fromkeys(leaves(result))) == {}
    assert changed(before, {}) == document(leaves(before))


@pytest.mark.rule("4.6 rule 1")
def test_null_says_the_same_as_absent():
    assert leaves({"title": None, "prices": {"rent": None}, "characteristics": None}) == {}


def test_a_member_without_a_name_stays_in_its_object():
    whole = {"prices": {"": 1, "a.b": 2}}
    assert document(leaves(whole)) == whole


# --- what travels


def holds(told: Any, stored: Any, before: Any) -> bool:
    """Say whether the platform holds all that was told, and besides only what it had before.

    Objects in the four merged ones are merged deep (A10): a member that we took out stays.
    """
    if isinstance(told, dict) and isinstance(stored, dict):
        had = before if isinstance(before, dict) else {}
        return all(
            holds(told[name], stored.get(name), had.get(name))
            if name in told
            else stored[name] == had.get(name)
            for name in told.keys() | stored.keys()
        )
    return told == stored


@pytest.mark.rule("I5")
@laws
@given(documents, documents)
def test_the_patch_brings_the_platform_to_what_we_want_where_it_can_be_said(desired, observed):
    patch = patch_of(desired, observed)
    there = patched(observed, patch.body)  # refuses what is not allowed
    want, have, before = leaves(desired), leaves(there), leaves(observed)
    for path in want.keys() | have.keys():
        if path in patch.unsendable:
            assert equal(path, have.get(path), before.get(path))
        elif path.partition(".")[0] in MERGED and isinstance(patch.parts.get(path), dict):
            assert holds(patch.parts[path], have[path], before.get(path))
        elif path in patch.parts and sendable(path, want.get(path)) != want.get(path):
            assert equal(path, have.get(path), patch.parts[path])
        else:
            assert equal(path, have.get(path), want.get(path))


@pytest.mark.rule("I5")
@laws
@given(documents, documents)
def test_the_patch_is_empty_exactly_when_nothing_that_can_be_said_differs(desired, observed):
    patch = patch_of(desired, observed)
    want, have = leaves(desired), leaves(observed)
    paths = want.keys() | have.keys()
    differing = {path for path in paths if not equal(path, want.get(path), have.get(path))}
    sayable = {path for path in differing if sendable(path, want.get(path)) is not UNSENDABLE}
    assert set(patch.parts) == sayable
    assert set(patch.unsendable) == differing - sayable
    assert patch_of(observed, observed).body == {}


def with_faults(field: Field) -> st.SearchStrategy[Any]:
    """Values that we may hold and must not send as they are: null, and UNKNOWN in an enum."""
    if field.kind == "merged":
        names = st.lists(st.sampled_from(sorted(field.members)), max_size=3, unique=True)
        return names.flatmap(
            lambda ns: st.fixed_dictionaries({n: with_faults(field.members[n]) for n in ns})
        )
    faults = {"enum": ["UNKNOWN"], "enums": [["UNKNOWN"], [None, "UNKNOWN"]]}.get(field.kind, [])
    return st.one_of(of_kind(field), st.sampled_from([None, *faults]))


wild = st.lists(st.sampled_from(sorted(FEW)), max_size=5, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: with_faults(FEW[name]) for name in names})
)


@pytest.mark.rule("I5", "4.6 rule 1; rule 4")
@laws
@given(wild, wild, st.lists(st.sampled_from(["title", "rooms", "heatingType", "prices.rent"])))
def test_null_rooms_and_unknown_never_travel_but_for_characteristics(desired, observed, inflight):
    body = patch_of(desired, observed, inflight=inflight).body
    features = body.pop("characteristics", {})
    assert None not in features.values()
    assert {"rooms", "id"} & body.keys() == set()
    assert "null" not in json.dumps(body)
    assert "UNKNOWN" not in json.dumps(body)


@laws
@given(few, few, st.sets(st.sampled_from(sorted(FEW))), st.sets(st.sampled_from(sorted(FEW))))
def test_what_is_in_flight_travels_again_and_what_is_held_never(ours, seen, inflight, blocked):
    want = leaves(ours)
    patch = patch_of(ours, seen, inflight=inflight, blocked=blocked)
    assert blocked & (set(patch.parts) | set(patch.unsendable)) == set()
    for path in inflight - blocked:
        said = sendable(path, want.get(path))
        assert (path in patch.parts) == (said is not UNSENDABLE)
        assert said is UNSENDABLE or patch.parts[path] == said


@pytest.mark.rule("4.6 rule 2")
@laws
@given(documents, documents)
def test_lists_travel_whole(desired, observed):
    for path, value in patch_of(desired, observed).parts.items():
        if isinstance(value, list):
            assert value == sendable(path, leaves(desired).get(path))
            assert leaves(patched(observed, document({path: value})))[path] == value


# --- three ways


@laws
@given(few, few)
def test_what_only_they_changed_is_adopted(base, theirs):
    result = merged(base, base, theirs)
    assert result.clashes == ()
    assert same(changed(base, result.adopted), theirs)


@laws
@given(few, few)
def test_what_only_we_changed_is_kept(base, ours):
    result = merged(base, ours, base)
    assert (result.adopted, result.clashes) == ({}, ())


@laws
@given(few, few)
def test_what_both_changed_alike_is_fine(base, both):
    result = merged(base, both, both)
    assert (result.adopted, result.clashes) == ({}, ())


@pytest.mark.rule("I4")
@laws
@given(few, few, few)
def test_what_both_changed_differently_is_a_clash_with_all_three_values(base, ours, theirs):
    result = merged(base, ours, theirs)
    was, our, their = leaves(base), leaves(ours), leaves(theirs)
    for path in was.keys() | our.keys() | their.keys():
        by_us = not equal(path, our.get(path), was.get(path))
        by_them = not equal(path, their.get(path), was.get(path))
        alike = equal(path, our.get(path), their.get(path))
        clashing = [one for one in result.clashes if one.path == path]
        assert len(clashing) == (by_us and by_them and not alike)
        assert (path in result.adopted) == (by_them and not by_us)
        for clash in clashing:
            values = (clash.ours, clash.base, clash.theirs)
            assert values == (our.get(path), was.get(path), their.get(path))


@pytest.mark.rule("I2")
@laws
@given(few, few, few)
def test_a_value_in_flight_that_comes_back_is_ours(base, ours, theirs):
    paths = sorted(leaves(theirs))[::2]
    inflight = {path: ["older", leaves(theirs)[path]] for path in paths}
    result = merged(base, ours, theirs, inflight)
    assert not set(paths) & (set(result.adopted) | {one.path for one in result.clashes})


@pytest.mark.rule("I4")
@laws
@given(few, few, few)
def test_no_leaf_is_lost_after_a_merge_and_a_push(base, ours, theirs):
    """What we changed arrives, what they changed stays, whatever both had before (I4)."""
    result = merged(base, ours, theirs)
    desired = changed(ours, result.adopted)
    there = patched(theirs, patch_of(desired, theirs).body)
    was, our, their, have = map(leaves, (base, ours, theirs, there))
    for path in was.keys() | our.keys() | their.keys():
        if equal(path, our.get(path), was.get(path)):
            assert equal(path, have.get(path), their.get(path))


RENT = PROPERTY["prices"].members["rent"]
rents = of_kind(RENT, 1).map(lambda rent: {"prices": {"rent": rent}})


@laws
@given(rents, rents)
def test_what_a_patch_of_ours_left_beside_our_values_is_no_edit_of_theirs(base, ours):
    """A10: a member that we send whole is merged deep, so what we left out of it stays."""
    patch = patch_of(ours, base)
    inflight = {path: [value] for path, value in patch.parts.items()}
    result = merged(base, ours, patched(base, patch.body), inflight)
    assert not result.clashes
    assert not result.adopted.keys() & patch.parts.keys()
