"""Two rows become one: what the CRM brings, and what the platform already has (I36)."""

import random
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.models import Workspace, hold
from crm_sync.work import turn
from orders.models import Order, Placement
from orders.placing.transitions import waits_for_push
from properties.domain import candidates, undo_steps
from properties.domain.change_selection import ChangeSelection
from properties.domain.editing import create, due_now, edit
from properties.imports.bulk_create import NewProperty, create_all
from properties.imports.engine import import_feed
from properties.match_keys import Criterion
from properties.merge import leaves
from properties.models import Batch, BatchEdit, Change, Conflict, Property
from properties.models.property import SyncState, WaitReason
from properties.pull import linking
from properties.pull.linking import Linking, LinkOutcome, link
from properties.pull.walk import pull
from tests.conftest import PLATFORM as PLATFORM_ADDRESS
from tests.platforms import Between
from tests.properties.test_pull import put
from tests.together import together

Policy = Workspace.ConflictPolicy
ASK, CRM, PLATFORM = Policy.ASK, Policy.CRM_WINS, Policy.PLATFORM_WINS
LINKED, CHANGED, BUSY = LinkOutcome.LINKED, LinkOutcome.CHANGED, LinkOutcome.BUSY


def home(number=4, **more) -> dict:
    place = {"street": "Seestrasse", "streetNumber": str(number), "postalCode": "8002"}
    return {"address": place, "numberOfRooms": 3.5, **more}


@pytest.fixture
def there(box, workspace, drain_all):
    """Return a function that adds a property on the platform and reads it."""
    box.workspace.properties.clear()

    def add(number: int, **document) -> Property:
        key = put(box, number, **document)
        list(pull(workspace))
        due_now(Property.objects.all())
        drain_all()
        return Property.objects.get(platform_id=key)

    return add


@pytest.fixture
def here(workspace, drain_all):
    """Return a function that creates a property as a person does, and lets a worker try."""

    def add(reference: str, **document) -> Property:
        row = create(workspace, reference, leaves(document), origin="ADMIN", now=now())
        drain_all()
        row.refresh_from_db()
        return row

    return add


def by(policy=ASK, **who) -> Linking:
    return Linking(policy=policy, now=now(), **who)


def posts(box) -> list[str]:
    return [path for method, path, *_ in box.calls if method == "POST" and "propert" in path]


# --- nothing is created before it was seen


@pytest.mark.rule("I36")
@pytest.mark.parametrize(
    "same",
    [
        home(),
        {"is24Id": "77"},
        {"swissReferences": {"egid": "190167443", "ewid": "2"}},
    ],
)
def test_what_the_platform_may_have_is_not_created_before_a_person_has_matched_it(
    box, here, there, same
):
    there(1, **same)
    row = here("CRM-1", **same)
    assert (posts(box), row.platform_id, row.create_sent_at) == ([], None, None)
    assert (row.wait_reason, row.state_at(now())) == (WaitReason.MATCH, SyncState.TO_MATCH)
    assert list(candidates.doubles(row.workspace_id)) == [row]


@pytest.mark.rule("I36")
def test_a_person_who_sees_that_it_is_none_of_them_has_it_created(
    box, workspace, here, there, drain_all
):
    there(1, **home())
    row = here("CRM-1", **home())
    assert candidates.apart(workspace.pk, [row.pk], now=now()) == 1
    assert drain_all() == {"properties": {"created": 1}}
    assert len(posts(box)) == 1
    assert candidates.apart(workspace.pk, [row.pk], now=now()) == 0


def test_what_ours_have_created_there_is_no_double_of_what_comes_next(box, here, there):
    here("CRM-1", **home())
    row = here("CRM-2", **home())
    assert (row.platform_id is not None, len(posts(box))) == (True, 2)


def test_without_an_address_nothing_is_compared_and_nothing_waits(box, here, there):
    there(1, title="House")
    assert here("CRM-1", title="House").platform_id is not None


