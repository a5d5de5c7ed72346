"""Two who write the same rows at the same moment: neither waits for the other without end."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.models import Workspace, hold
from crm_sync.platform.work_kind import WorkKind
from properties.admin.property.bulk_edit_page import batch_address
from properties.domain import bulk_edit, conflicts
from properties.domain.conflicts import Decision
from properties.domain.editing import create, due_now, edit
from properties.domain.owner_change import EFFECT_AFTER, set_owner
from properties.drift.comparison import make_due
from properties.imports.engine import import_feed
from properties.merge import Owner
from properties.models import Batch, BatchEdit, Change, Conflict, Property
from properties.pull.linking import Linking, LinkOutcome, link
from properties.pull.walk import pull
from properties.push.batches import choose, read_now
from sandbox.app import Sandbox
from tests.api import program
from tests.crm_sync.admin_pages import client_of
from tests.properties.form_page import opened, post
from tests.properties.test_full_feed_guard import as_json
from tests.together import behind, crossing, on_postgresql

pytestmark = pytest.mark.django_db(transaction=True)
REMOVAL = 'DELETE FROM "properties_property"'  # the end of a link, which then has every lock


@pytest.mark.rule("I1", "I4")
def test_a_decision_and_an_edit_of_its_field_meet_and_both_are_kept(workspace):
    row = create(workspace, "A-1", {"title": "Ours"}, origin="FEED", now=now())
    values = {"base": "Flat", "ours": "Ours", "theirs": "Theirs", "created_at": now()}
    asked = Conflict.objects.create(real_estate_property=row, path="title", **values)
    person = User.objects.create(username="anna")

    def write():
        mine = Property.objects.get(pk=row.pk)
        return edit(mine, {"title": "Of the feed"}, origin="FEED", now=now())

    def decide():
        answer = conflicts.of_side(Conflict.objects.get(pk=asked.pk), Decision.THEIRS)
        return conflicts.decide([answer], actor=person, now=now())

    written, decided = crossing(write, decide, at='"properties_change"')
    asked.refresh_from_db()
    row.refresh_from_db()
    assert written == {"title"}
    assert (decided.late, asked.decision, row.desired["title"]) == (
        [asked],
        Decision.OURS,
        "Of the feed",
    )


@pytest.fixture
def here(workspace) -> Property:
    return create(workspace, "A-1", {"title": "Ours"}, origin="FEED", now=now())


@pytest.fixture
def there(workspace) -> Property:
    seen = {"id": "90001", "title": "Theirs"}
    columns = {"platform_id": "90001", "desired": seen, "observed": seen, "read_at": now()}
    return Property.objects.create(workspace=workspace, **columns)


def linked(workspace: Workspace, here: Property, there: Property) -> LinkOutcome:
    return link(workspace.pk, here.pk, there.pk, Linking(policy="ask", now=now()))


@pytest.mark.rule("I1", "I36")
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_a_program_that_writes_a_property_while_it_is_linked_writes_the_row_that_it_is_then(
    workspace, here, there, method
):
    erp = program(workspace)
    done, answer = crossing(
        lambda: linked(workspace, here, there),
        lambda: erp.call(method, "/properties/A-1", {"author": "New"}),
        at=REMOVAL,
    )
    assert (done, answer.status_code) == (LinkOutcome.LINKED, 200)
    assert Property.objects.get().desired["author"] == "New"


@pytest.mark.rule("I36")
def test_a_person_who_saves_a_property_while_it_is_linked_finds_it_gone(workspace, here, there):
    browser = client_of(superuser=True)
    page = opened(browser, here)
    done, answer = crossing(
        lambda: linked(workspace, here, there),
        lambda: post(browser, here, page, author="New"),
        at=REMOVAL,
    )
    assert (done, answer.status_code) == (LinkOutcome.LINKED, 404)


@pytest.mark.rule("I36")
def test_a_person_who_undoes_a_change_while_its_property_is_linked_finds_it_gone(
    workspace, here, there
):
    edit(here, {"title": "Newer"}, origin="FEED", now=now())
    browser = client_of(superuser=True)
    change = Change.objects.get(new="Newer")
    undo = reverse("admin:properties_property_undo", args=[here.pk, change.pk])
    done, answer = crossing(
        lambda: linked(workspace, here, there), lambda: browser.post(undo), at=REMOVAL
    )
    assert (done, answer.status_code) == (LinkOutcome.LINKED, 404)


@pytest.mark.rule("I36")
def test_a_link_and_an_edit_of_many_properties_meet_and_neither_fails(workspace, here, there):
    person = User.objects.create(username="anna")
    batch = Batch.objects.create(kind=Batch.Kind.SET, created_by=person, created_at=now())
    planned = {"author": [None, "New"]}
    BatchEdit.objects.create(batch=batch, real_estate_property=here, planned=planned)

    def set_rest():
        bulk_edit.set_rest(batch, now=now(), until=0.0)

    done, _ = crossing(
        lambda: linked(workspace, here, there), set_rest, at='"properties_batchedit"'
    )
    assert done == LinkOutcome.LINKED
    set_rest()
    assert Property.objects.get().desired["author"] == "New"


@on_postgresql
@pytest.mark.rule("I36")
@pytest.mark.parametrize("action", ["set_fields", "read"])
def test_a_person_who_chooses_many_while_one_is_linked_goes_on_with_the_others(
    workspace, here, there, action
):
    create(workspace, "B-1", {"title": "Ours"}, origin="FEED", now=now())
    browser = client_of(superuser=True)
    keys = list(Property.objects.filter(platform_id=None).values_list("pk", flat=True))
    act = {"action": action, "_selected_action": keys}
    answer, done = crossing(
        lambda: browser.post("/admin/properties/property/", act),
        lambda: linked(workspace, here, there),
        at='INSERT INTO "properties_batch_properties"',
    )
    assert (answer.status_code, done) == (302, LinkOutcome.LINKED)
    assert Batch.objects.get().properties.count() == 1


@on_postgresql
@pytest.mark.rule("I36")
def test_a_person_who_plans_an_edit_while_a_property_is_linked_plans_it_for_the_row_it_is_then(
    workspace, here, there
):
    browser = client_of(superuser=True)
    person = User.objects.get()
    every = Property.objects.filter(pk=here.pk)
    batch = choose(every, Batch.Kind.SET, actor=person, now=now())
    answer, done = crossing(
        lambda: browser.post(batch_address(batch), {"step": "plan", "author": "New"}),
        lambda: linked(workspace, here, there),
        at='INSERT INTO "properties_batchedit"',
    )
    assert (answer.status_code, done) == (302, LinkOutcome.LINKED)
    assert BatchEdit.objects.get().real_estate_property == there


def stock(workspace: Workspace, box: Sandbox, columns: dict[str, Any]) -> list[Property]:
    """Return properties that both sides have; an edit has moved the first three to the end."""
    box.workspace.properties.clear()
    for number in range(6):
        seen = {"id": f"9000{number}", "objectReferenceId": f"P-{number}"}
        box.workspace.properties[seen["id"]] = seen
        known = {"platform_id": seen["id"], "desired": seen, "observed": seen, "read_at": now()}
        known["object_reference_id"] = seen["objectReferenceId"]
        Property.objects.create(workspace=workspace, **(known | columns))
    rows = list(Property.objects.order_by("pk"))
    for row in rows[:3]:
        Property.objects.filter(pk=row.pk).update(attempts=1)
    return rows


ACTS: dict[str, tuple[dict[str, Any], Callable[[Workspace, list[Property]], Any]]] = {
    "sends": ({}, lambda workspace, rows: due_now(Property.objects.all())),
    "resumes": (
        {"due_at": now(), "wait_reason": "HELD"},
        lambda workspace, rows: hold.resume(workspace.pk, [WorkKind.PUSHES], now=now()),
    ),
    "rules": (
        {"due_at": None, "lease_token": uuid4(), "lease_until": now()},
        lambda workspace, rows: set_owner(workspace.pk, "title", Owner.THEIRS, now=now()),
    ),
    "compares": (
        {},
        lambda workspace, rows: make_due(workspace, [row.pk for row in rows], now=now()),
    ),
}


@pytest.mark.rule("I7")
@pytest.mark.parametrize("act", ACTS)
def test_a_pull_and_whoever_makes_many_properties_due_meet_and_neither_fails(workspace, box, act):
    columns, make_many_due = ACTS[act]
    rows = stock(workspace, box, columns)
    walks, _ = behind(
        lambda: list(pull(workspace)),
        lambda: make_many_due(workspace, rows),
        locked=Property.objects.filter(pk=rows[2].pk),
    )
    soon = now() + EFFECT_AFTER
    assert [walk.listed for walk in walks] == [6]
    assert Property.objects.filter(due_at__lte=soon).count() == 6


@pytest.mark.rule("I7")
def test_a_pull_that_finds_a_change_and_a_person_who_sends_all_meet(workspace, box):
    rows = stock(workspace, box, {})
    box.workspace.properties["90004"]["title"] = "New"
    crossing(
        lambda: list(pull(workspace)),
        lambda: due_now(Property.objects.all()),
        at='SET "listed_in_id"',
    )
    assert Property.objects.filter(due_at__lte=now()).count() == len(rows)


@pytest.mark.rule("I7")
def test_a_person_who_refreshes_all_and_one_who_sends_all_meet(workspace, box):
    rows = stock(workspace, box, {})
    Workspace.objects.update(read_before_write=False)
    Property.objects.filter(pk=rows[0].pk).update(inflight={"title": "New"})
    Property.objects.exclude(pk=rows[0].pk).update(attempts=2)  # so they stand behind that one
    crossing(
        lambda: read_now(Property.objects.all(), now=now()),
        lambda: due_now(Property.objects.all()),
        at="SAVEPOINT",
    )
    assert Property.objects.filter(due_at__lte=now()).count() == len(rows)


@pytest.mark.rule("I36")
def test_a_link_and_a_person_who_sends_all_meet_and_neither_fails(workspace, there, here):
    done, _ = crossing(
        lambda: linked(workspace, here, there),
        lambda: due_now(Property.objects.all()),
        at='UPDATE "properties_change"',
    )
    assert done == LinkOutcome.LINKED


@pytest.mark.rule("I1")
def test_the_end_of_an_import_and_a_person_who_sends_all_meet_and_neither_fails(
    main, agency, data_dir
):
    def imported(*references: str) -> None:
        feed = data_dir / "feed.json"
        feed.write_text(as_json(references))
        list(import_feed(main, feed, sender=agency, now=now(), force=True))

    imported("A", "B", "C", "D", "E", "F")
    third = Property.objects.get(object_reference_id="C")
    behind(
        lambda: due_now(Property.objects.all()),
        lambda: imported("F"),
        locked=Property.objects.filter(pk=third.pk),
    )
    states = Property.objects.order_by("pk").values_list("desired__availabilityState", flat=True)
    assert [*states] == ["PRIVATE"] * 5 + ["ACTIVE"]
