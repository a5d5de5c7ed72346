"""Who owns a field, from the rule to the platform and back (docs/ownership.md, I2, I4, I5)."""

from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.domain.editing import Invalid, create, edit
from properties.domain.field_history import PUT_BACKS
from properties.domain.owner_change import set_owner
from properties.merge import Owner
from properties.models import Change, Conflict, DriftCheck, Property, Recurring
from properties.models.property import SyncState
from tests.conftest import PLATFORM
from tests.platforms import Between, lost
from tests.properties.recurring import Kind, row_of
from tests.properties.test_commands import run

OF_PRICES = "group:Prices"


@pytest.fixture
def between(box) -> Between:
    return Between(box, PLATFORM)


@pytest.fixture
def row(box, workspace, drain_all) -> Property:
    """Return a property that both sides agree on."""
    box.workspace.properties.clear()
    values = {"title": "Flat", "prices.rent": {"gross": 1500}}
    made = create(workspace, "A-1", values, origin="ADMIN", now=now())
    row_of(Kind.SWEEP, workspace)
    drain_all()
    box.calls.clear()
    made.refresh_from_db()
    return made


def rule(key: str, owner: Owner) -> None:
    set_owner(Workspace.objects.get().pk, key, owner, now=now())


def set_rent(row: Property, gross: int) -> None:
    edit(row, {"prices.rent": {"gross": gross}}, origin="ADMIN", now=now())


def they_set(box, row: Property, values: dict) -> None:
    """Let somebody edit on the platform, and a walk notice it."""
    box.edit_property(row.platform_id, values)
    Property.objects.update(due_at=now())


def rents(box, row: Property) -> tuple[int | None, int | None]:
    """Return our rent and the platform's."""
    row.refresh_from_db()
    theirs = box.workspace.properties[row.platform_id]
    found = [(one.get("prices") or {}).get("rent", {}) for one in (row.desired, theirs)]
    return tuple(rent.get("gross") for rent in found)


def bodies(box) -> list[dict]:
    return [call[2] for call in box.calls if call[0] in ("POST", "PATCH")]


def state_of(row: Property) -> SyncState:
    row.refresh_from_db()
    return row.state_at(now())


def writes(box) -> list[str]:
    return [call[0] for call in box.calls if call[0] != "GET"]


def ended() -> list[tuple]:
    values = Conflict.objects.order_by("pk").values_list("ours", "theirs", "decision", "rule")
    return [(ours["gross"], theirs["gross"], decision, by) for ours, theirs, decision, by in values]


def soon(drain_all, seconds: float = 2) -> None:
    """Let a changed rule take effect."""
    with time_machine.travel(now() + timedelta(seconds=seconds), tick=True):
        drain_all()


# --- theirs


@pytest.mark.rule("I4")
def test_the_platform_s_value_replaces_ours_and_ours_is_kept_in_the_history(box, row, drain_all):
    rule(OF_PRICES, Owner.THEIRS)
    they_set(box, row, {"prices": {"rent": {"gross": 1700}}})
    drain_all()
    assert (rents(box, row), writes(box), ended()) == ((1700, 1700), [], [])
    change = Change.objects.latest("pk")
    seen = (change.path, change.old, change.new, change.origin)
    assert seen == ("prices.rent", {"gross": 1500}, {"gross": 1700}, "PLATFORM")


@pytest.mark.rule("I4")
def test_an_edit_of_before_the_rule_is_given_back_and_not_lost(box, row, drain_all):
    set_rent(row, 1600)
    rule("prices", Owner.THEIRS)
    they_set(box, row, {"title": "House"})
    drain_all()
    assert (rents(box, row), writes(box)) == ((1500, 1500), [])
    assert ended() == [(1600, 1500, "THEIRS", "theirs")]
    assert (row.desired["title"], state_of(row)) == ("House", SyncState.IN_SYNC)
    assert Conflict.objects.get().who == "The rule that the platform owns it"


def test_nobody_can_edit_a_field_of_the_platform_and_its_own_value_is_no_edit(row):
    rule("prices.rent", Owner.THEIRS)
    with pytest.raises(Invalid) as refused:
        set_rent(row, 1600)
    text = "The platform owns this, by a rule of workspace main. Change it on the platform."
    assert [(fault.path, fault.message) for fault in refused.value.faults] == [
        ("prices.rent", text)
    ]
    assert edit(row, {"prices.rent": {"gross": 1500.0}}, origin="ADMIN", now=now()) == set()
    assert edit(row, {"title": "House"}, origin="ADMIN", now=now()) == {"title"}