def test_a_property_that_the_platform_had_before_the_import_was_read_is_seen_later(
    box, workspace, here, there, drain_all
):
    hold.watch_only(workspace.pk, now=now())
    row = here("CRM-1", **home())
    assert row.wait_reason == WaitReason.HELD
    there(1, **home())
    assert list(candidates.doubles(workspace.pk)) == [row]
    due_now(Property.objects.all())  # as after an hour
    drain_all()
    row.refresh_from_db()
    assert row.wait_reason == WaitReason.MATCH


@pytest.mark.rule("I36")
def test_nothing_is_created_while_a_property_that_may_be_it_is_listed_and_not_read(
    box, workspace, there, drain_all
):
    put(box, 1, **home())
    list(pull(workspace))
    theirs = Property.objects.get()
    row = create(workspace, "CRM-1", leaves(home()), origin="ADMIN", now=now())
    Property.objects.filter(pk=theirs.pk).update(due_at=now() + timedelta(minutes=1))
    assert drain_all() == {"properties": {"waiting": 1}}
    row.refresh_from_db()
    assert (row.wait_reason, row.state_at(now())) == (WaitReason.UNREAD, SyncState.NEVER_PUSHED)
    due_now(Property.objects.filter(pk=theirs.pk))
    drain_all()
    due_now(Property.objects.filter(pk=row.pk))  # as after some seconds
    drain_all()
    row.refresh_from_db()
    assert (posts(box), row.wait_reason) == ([], WaitReason.MATCH)


def test_a_property_of_the_platform_that_cannot_be_read_keeps_none_of_ours_waiting(
    box, workspace, here, there
):
    put(box, 1, **home())
    list(pull(workspace))
    Property.objects.update(attempts=1, due_at=now() + timedelta(hours=1))
    assert here("CRM-1", **home(5)).platform_id is not None


def test_the_question_before_a_creation_reads_an_index_and_no_other_row(box, here, there):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reads a small table as a whole")
    row = here("CRM-1", **home(), is24Id="7", swissReferences={"egid": "1"})
    with CaptureQueriesContext(connection) as captured:
        assert candidates.double_of(row) is None
        assert not candidates.may_be_unread(row)
    assert len(captured) == 4
    for query in list(captured):
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = cursor.fetchall()[0][-1]
        assert re.search(r"INDEX property_((is24|unit|address)_key|unread) ", plan), plan


def test_an_order_for_it_says_what_it_waits_for(box, here, there):
    there(1, **home())
    row = here("CRM-1", **home())
    step = waits_for_push(Placement.State.CONFIRMED, row, now=now())
    assert step.columns["problem"] == (
        "The platform may have its property already: match it first."
    )


# --- the link


@pytest.mark.rule("I36")
def test_linked_the_platform_has_it_once_under_our_reference_with_the_values_of_both(
    box, workspace, here, there, drain_all
):
    theirs = there(1, **home(), floor=2, title="By hand")
    ours = here("CRM-1", **home(), title="From the CRM", displayReferenceId="Ours alone")
    anna = User.objects.create(username="anna")
    assert link(workspace.pk, ours.pk, theirs.pk, by(CRM, actor=anna)) == LINKED
    assert drain_all() == {"properties": {"pushed": 1}}
    (remote,) = box.workspace.properties.values()
    assert {
        k: remote[k] for k in ("id", "objectReferenceId", "title", "displayReferenceId", "floor")
    } == {
        "id": "90001",
        "objectReferenceId": "CRM-1",
        "title": "From the CRM",
        "displayReferenceId": "Ours alone",
        "floor": 2,
    }
    (row,) = Property.objects.all()
    assert (row.pk, row.object_reference_id, row.platform_id) == (theirs.pk, "CRM-1", "90001")
    assert (row.problem, row.due_at, posts(box)) == ({}, None, [])
    linked = Change.objects.filter(real_estate_property=row, cause=f"match:{ours.pk}")
    assert {(one.path, one.new, str(one.actor)) for one in linked} == {
        ("objectReferenceId", "CRM-1", "anna"),
        ("title", "From the CRM", "anna"),
        ("displayReferenceId", "Ours alone", "anna"),
    }


