"""Who owns a field: each combination of three values, what is in flight and a rule (I2, I4, I5).

The table is written by hand, and knows nothing of the merge.
"""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from properties.catalog import READ_ONLY, equal
from properties.merge import Clash, Owner, changed, document, leaves
from properties.models import Property
from properties.ownership import FIXED, GROUP, LEAVES, RULED, RULED_GROUPS, Ownership, keys_of
from properties.push import plan
from sandbox.state.property_update import merge as patched
from tests.properties.test_merge_laws import few, laws, merged, patch_of
from tests.properties.test_push_plan import (
    NOW,
    POLICIES,
    SECOND,
    differing,
    read_documents,
    reconcile,
    row,
    settle,
)

# Of each kind of leaf: no value, and three values. The first of the third may mean no value.
VALUES: dict[str, list[Any]] = {
    "title": [None, "a", "b", "c"],
    "characteristics.hasElevator": [None, "UNKNOWN", "APPLIES", "DOES_NOT_APPLY"],
    "prices.rent": [None, {"gross": 1}, {"gross": 2}, {"gross": 3, "interval": "MONTH"}],
    "videoLinks": [None, [], [{"url": "https://a.example"}], [{"url": "https://b.example"}]],
}
# Who has changed the leaf since both sides agreed, and what is in flight.
OURS_ONLY, THEIRS_ONLY, BOTH = "ours", "theirs", "both"
ECHO = "both, and theirs is a value of ours in flight"
REVERTED = "theirs, as a value of ours in flight that we took back"
BESIDE = "theirs, while another value of ours is in flight"
SITUATIONS = (OURS_ONLY, THEIRS_ONLY, BOTH, ECHO, REVERTED, BESIDE)
# take: theirs is adopted, else ours stays. note: a clash keeps all three values. send: ours is in
# the PATCH that follows, if a PATCH can hold it. keep: none of these.
TABLE = {
    # owner           ours only  theirs only  both      echo       reverted   beside
    "": "             send       take         note,send send       send       note,send",
    "ask": "          send       take         note,send send       send       note,send",
    "ours": "         send       note,send    note,send send       send       note,send",
    "theirs": "       take,note  take         take,note take,note  take       take",
    "fill, value": "  take,note  take         take,note take,note  take       take",
    "fill, vacant": " send       note,send    note,send send       send       note,send",
    "never": "        keep       keep         keep      keep       keep       keep",
}


def expected(owner: Owner, situation: str, *, is_vacant: bool) -> set[str]:
    name = owner.value
    if owner is Owner.FILL:
        name += ", vacant" if is_vacant else ", value"
    return set(TABLE[name].split()[SITUATIONS.index(situation)].split(","))


def situation(path: str, was: Any, our: Any, their: Any, inflight: list[Any]) -> str:
    by_us, by_them = not equal(path, our, was), not equal(path, their, was)
    if by_them and any(equal(path, their, value) for value in inflight):
        return ECHO if by_us else REVERTED
    if by_them and not by_us:
        return BESIDE if inflight else THEIRS_ONLY
    return BOTH if by_them else OURS_ONLY


@st.composite
def combinations(draw: Any) -> tuple[str, list[Any], list[Any], Owner]:
    """One leaf, its three values, what is in flight, and its owner."""
    path = draw(st.sampled_from(sorted(VALUES)))
    value = st.sampled_from(VALUES[path])
    # What is in flight is sent again whole; a part of an object would be laid over the old value.
    inflight = draw(st.lists(value.filter(lambda one: one not in (None, [])), max_size=2))
    return path, draw(st.tuples(value, value, value)), inflight, draw(st.sampled_from(Owner))


@pytest.mark.rule("I2", "I4", "I5")
@laws
@given(combinations())
def test_the_table_says_what_becomes_of_each_leaf(case):
    path, (was, our, their), inflight, owner = case
    if path == "prices.rent":
        inflight = [value | {"interval": "WEEK"} for value in inflight]
    docs = [document({path: v} if v is not None else {}) for v in (was, our, their)]
    flying = {path: inflight} if inflight else {}
    result = merged(*docs, flying, owner=lambda _: owner)
    desired = changed(docs[1], result.adopted)
    patch = patch_of(desired, docs[2], owner=lambda _: owner)
    if equal(path, our, their):
        assert (result.adopted, result.clashes, patch.parts) == ({}, (), {})
        return
    vacant = their is None or their in ([], "UNKNOWN")
    told = expected(owner, situation(path, was, our, their, inflight), is_vacant=vacant)
    assert (path in result.adopted) == ("take" in told)
    clash = (Clash(path, ours=our, base=was, theirs=their),) if "note" in told else ()
    assert result.clashes == clash
    want = leaves(desired).get(path)
    assert equal(path, want, their if "take" in told else our)
    assert ({path} == {*patch.parts, *patch.unsendable}) == ("send" in told)