@pytest.mark.rule("I2")
@pytest.mark.parametrize("landed", [True, False])
def test_a_value_in_flight_when_the_rule_comes_ends_as_the_platform_has_it(
    box, row, between, drain_all, landed
):
    set_rent(row, 1600)
    if landed:
        between.after = lost("PATCH")
    else:
        between.before = lost("PATCH")
    drain_all()
    row.refresh_from_db()
    assert row.inflight == {"prices.rent": [{"gross": 1600}]}
    rule("prices.rent", Owner.THEIRS)
    between.before = between.after = lambda environ: None
    box.calls.clear()
    soon(drain_all, 120)
    there = 1600 if landed else 1500
    assert (rents(box, row), writes(box)) == ((there, there), [])
    assert (row.inflight, state_of(row)) == ({}, SyncState.IN_SYNC)


# --- ours


@pytest.mark.rule("I4")
def test_what_somebody_changes_on_the_platform_is_set_back_and_shown(box, row, drain_all):
    rule("prices.rent", Owner.OURS)
    they_set(box, row, {"prices": {"rent": {"gross": 1700}}})
    drain_all()
    assert (rents(box, row), ended()) == ((1500, 1500), [(1500, 1700, "OURS", "ours")])
    assert bodies(box) == [{"prices": {"rent": {"gross": 1500}}}]
    assert state_of(row) == SyncState.IN_SYNC
    Property.objects.update(due_at=now())
    drain_all()
    assert len(bodies(box)) == 1


def test_a_value_that_the_platform_only_writes_differently_is_not_set_back(box, row, drain_all):
    rule("prices.rent", Owner.OURS)
    they_set(box, row, {"prices": {"rent": {"gross": 1500.0}}})
    drain_all()
    assert (writes(box), Conflict.objects.count()) == ([], 0)


def test_ours_is_not_set_back_for_ever_but_a_person_is_asked(box, row, drain_all):
    rule("prices.rent", Owner.OURS)
    for number in range(PUT_BACKS + 2):
        they_set(box, row, {"prices": {"rent": {"gross": 1700 + number}}})
        drain_all()
    assert len(bodies(box)) == PUT_BACKS
    assert ended()[-1] == (1500, 1700 + PUT_BACKS + 1, "", "")
    row.refresh_from_db()
    assert state_of(row) == SyncState.CONFLICT
    (text,) = row.problem["CONFLICT"].values()
    assert text["say"].startswith(
        "The platform changed it again after ours was put back several times"
    )


def test_a_property_of_the_platform_that_is_new_here_is_adopted_also_where_we_own_a_field(
    box, workspace, drain_all
):
    rule(OF_PRICES, Owner.OURS)
    box.workspace.properties.clear()
    there = {"id": "77", "objectReferenceId": "B-1", "prices": {"rent": {"gross": 900}}}
    box.workspace.properties["77"] = there
    take_pull(workspace, drain_all)
    row = Property.objects.get(object_reference_id="B-1")
    assert (rents(box, row), writes(box)) == ((900, 900), [])


# --- ask, fill, never


@pytest.mark.parametrize("policy", Workspace.ConflictPolicy.values)
def test_a_person_is_asked_whatever_the_policy_says(box, row, drain_all, policy):
    Workspace.objects.update(conflict_policy=policy)
    rule("prices.rent", Owner.ASK)
    set_rent(row, 1600)
    they_set(box, row, {"prices": {"rent": {"gross": 1700}}})
    drain_all()
    assert (rents(box, row), ended()) == ((1600, 1700), [(1600, 1700, "", "")])


@pytest.mark.rule("I4")
def test_a_field_to_fill_is_sent_once_and_then_follows_the_platform(box, row, drain_all):
    rule("availabilityState", Owner.FILL)
    edit(row, {"availabilityState": "ACTIVE"}, origin="ADMIN", now=now())
    drain_all()
    assert bodies(box) == [{"availabilityState": "ACTIVE"}]
    row.refresh_from_db()
    with pytest.raises(Invalid, match="only fills what is empty"):
        edit(row, {"availabilityState": "REFERENCE"}, origin="ADMIN", now=now())
    they_set(box, row, {"availabilityState": "RESERVED"})
    drain_all()
    row.refresh_from_db()
    assert (row.desired["availabilityState"], len(bodies(box))) == ("RESERVED", 1)