@pytest.mark.rule("I4", "I36")
def test_a_field_in_which_both_sides_differ_is_a_conflict_that_a_person_decides(
    box, workspace, here, there, drain_all
):
    theirs = there(1, **home(), title="By hand")
    ours = here("CRM-1", **home(), title="From the CRM")
    assert link(workspace.pk, ours.pk, theirs.pk, by(ASK)) == LINKED
    drain_all()
    (remote,) = box.workspace.properties.values()
    assert (remote["title"], remote["objectReferenceId"]) == ("By hand", "CRM-1")
    (conflict,) = Conflict.objects.all()
    assert (conflict.path, conflict.ours, conflict.base, conflict.theirs, conflict.decision) == (
        *("title", "From the CRM", None, "By hand", ""),
    )
    assert Property.objects.get().state_at(now()) == SyncState.CONFLICT


@pytest.mark.rule("I4")
def test_by_the_policy_of_the_platform_its_value_stays_and_the_other_one_is_kept(
    box, workspace, here, there, drain_all
):
    theirs = there(1, **home(), title="By hand")
    ours = here("CRM-1", **home(), title="From the CRM")
    assert link(workspace.pk, ours.pk, theirs.pk, by(PLATFORM)) == LINKED
    drain_all()
    row = Property.objects.get()
    assert (row.desired["title"], row.observed["title"], row.problem) == (*2 * ("By hand",), {})
    conflict = Conflict.objects.get()
    assert (conflict.decision, conflict.ours) == ("THEIRS", "From the CRM")


@pytest.mark.rule("I1", "I36")
def test_an_edit_of_their_row_that_was_not_sent_yet_is_kept(box, workspace, here, there, drain_all):
    theirs = there(1, **home(), title="By hand", floor=1)
    ours = here("CRM-1", **home(), title="From the CRM", floor=1)
    hold.watch_only(workspace.pk, now=now())
    edit(theirs, {"title": "Edited here", "floor": 7}, origin="ADMIN", now=now())
    assert link(workspace.pk, ours.pk, theirs.pk, by(CRM)) == LINKED
    row = Property.objects.get()
    assert (row.desired["title"], row.desired["floor"], row.problem) == ("Edited here", 7, {})
    assert not Conflict.objects.exists()


def test_all_that_pointed_to_our_row_points_to_the_linked_one(box, workspace, here, there):
    theirs, ours = there(1, **home()), here("CRM-1", **home())
    anna = User.objects.create(username="anna")
    order = Order.objects.create(
        workspace=workspace, platform_id="o", real_estate_property=theirs, status="PLACED"
    )
    draft = Placement.objects.create(
        workspace=workspace, real_estate_property=ours, created_by=anna, state="DRAFT"
    )
    batches = [Batch.objects.create(kind="SET") for _ in range(2)]
    batches[0].properties.add(ours)
    batches[1].properties.add(ours, theirs)
    edits = [
        BatchEdit.objects.create(batch=batch, real_estate_property=ours, revision=1)
        for batch in batches
    ]
    BatchEdit.objects.create(batch=batches[1], real_estate_property=theirs, revision=1)
    created = Change.objects.get(real_estate_property=ours)
    before = theirs.revision
    assert link(workspace.pk, ours.pk, theirs.pk, by()) == LINKED
    row = Property.objects.get()
    draft.refresh_from_db()
    order.refresh_from_db()
    assert (draft.real_estate_property, order.real_estate_property) == (row, row)
    assert [list(batch.properties.all()) for batch in batches] == [[row], [row]]
    edits[0].refresh_from_db()
    assert (edits[0].real_estate_property_id, edits[0].revision) == (row.pk, before + 1)
    created.refresh_from_db()
    assert (created.real_estate_property, created.revision) == (row, before + ours.revision)
    assert row.revision == before + ours.revision + 1


def test_a_draft_of_one_person_for_each_of_both_is_said_and_nothing_changes(
    box, workspace, here, there
):
    theirs, ours = there(1, **home()), here("CRM-1", **home())
    anna = User.objects.create(username="anna")
    for row in (theirs, ours):
        Placement.objects.create(
            workspace=workspace, real_estate_property=row, created_by=anna, state="DRAFT"
        )
    assert link(workspace.pk, ours.pk, theirs.pk, by()) == BUSY
    assert set(Property.objects.all()) == {theirs, ours}
    assert Property.objects.get(pk=ours.pk).object_reference_id == "CRM-1"