@pytest.mark.rule("I2", "I5")
@laws
@given(few, few, st.sampled_from(Owner), st.sets(st.sampled_from(["title", "heatingType"])))
def test_what_a_rule_keeps_here_is_not_sent_even_if_it_is_in_flight(ours, seen, owner, inflight):
    patch = patch_of(ours, seen, inflight=inflight, owner=lambda _: owner)
    said = {*patch.parts, *patch.unsendable}
    if owner in (Owner.THEIRS, Owner.NEVER):
        assert said == set()
    elif owner is Owner.FILL:
        have = leaves(seen)
        assert all(have.get(path) in (None, [], {}, "UNKNOWN") for path in said)
    else:
        assert patch == patch_of(ours, seen, inflight=inflight)


# --- a whole push

RULES = st.dictionaries(
    st.sampled_from(["title", "address", "prices", "prices.rent", "group:Listing", "group:Others"]),
    st.sampled_from([owner for owner in Owner if owner is not Owner.POLICY]),
    max_size=4,
)


def pushed(before: Property, theirs: dict, policy: str, rules: dict) -> tuple[Property, dict, dict]:
    """Return the row after a push, what the platform holds then, and what was sent."""
    first = reconcile(before, theirs, policy, rules)
    merged_row = plan.with_columns(before, first.columns)
    if first.ending:
        return merged_row, theirs, {}
    there = patched(theirs, first.patch.body)
    last = settle(merged_row, there, first, policy, rules)
    return plan.with_columns(merged_row, last.columns), there, first.patch.parts


@pytest.mark.rule("I4", "I5")
@laws
@given(few, few, read_documents, POLICIES, RULES)
def test_a_push_leaves_each_leaf_as_its_rule_says(base, ours, theirs, policy, rules):
    owner_of = Ownership(policy, rules)
    before = row(ours, base)
    after, there, sent = pushed(before, theirs, policy, rules)
    want, have = leaves(after.desired), leaves(there)
    for path in (leaves(ours).keys() | leaves(theirs).keys()) - READ_ONLY:
        owner = owner_of(path)
        if owner is Owner.NEVER:
            assert equal(path, want.get(path), leaves(ours).get(path))
            assert path not in sent
            assert path not in after.blocked
        elif owner is Owner.THEIRS:
            assert equal(path, want.get(path), have.get(path))
            assert equal(path, have.get(path), leaves(theirs).get(path))
            assert path not in sent
        elif owner is Owner.OURS and base and path not in after.blocked:
            assert equal(path, have.get(path), leaves(ours).get(path))


@pytest.mark.rule("I4")
@laws
@given(few, few, read_documents, POLICIES, RULES)
def test_no_value_goes_without_a_trace(base, ours, theirs, policy, rules):
    """Whatever side gives way in a leaf that it had changed, its value is in a conflict (I4)."""
    first = reconcile(row(ours, base), theirs, policy, rules)
    seen, owner_of = first.seen, Ownership(policy, rules)
    was, our, their = map(leaves, (base, ours, theirs))
    kept = {clash.path for clash in seen.clashes}
    for path in differing(ours, theirs) - READ_ONLY:
        by_us = not equal(path, our.get(path), was.get(path))
        by_them = not equal(path, their.get(path), was.get(path))
        gives_way_here = by_us and path in seen.adopted and our.get(path) is not None
        gives_way_there = by_them and path in first.patch.parts
        if gives_way_here or gives_way_there:
            assert path in kept, owner_of(path)


