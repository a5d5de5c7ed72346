"""What the push writes and sends, as pure values: no test here has a database.

The judge of the property-based tests is the platform's own PATCH.
"""

import copy
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from crm_sync.models import Workspace
from crm_sync.platform.errors import FieldError, RejectedError, TransientError
from crm_sync.work import leases
from properties.catalog import READ_ONLY, equal
from properties.merge import leaves
from properties.models import Property
from properties.ownership import Ownership
from properties.push import plan
from properties.push.plan import (
    CREATE_WAIT,
    LATE_EFFECT,
    CallState,
    EarlierCalls,
    Plan,
    Sent,
    with_columns,
)
from sandbox.state.property_update import merge as patched
from tests.problems import as_texts
from tests.properties.test_merge_laws import few, laws

NOW = datetime(2026, 1, 5, 8, tzinfo=UTC)
SECOND = timedelta(seconds=1)
POLICIES = st.sampled_from(Workspace.ConflictPolicy.values)
read_documents = few.map(lambda document: document | {"id": "7"})  # what a read shows has an id
THERE = {"id": "7", "title": "Flat", "numberOfRooms": 3}


def row(desired: dict, observed: dict, **columns) -> Property:
    return Property(
        object_reference_id="A-1",
        platform_id="7",
        desired=desired,
        observed=observed,
        due_at=NOW,
        **columns,
    )


def reconcile(row: Property, document: dict | None, policy="crm_wins", rules=None, **how) -> Plan:
    given_ = {"earlier": EarlierCalls(), "now": NOW, "has_time": True} | how
    return plan.reconcile(row, document, Ownership(policy, rules or {}), **given_)


def settle(row: Property, document: dict, sent: Plan, policy="crm_wins", rules=None, **how) -> Plan:
    what = Sent(sent.patch.parts, leaves(row.desired))
    given_ = {"is_answer": True, "earlier": EarlierCalls(), "now": NOW} | how
    return plan.settle(row, document, Ownership(policy, rules or {}), sent=what, **given_)


def differing(one: dict, other: dict) -> set[str]:
    a, b = leaves(one), leaves(other)
    return {path for path in a.keys() | b.keys() if not equal(path, a.get(path), b.get(path))}


# --- property-based tests


@laws
@given(few, few, read_documents, POLICIES)
def test_one_read_and_one_patch_settle_a_row_or_say_at_each_field_what_is_left(
    base, ours, theirs, policy
):
    before = row(ours, base)
    first = reconcile(before, theirs, policy)
    sent = with_columns(before, first.columns)
    there = patched(theirs, first.patch.body)
    last = settle(sent, there, first, policy) if first.patch.parts else first
    after = with_columns(sent, last.columns)
    assert last.ending == ("settled" if first.patch.parts else "in sync")
    assert (after.due_at, after.inflight, after.verify_at) == (None, {}, None)
    assert differing(after.observed, there) == set()
    left = {path for path in differing(after.desired, there) if path not in READ_ONLY}
    assert left <= after.blocked


@laws
@given(few, few, read_documents, POLICIES)
def test_what_only_they_changed_is_never_sent_over(base, ours, theirs, policy):
    """I4: it is ours afterwards, and the PATCH leaves it alone."""
    first = reconcile(row(ours, base), theirs, policy)
    there = patched(theirs, first.patch.body)
    by_them = differing(base, theirs) - differing(base, ours)
    assert by_them & differing(theirs, there) == set()
    after = with_columns(row(ours, base), first.columns)
    assert by_them & differing(after.desired, theirs) == set()


@laws
@given(few, few, read_documents, POLICIES)
def test_where_both_changed_it_both_values_are_kept(base, ours, theirs, policy):
    """What only the platform sets, such as its id, is adopted."""
    both = differing(base, ours) & differing(base, theirs) & differing(ours, theirs)
    first = reconcile(row(ours, base), theirs, policy)
    clashes = {one.path: (one.ours, one.base, one.theirs) for one in first.seen.clashes}
    values = [leaves(document) for document in (ours, base, theirs)]
    worded = first.seen.adopted.keys() if policy != "platform_wins" else set()
    assert clashes == {p: tuple(one.get(p) for one in values) for p in both - worded - READ_ONLY}


@laws
@given(few, few, read_documents, st.lists(st.sampled_from(["title", "heatingType", "prices.rent"])))
def test_all_that_is_sent_and_all_that_may_still_land_is_in_flight(base, ours, theirs, earlier):
    """I2: whatever the platform may hold of ours is written before the PATCH."""
    pending = {path: ["older"] for path in earlier}
    first = reconcile(row(ours, base), theirs, earlier=EarlierCalls(pending, pending, NOW + SECOND))
    recorded = first.columns["inflight"]
    if first.patch.parts:
        assert all(value in recorded[path] for path, value in first.patch.parts.items())
    assert all("older" in recorded[path] for path in pending)