@pytest.mark.rule("I36")
def test_neither_side_is_linked_twice_and_a_repetition_changes_nothing(box, workspace, here, there):
    first, second = there(1, **home()), there(2, **home())
    ours, other = here("CRM-1", **home()), here("CRM-2", **home())
    assert link(workspace.pk, ours.pk, first.pk, by()) == LINKED
    assert link(workspace.pk, ours.pk, first.pk, by()) == CHANGED
    assert link(workspace.pk, ours.pk, second.pk, by()) == CHANGED
    assert link(workspace.pk, other.pk, first.pk, by()) == CHANGED
    assert link(workspace.pk, other.pk, second.pk, by()) == LINKED
    found = Property.objects.order_by("pk").values_list("platform_id", "object_reference_id")
    assert list(found) == [("90001", "CRM-1"), ("90002", "CRM-2")]


@pytest.mark.rule("S12")
def test_a_row_of_another_workspace_is_never_linked(box, workspace, here, there):
    theirs, ours = there(1, **home()), here("CRM-1", **home())
    other = Workspace.objects.create(slug="other", base_url="https://other.example")
    assert link(other.pk, ours.pk, theirs.pk, by()) == CHANGED
    foreign = Property.objects.create(workspace=other, object_reference_id="X")
    assert link(workspace.pk, foreign.pk, theirs.pk, by()) == CHANGED


@pytest.mark.rule("I36")
def test_a_row_that_a_worker_has_or_whose_creation_may_come_is_not_linked(
    box, workspace, here, there
):
    theirs, ours = there(1, **home()), here("CRM-1", **home())
    mine = Property.objects.filter(pk=ours.pk)
    for taken in (
        {"lease_token": "6c0d1a52-0000-4000-8000-000000000000", "lease_until": now()},
        {"create_sent_at": now()},
        {"inflight": {"title": ["x"]}},
    ):
        mine.update(**taken)
        assert link(workspace.pk, ours.pk, theirs.pk, by()) == BUSY
        mine.update(lease_token=None, lease_until=None, create_sent_at=None, inflight={})
    assert link(workspace.pk, ours.pk, theirs.pk, by()) == LINKED


@pytest.mark.rule("I36")
@pytest.mark.parametrize("changed", ["ours", "theirs"])
def test_a_row_that_is_edited_during_the_link_is_not_linked_and_no_edit_is_lost(
    box, workspace, here, there, monkeypatch, changed
):
    rows = {"theirs": there(1, **home()), "ours": here("CRM-1", **home())}
    merged = linking.absorb

    def edited_in_between(*both):
        Property.objects.filter(pk=rows["theirs"].pk).update(revision=99)
        return merged(*both)

    if changed == "theirs":
        monkeypatch.setattr(linking, "absorb", edited_in_between)
        assert link(workspace.pk, rows["ours"].pk, rows["theirs"].pk, by()) == BUSY
        assert set(Property.objects.all()) == set(rows.values())
        return
    before = linking.only_there

    def edited_before(workspace_id):
        edit(Property.objects.get(pk=rows["ours"].pk), {"title": "x"}, origin="ADMIN", now=now())
        return before(workspace_id)

    monkeypatch.setattr(linking, "only_there", edited_before)
    assert link(workspace.pk, rows["ours"].pk, rows["theirs"].pk, by()) == BUSY
    assert Property.objects.get(pk=rows["ours"].pk).desired["title"] == "x"