@laws
@given(few, few, read_documents, POLICIES, RULES)
def test_the_push_that_follows_has_nothing_to_do(base, ours, theirs, policy, rules):
    after, there, _ = pushed(row(ours, base), theirs, policy, rules)
    again = reconcile(after, there, policy, rules, now=NOW + SECOND)
    assert (again.ending, again.patch.parts) == ("in sync", {})
    assert (again.seen.adopted, again.seen.clashes) == ({}, ())


# --- which rule counts


def test_the_most_specific_rule_counts():
    rules = Ownership("ask", {"group:Prices": Owner.NEVER, "prices": Owner.THEIRS})
    rules = rules.changed("prices.rent", Owner.OURS, now=NOW)
    owners = [rules(path) for path in ("prices.rent", "prices.buy", "commissions", "title")]
    assert owners == [Owner.OURS, Owner.THEIRS, Owner.NEVER, Owner.POLICY]
    assert rules.rule_of("prices.buy") == "prices"
    assert rules.changed("prices.rent", Owner.POLICY, now=NOW)("prices.rent") is Owner.THEIRS


def test_neither_the_key_of_a_property_nor_what_the_platform_sets_has_an_owner():
    rules = Ownership("ask", {"group:References": Owner.NEVER, "group:Core": Owner.NEVER})
    assert {rules(path) for path in FIXED} == {Owner.POLICY}
    assert FIXED & set(LEAVES) == set()


def test_a_field_that_the_catalog_does_not_know_has_a_rule_by_its_object_or_as_one_of_the_others():
    rules = Ownership("ask", {"group:Others": Owner.NEVER, "prices": Owner.THEIRS})
    assert (rules("heatPump"), rules("prices.leasing")) == (Owner.NEVER, Owner.THEIRS)


@given(st.sampled_from(LEAVES))
def test_each_leaf_is_in_one_group_that_can_have_a_rule(path):
    *_, group = keys_of(path)
    assert group.removeprefix(GROUP) in RULED_GROUPS
    assert {*keys_of(path)} <= RULED


@given(st.dictionaries(st.sampled_from(sorted(RULED)), st.sampled_from(Owner), max_size=5))
def test_rules_are_read_back_as_they_were_stored(rules):
    made = Ownership("ask", {}, where="main")
    for key, owner in rules.items():
        if owner is not Owner.POLICY:
            made = made.changed(key, owner, now=NOW)
    assert Ownership.of("ask", made.stored, "main") == made


def test_a_rule_of_a_newer_version_counts_as_none():
    assert Ownership.of("ask", {"rules": {"title": "mine"}}, "main")("title") is Owner.POLICY


# --- when a rule ends


@pytest.mark.rule("I4")
@pytest.mark.parametrize("policy", ["ask", "crm_wins", "platform_wins"])
def test_what_was_never_sent_is_compared_before_it_is_sent_for_the_first_time(policy):
    rules = Ownership(policy).changed("title", Owner.NEVER, now=NOW)
    rules = rules.changed("title", Owner.POLICY, now=NOW + SECOND)
    before = row({"title": "Ours"}, {"id": "7", "title": "Theirs"}, read_at=NOW)
    earlier = plan.EarlierCalls()
    theirs = {"id": "7", "title": "Theirs"}
    made = plan.reconcile(before, theirs, rules, earlier=earlier, now=NOW, has_time=True)
    assert made.seen.clashes == (Clash("title", ours="Ours", base=None, theirs="Theirs"),)
    assert made.patch.parts == ({"title": "Ours"} if policy == "crm_wins" else {})
    assert ("title" in made.columns["problem"].get("CONFLICT", {})) == (policy == "ask")
    adopted = {"title": "Theirs"} if policy == "platform_wins" else {}
    assert made.seen.adopted == adopted


@pytest.mark.rule("I4")
def test_where_we_have_nothing_theirs_is_adopted_once_a_field_is_sent_again():
    rules = Ownership("crm_wins").changed("group:Listing", Owner.NEVER, now=NOW)
    rules = rules.changed("group:Listing", Owner.POLICY, now=NOW + SECOND)
    theirs = {"id": "7", "videoLinks": [{"url": "https://a.example"}]}
    before = row({"id": "7"}, theirs, read_at=NOW)
    earlier = plan.EarlierCalls()
    made = plan.reconcile(before, theirs, rules, earlier=earlier, now=NOW, has_time=True)
    assert (made.seen.adopted, made.patch.parts) == ({"videoLinks": theirs["videoLinks"]}, {})