@laws
@given(few, few, read_documents, POLICIES)
def test_a_settled_row_that_is_read_again_stays_as_it_is(base, ours, theirs, policy):
    before = row(ours, base)
    first = reconcile(before, theirs, policy)
    sent = with_columns(before, first.columns)
    there = patched(theirs, first.patch.body)
    after = with_columns(sent, settle(sent, there, first, policy).columns)
    again = reconcile(after, there, policy, now=NOW + SECOND)
    assert (again.ending, again.seen.leaves_traces) == ("in sync", False)
    assert differing(again.columns.pop("observed"), after.observed) == set()
    changed = {name for name, value in again.columns.items() if getattr(after, name) != value}
    assert changed <= {"read_at", "last_answer"}


@laws
@given(few, few, read_documents, POLICIES)
def test_a_plan_changes_nothing_that_it_is_given_and_is_the_same_each_time(
    base, ours, theirs, policy
):
    before = row(ours, base)
    kept = copy.deepcopy((before.__dict__ | {"_state": None}, theirs))
    first = reconcile(before, theirs, policy)
    assert reconcile(before, theirs, policy) == first
    settle(with_columns(before, first.columns), patched(theirs, first.patch.body), first)
    assert (before.__dict__ | {"_state": None}, theirs) == kept


# --- examples: before the call


def test_an_edit_goes_out_with_the_record_of_it():
    first = reconcile(row(THERE | {"title": "House"}, THERE), THERE)
    assert (first.patch.body, first.ending) == ({"title": "House"}, None)
    assert first.columns["inflight"] == {"title": ["House"]}
    assert "due_at" not in first.columns


def test_without_a_read_nothing_is_observed():
    first = reconcile(row(THERE | {"title": "House"}, THERE), None)
    assert (first.columns, first.seen) == ({"inflight": {"title": ["House"]}}, None)


def test_a_value_that_may_still_land_is_sent_again_though_it_was_edited_back():
    earlier = EarlierCalls({"title": ["House"]}, {"title": ["House"]}, NOW + SECOND)
    first = reconcile(row(THERE, THERE), THERE, earlier=earlier)
    assert first.patch.body == {"title": "Flat"}
    assert first.columns["inflight"] == {"title": ["House", "Flat"]}


def test_the_verifying_read_takes_what_it_shows_of_ours_for_ours_and_forgets_the_rest():
    left = {"title": ["House"], "numberOfRooms": [4]}
    earlier = plan.earlier_calls(
        row(THERE, THERE, inflight=left, verify_at=NOW), abandoned=False, now=NOW
    )
    first = reconcile(row(THERE, THERE), THERE | {"title": "House"}, earlier=earlier)
    assert first.seen.clashes == ()
    assert first.columns["inflight"] == {"title": ["Flat"]}


def test_without_time_the_row_goes_back_with_what_was_read_and_nothing_in_flight():
    there = THERE | {"numberOfRooms": 5}
    first = reconcile(row(THERE | {"title": "House"}, THERE), there, has_time=False)
    assert (first.ending, first.patch.parts) == ("put back", {})
    assert (first.columns["due_at"], first.columns["inflight"]) == (NOW, {})
    assert first.columns["observed"] == there


@laws
@given(few, few)
def test_what_is_foreseen_at_the_claim_is_what_a_read_without_news_says(base, ours):
    before = row(ours, base)
    claimed = with_columns(before, plan.foreseen(before))
    first = reconcile(claimed, base | {"id": "7"} if base.get("id") == "7" else None)
    assert first.is_written_in(claimed) or not first.patch.parts


@pytest.mark.parametrize("theirs", [{"title": "Villa"}, {"numberOfRooms": 4}, {"yearBuilt": 1900}])
def test_what_a_read_teaches_is_written_before_the_call(theirs):
    before = row(THERE | {"title": "House"}, THERE)
    claimed = with_columns(before, plan.foreseen(before))
    assert claimed.inflight == {"title": ["House"]}
    assert reconcile(claimed, THERE).is_written_in(claimed)
    assert not reconcile(claimed, THERE | theirs).is_written_in(claimed)
    assert not reconcile(before, THERE).is_written_in(before)


@pytest.mark.parametrize(
    "columns", [{"platform_id": None}, {"verify_at": NOW}, {"lease_token": uuid.uuid4()}]
)
def test_nothing_is_foreseen_of_a_creation_or_while_an_earlier_call_may_show(columns):
    before = with_columns(row(THERE | {"title": "House"}, THERE), columns)
    assert plan.foreseen(before) == {}


@pytest.mark.parametrize(
    ("verify_at", "abandoned", "expected"),
    [
        (None, False, (False, None, {"title": ["House"]})),
        (NOW + SECOND, False, (False, NOW + SECOND, {"title": ["House"]})),
        (NOW, False, (True, None, {})),
        (NOW, True, (False, NOW + leases.LEASE, {"title": ["House"]})),
        (None, True, (False, NOW + leases.LEASE, {"title": ["House"]})),
    ],
)
def test_what_earlier_calls_may_still_do(verify_at, abandoned, expected):
    inflight = {"title": ["House"]}
    earlier = plan.earlier_calls(
        row(THERE, THERE, inflight=inflight, verify_at=verify_at), abandoned=abandoned, now=NOW
    )
    assert earlier.inflight == inflight
    assert (earlier.must_verify, earlier.verify_at, earlier.pending) == expected