@pytest.mark.rule("I4", "I36")
def test_a_link_while_their_row_is_being_pushed_loses_neither_side(
    box, workspace, here, there, drain_all
):
    theirs = there(1, **home(), title="By hand")
    ours = here("CRM-1", **home(), floor=4)
    between, outcomes = Between(box, PLATFORM_ADDRESS), []

    def link_it(environ) -> None:
        if environ["REQUEST_METHOD"] == "PATCH" and not outcomes:
            outcomes.append(link(workspace.pk, ours.pk, theirs.pk, by(CRM)))

    for moment in ("before", "after"):
        setattr(between, moment, link_it)
    edit(theirs, {"title": "Edited here"}, origin="ADMIN", now=now())
    drain_all()
    (remote,) = box.workspace.properties.values()
    assert (outcomes, remote["title"], remote["floor"]) == ([LINKED], "Edited here", 4)
    assert remote["objectReferenceId"] == "CRM-1"
    row = Property.objects.get()
    assert (row.due_at, row.problem, row.object_reference_id) == (None, {}, "CRM-1")


@pytest.mark.rule("I8", "I36")
def test_a_row_that_is_being_created_at_this_moment_is_not_linked(
    box, workspace, here, there, drain_all
):
    theirs = there(1, title="Not like it")
    between, outcomes = Between(box, PLATFORM_ADDRESS), []

    def link_it(environ) -> None:
        if environ["REQUEST_METHOD"] == "POST":
            key = Property.objects.get(object_reference_id="CRM-1").pk
            outcomes.append(link(workspace.pk, key, theirs.pk, by(CRM)))

    between.before = link_it
    row = here("CRM-1", **home())
    assert (outcomes, row.platform_id is not None) == ([BUSY], True)
    assert link(workspace.pk, row.pk, theirs.pk, by(CRM)) == CHANGED


@pytest.mark.rule("I36")
@pytest.mark.django_db(transaction=True)
def test_of_people_who_link_at_the_same_moment_one_wins_and_all_is_there_once(workspace, box):
    box.workspace.properties.clear()
    for number in (1, 2):
        put(box, number, **home())
    list(pull(workspace))
    due_now(Property.objects.all())
    turn.take(hooks.queue("properties"), workspace.pk, seconds=20.0)
    theirs = list(Property.objects.order_by("pk").values_list("pk", flat=True))
    made = [NewProperty(f"CRM-{number}", home()) for number in (1, 2)]
    create_all(workspace, made, origin="FEED", now=now())
    ours = list(Property.objects.filter(platform_id=None).values_list("pk", flat=True))
    pairs = [(a, b) for a in ours for b in theirs]

    def link_one() -> list[LinkOutcome]:
        mine = random.sample(pairs, len(pairs))
        return [link(workspace.pk, *pair, by(CRM)) for pair in mine]

    found = [one for each in together(link_one) for one in each]
    assert found.count(LINKED) == 2
    rows = Property.objects.values_list("object_reference_id", "platform_id")
    assert sorted(rows) == sorted(
        zip(("CRM-1", "CRM-2"), sorted({"90001", "90002"}), strict=True)
    ) or sorted(rows) == [("CRM-1", "90002"), ("CRM-2", "90001")]
    assert Change.objects.filter(path="objectReferenceId").count() == 2


# --- a property that the platform renames, refuses or lost


def test_if_the_platform_keeps_its_reference_the_link_stays_and_says_so(
    box, workspace, here, there, drain_all
):
    theirs, ours = there(1, **home()), here("CRM-1", **home(), title="Ours")
    put(box, 7, objectReferenceId="CRM-1")  # somebody there was faster
    assert link(workspace.pk, ours.pk, theirs.pk, by(CRM)) == LINKED
    drain_all()
    row = Property.objects.get(pk=theirs.pk)
    assert (row.platform_id, row.object_reference_id) == ("90001", "CRM-1")
    assert row.state_at(now()) == SyncState.REFUSED
    assert posts(box) == []


# --- feeds


def feed(folder: Path, *references: str) -> Path:
    path = folder / "stock.csv"
    columns = "objectReferenceId,title,address.street,address.streetNumber,address.postalCode"
    lines = [f"{r},From the feed,Seestr.,{r[-1]},8002,3.5" for r in references]
    path.write_text("\n".join([f"{columns},numberOfRooms", *lines]))
    return path


def load(workspace, path: Path, **options):
    return list(import_feed(workspace, path, now=now(), **options))[-1]