@pytest.mark.rule("I5")
def test_what_is_never_sent_is_in_no_call_and_is_no_difference(box, row, drain_all, capsys):
    rule(OF_PRICES, Owner.NEVER)
    set_rent(row, 1600)
    made = {"title": "New", "prices.rent": {"gross": 1}}
    create(row.workspace, "A-2", made, origin="ADMIN", now=now())
    they_set(box, row, {"prices": {"rent": {"gross": 1700}}})
    drain_all()
    assert bodies(box) == [{"title": "New", "objectReferenceId": "A-2"}]
    assert rents(box, row) == (1600, 1700)
    assert row.observed["prices"] == {"rent": {"gross": 1700}}
    assert (state_of(row), row.problem, Conflict.objects.count()) == (SyncState.IN_SYNC, {}, 0)
    assert run(capsys, "drift", "main")[1] == "0 of 2 differ\n"
    assert run(capsys, "audit")[0] == 0


# --- a rule that changes


def test_a_rule_makes_no_row_due_in_the_request_and_the_sweep_finds_those_it_concerns(
    box, row, workspace, drain_all
):
    rule(OF_PRICES, Owner.NEVER)
    soon(drain_all)
    set_rent(row, 1600)
    drain_all()
    others = [Property(workspace=workspace, object_reference_id=f"B-{n}") for n in range(300)]
    Property.objects.bulk_create(others)
    with CaptureQueriesContext(
        connection,
    ) as few:
        rule(OF_PRICES, Owner.OURS)
    assert len(few) < 15
    row.refresh_from_db()
    assert row.due_at is None
    soon(drain_all)
    assert rents(box, row) == (1600, 1600)
    check = DriftCheck.objects.latest("pk")
    assert (check.compared, check.unexplained) == (301, 0)


def test_a_sweep_under_way_begins_again(row, workspace):
    running = DriftCheck.objects.create(workspace=workspace, kind="SWEEP", position=10**9)
    rule("title", Owner.ASK)
    running.refresh_from_db()
    assert running.position == 0
    assert Recurring.objects.get(kind="SWEEP").due_at > now()


@pytest.mark.rule("I4")
@pytest.mark.parametrize(
    ("owner", "both", "decision"),
    [
        (Owner.OURS, (1600, 1600), "OURS"),
        (Owner.THEIRS, (1700, 1700), "THEIRS"),
        (Owner.FILL, (1700, 1700), "THEIRS"),
        (Owner.NEVER, (1600, 1700), "OURS"),
    ],
)
def test_a_new_rule_decides_the_conflicts_that_wait(box, row, drain_all, owner, both, decision):
    Workspace.objects.update(conflict_policy="ask")
    set_rent(row, 1600)
    they_set(box, row, {"prices": {"rent": {"gross": 1700}}})
    drain_all()
    assert ended() == [(1600, 1700, "", "")]
    rule("prices.rent", owner)
    soon(drain_all)
    assert (rents(box, row), ended()) == (both, [(1600, 1700, decision, owner.value)])
    assert (state_of(row), row.problem) == (SyncState.IN_SYNC, {})


@pytest.mark.rule("I4")
def test_a_field_that_was_never_sent_is_compared_once_it_is_sent_again(box, row, drain_all):
    Workspace.objects.update(conflict_policy="ask")
    rule("prices.rent", Owner.NEVER)
    set_rent(row, 1600)
    they_set(box, row, {"prices": {"rent": {"gross": 1700}}})
    drain_all()
    rule("prices.rent", Owner.POLICY)
    soon(drain_all)
    assert (rents(box, row), ended()) == ((1600, 1700), [(1600, 1700, "", "")])
    assert writes(box) == []


def test_the_same_owner_once_more_changes_nothing(workspace):
    assert set_owner(workspace.pk, "title", Owner.OURS, now=now()) is Owner.POLICY
    stored = Workspace.objects.get().owners
    assert set_owner(workspace.pk, "title", Owner.OURS, now=now()) is None
    assert Workspace.objects.get().owners == stored


@pytest.mark.parametrize("key", ["objectReferenceId", "rooms", "group:Nothing", "prices.rent.net"])
def test_no_rule_is_about_what_is_no_leaf_or_has_no_owner(workspace, key):
    with pytest.raises(ValueError, match="no rule can be about"):
        set_owner(workspace.pk, key, Owner.OURS, now=now())


def take_pull(workspace: Workspace, drain_all) -> None:
    row = row_of(Kind.PULL, workspace)
    Recurring.objects.filter(pk=row.pk).update(due_at=now())
    drain_all()


def test_rules_cost_a_push_no_statement(box, row, drain_all):
    def statements(gross: int) -> int:
        set_rent(row, gross)
        with CaptureQueriesContext(connection) as taken:
            drain_all()
        return len(taken)

    statements(1600)
    without = statements(1601)
    rule("title", Owner.NEVER)
    Recurring.objects.update(due_at=now() + timedelta(hours=1))
    assert statements(1602) == without