# --- examples: after the call


def test_an_edit_that_came_while_the_patch_was_out_leaves_the_row_due():
    first = reconcile(row(THERE | {"title": "House"}, THERE), THERE)
    edited = row(THERE | {"title": "Villa"}, THERE, inflight={"title": ["House"]})
    what = Sent(first.patch.parts, leaves(THERE | {"title": "House"}))
    last = plan.settle(
        edited,
        THERE | {"title": "House"},
        Ownership("crm_wins"),
        sent=what,
        is_answer=True,
        earlier=EarlierCalls(),
        now=NOW,
    )
    assert (last.columns["due_at"], last.columns["problem"]) == (NOW, {})
    assert last.seen.clashes == ()


def test_a_value_that_reads_back_different_waits_for_a_person():
    before = row(THERE | {"title": "House"}, THERE)
    first = reconcile(before, THERE)
    sent = with_columns(before, first.columns)
    last = settle(sent, THERE | {"title": "HOUSE"}, first)
    text = 'The platform took "House" and reads back "HOUSE"'
    assert as_texts(last.columns["problem"]) == {"DIFFERS": {"title": text}}
    assert last.columns["due_at"] is None


def test_as_long_as_an_earlier_call_may_land_its_values_stay_ours_and_the_row_is_read_then():
    pending = {"title": ["Villa"]}
    earlier = EarlierCalls(pending, pending, NOW + SECOND)
    before = row(THERE | {"title": "House"}, THERE)
    first = reconcile(before, THERE, earlier=earlier)
    sent = with_columns(before, first.columns)
    last = settle(sent, THERE | {"title": "House"}, first, earlier=earlier)
    ended = [last.columns[name] for name in ("due_at", "verify_at", "inflight", "wait_reason")]
    assert ended == [NOW + SECOND, NOW + SECOND, pending, "VERIFICATION"]


@pytest.mark.parametrize(
    ("call", "unclear", "expected"),
    [
        (CallState.UNSENT, True, {"inflight": {"title": ["Left"]}}),
        (CallState.OUT, False, {"inflight": {}, "create_sent_at": None}),
        (CallState.OUT, True, {"verify_at": NOW + LATE_EFFECT}),
        (CallState.ANSWERED, True, {}),
    ],
)
def test_only_a_call_without_an_answer_is_watched(call, unclear, expected):
    made = plan.delayed(
        row(THERE, THERE, attempts=2),
        TransientError("slow", unclear=unclear),
        earlier=EarlierCalls({"title": ["Left"]}),
        call=call,
        now=NOW,
        paused_until=None,
        wait=SECOND,
    )
    rest = {"due_at": NOW + SECOND, "attempts": 3, "last_answer": "slow", "wait_reason": "FAILURE"}
    assert (made.columns, made.ending) == (expected | rest, "delayed")


def test_a_creation_without_an_answer_is_left_alone_until_it_cannot_come_any_more():
    made = plan.delayed(
        row(THERE, {}, create_sent_at=NOW),
        TransientError("slow", unclear=True),
        earlier=EarlierCalls(),
        call=CallState.OUT,
        now=NOW,
        paused_until=NOW + SECOND,
        wait=SECOND,
    )
    assert (made.columns["due_at"], made.columns["attempts"]) == (NOW + CREATE_WAIT, 0)
    assert made.columns["wait_reason"] == "CREATION"
    sent = row(THERE, {}, create_sent_at=NOW)
    assert plan.unclear_until(sent, now=NOW + CREATE_WAIT - SECOND) == NOW + CREATE_WAIT
    assert plan.unclear_until(sent, now=NOW + CREATE_WAIT) is None


@pytest.mark.parametrize(
    ("field", "due_at", "at"),
    [("title", NOW, "title"), ("", None, ""), ("noFieldOfOurs", None, "")],
)
def test_the_other_fields_go_out_without_the_one_that_was_refused(field, due_at, at):
    wanted = THERE | {"title": "House", "numberOfRooms": 4}
    error = RejectedError("no", status=400, fields=(FieldError(field, "too short"),))
    made = plan.refused(
        row(wanted, THERE, inflight={"title": ["House"], "numberOfRooms": [4]}),
        error,
        Ownership("crm_wins"),
        earlier=EarlierCalls(),
        call=CallState.OUT,
        now=NOW,
    )
    text = "too short" if at else "no"
    assert (made.columns["due_at"], made.columns["problem"]) == (due_at, {"REFUSED": {at: text}})


def test_what_is_gone_is_kept_as_we_want_it_and_waits_for_an_edit():
    columns = plan.gone(row(THERE, THERE, verify_at=NOW)).columns
    assert list(columns.pop("problem")) == ["GONE"]
    assert columns == {
        **{"due_at": None, "verify_at": None, "observed": {}, "platform_id": None},
        **{"inflight": {}, "wait_reason": ""},
    }