@pytest.mark.rule("I36")
@pytest.mark.parametrize("is_dry_run", [True, False])
def test_an_import_says_which_new_records_the_platform_may_have(
    box, workspace, there, drain_all, tmp_path, is_dry_run
):
    there(1, **home(1))
    report = load(workspace, feed(tmp_path, "CRM-1", "CRM-2"), dry_run=is_dry_run)
    assert (report.new.count, report.doubles.first) == (2, [("CRM-1", "P-1")])
    counts = drain_all()
    assert (counts, len(posts(box))) == (
        ({}, 0) if is_dry_run else ({"properties": {"waiting": 1, "created": 1}}, 1)
    )


@pytest.mark.rule("I36")
def test_after_the_link_the_next_feed_finds_the_row_and_creates_nothing(
    box, workspace, there, drain_all, tmp_path
):
    theirs = there(1, **home(1))
    load(workspace, feed(tmp_path, "CRM-1"))
    ours = Property.objects.get(object_reference_id="CRM-1")
    assert link(workspace.pk, ours.pk, theirs.pk, by(CRM)) == LINKED
    report = load(workspace, feed(tmp_path, "CRM-1"))
    assert (report.new.count, report.unchanged.first) == (0, ["CRM-1"])
    drain_all()
    (remote,) = box.workspace.properties.values()
    assert (remote["title"], remote["objectReferenceId"]) == ("From the feed", "CRM-1")


@pytest.mark.rule("I35", "I36")
def test_an_import_that_is_taken_back_after_the_link_removes_nothing_there(
    box, workspace, there, drain_all, tmp_path
):
    theirs = there(1, **home(1))
    Property.objects.update(leftover={"old": "kept"})
    load(workspace, feed(tmp_path, "CRM-1"), cause="import:7")
    ours = Property.objects.get(object_reference_id="CRM-1")
    Property.objects.filter(pk=ours.pk).update(leftover={"new": "kept, too"})
    assert link(workspace.pk, ours.pk, theirs.pk, by(CRM)) == LINKED
    assert Property.objects.get().leftover == {"old": "kept", "new": "kept, too"}
    plan = undo_steps.preview(ChangeSelection(workspace=workspace.pk, cause="import:7"))
    ((row, step),) = plan.steps
    assert (row.pk, step.removes, plan.removed, plan.fields) == (theirs.pk, False, 0, 0)
    assert [part.reason for part in step.kept] == ["THERE"]


@pytest.mark.rule("I36")
def test_a_link_during_an_import_loses_no_record(box, workspace, there, tmp_path, monkeypatch):
    theirs = there(1, **home(1))
    create_all(workspace, [NewProperty("CRM-1", home(1))], origin="FEED", now=now())
    ours = Property.objects.get(object_reference_id="CRM-1")
    from properties.imports import record_import

    real = record_import._changes
    done: list[LinkOutcome] = []

    def link_first(row, record):
        found = real(row, record)
        if not done:
            done.append(link(workspace.pk, ours.pk, theirs.pk, by(CRM)))
        return found

    monkeypatch.setattr(record_import, "_changes", link_first)
    report = load(workspace, feed(tmp_path, "CRM-1"))
    row = Property.objects.get()
    assert (done, report.handled, row.pk) == ([LINKED], 1, theirs.pk)
    assert row.desired["title"] == "From the feed"


# --- what is proposed


def test_the_criteria_match_what_is_on_both_sides(box, workspace, here, there):
    theirs = there(1, **home(), is24Id="is-7", swissReferences={"egid": "190167443"})
    ours = here("p 1", **home(), is24Id="IS7", swissReferences={"egid": "0190167443"}, title="Ours")
    for criterion in Criterion:
        found = candidates.matching(workspace.pk, criterion)
        assert (criterion, found.matched) == (criterion, ((ours.pk, theirs.pk),))
    candidates.apart(workspace.pk, [ours.pk], now=now())
    for criterion in Criterion:
        found = candidates.matching(workspace.pk, criterion)
        assert (found.only_ours, found.only_theirs) == ((ours.pk,), (theirs.pk,))
