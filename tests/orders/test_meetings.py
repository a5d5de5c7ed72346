"""Events and people who write the same orders at the same moment."""

import json
from collections.abc import Callable

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.models import Workspace
from crm_sync.platform.events import Event, parse
from orders.mirror.refresh import read_all_open
from orders.models import Assignment, MaterialSet, Order, Placement
from properties.domain.editing import create
from properties.models import Property
from properties.pull.linking import Linking, LinkOutcome, link
from tests.api import error, program
from tests.orders.admin_rows import NOW
from tests.orders.conftest import handled, order_moved
from tests.together import behind, crossing, on_postgresql

pytestmark = pytest.mark.django_db(transaction=True)


def orders_that_were_written(workspace: Workspace) -> list[Order]:
    """Return six orders; the first three stand behind the others in their table and its indexes."""
    for number in range(6):
        columns = {"platform_id": str(number), "status": "PLACED", "created_at": now()}
        reference = f"R-{9 - number}"
        Order.objects.create(workspace=workspace, object_reference_id=reference, **columns)
    rows = list(Order.objects.order_by("pk"))
    for row in rows[:3]:
        Order.objects.filter(pk=row.pk).update(attempts=1)
    return rows


def moving(rows: list[Order]) -> list[Event]:
    """Return an event of each order: its work has begun."""
    moved = order_moved(1, "PLACED", "IN_PROGRESS")
    return [parse(json.dumps(moved | {"orderId": row.platform_id}).encode()) for row in rows]


def applying(workspace: Workspace, events: list[Event]) -> Callable[[], None]:
    """Return what applies these events in one transaction."""

    def apply() -> None:
        with transaction.atomic():
            handled(workspace.pk, *events)

    return apply


@pytest.mark.rule("I22")
def test_events_and_a_person_who_refreshes_their_orders_meet_and_neither_fails(main, boss):
    rows = orders_that_were_written(main)
    apply = applying(main, moving(rows))
    page = reverse("admin:orders_order_changelist")
    act = {"action": "read_again", "_selected_action": [row.pk for row in rows]}
    third = Order.objects.filter(pk=rows[2].pk)
    _, answer = behind(apply, lambda: boss.post(page, act), locked=third)
    assert answer.status_code == 302
    assert Order.objects.filter(status="IN_PROGRESS", due_at__lte=now()).count() == len(rows)


@pytest.mark.rule("I21", "I22")
def test_events_and_a_gap_after_which_all_open_orders_are_read_meet_and_neither_fails(main):
    rows = orders_that_were_written(main)
    apply = applying(main, moving(rows))
    third = Order.objects.filter(pk=rows[2].pk)
    behind(apply, lambda: read_all_open(main.pk, now()), locked=third)
    assert Order.objects.filter(status="IN_PROGRESS", due_at__lte=now()).count() == len(rows)


@pytest.mark.rule("I27")
def test_announcements_and_a_person_who_refreshes_their_orders_meet_and_neither_fails(main, boss):
    rows, events = orders_that_were_written(main), []
    for row in rows:
        known = {"workspace": main, "order": row}
        part = Assignment.objects.create(platform_id=f"a{row.platform_id}", **known)
        columns = {"product": "FLOOR_PLAN", "visual_type": "POST", "ready_at": NOW}
        MaterialSet.objects.create(assignment=part, fetched_at=NOW, **columns, **known)
        said = {"event": "VISUALS_READY", "timestamp": now().isoformat(), "visualType": "POST"}
        said |= {"product": "FLOOR_PLAN", "orderId": row.platform_id}
        events.append(parse(json.dumps(said | {"assignmentId": part.platform_id}).encode()))
    sets, apply = list(MaterialSet.objects.order_by("pk")), applying(main, events)
    page = reverse("admin:orders_order_changelist")
    act = {"action": "read_again", "_selected_action": [row.pk for row in rows]}
    last = MaterialSet.objects.filter(pk=sets[-1].pk)
    answer, _ = behind(lambda: boss.post(page, act), apply, locked=last)
    assert answer.status_code == 302
    assert MaterialSet.objects.filter(due_at__lte=now()).count() == len(sets)


@pytest.fixture
def pair(workspace, box) -> tuple[Property, Property]:
    """Return a property of ours and that of the platform with which a person links it."""
    here = create(workspace, "A-1", {"title": "Ours"}, origin="FEED", now=now())
    seen = {"id": "201", "title": "Theirs"}
    columns = {"platform_id": "201", "desired": seen, "observed": seen, "read_at": now()}
    return here, Property.objects.create(workspace=workspace, **columns)


def linked(here: Property, there: Property) -> LinkOutcome:
    return link(here.workspace_id, here.pk, there.pk, Linking(policy="ask", now=now()))


@pytest.mark.rule("I36")
def test_a_program_that_orders_while_the_property_is_linked_orders_for_the_row_that_it_is_then(
    workspace, pair
):
    erp, wish = program(workspace), {"user": "AGENT-1", "products": ["GROUND_PHOTO"]}
    answer, done = crossing(
        lambda: erp.call("POST", "/properties/A-1/placements", wish, Idempotency_Key="1"),
        lambda: linked(*pair),
        at='INSERT INTO "orders_placement"',
    )
    assert (answer.status_code, done) == (202, LinkOutcome.LINKED)
    assert Placement.objects.get().real_estate_property == pair[1]


@on_postgresql
def test_a_program_that_orders_while_an_undo_removes_the_property_orders_nothing(workspace):
    create(workspace, "A-1", {"title": "Ours"}, origin="FEED", now=now())
    erp, wish = program(workspace), {"user": "AGENT-1", "products": ["GROUND_PHOTO"]}
    answer, _ = crossing(
        lambda: erp.call("POST", "/properties/A-1/placements", wish, Idempotency_Key="1"),
        Property.objects.all().delete,
        at='INSERT INTO "orders_placement"',
    )
    assert (error(answer)[:2], Placement.objects.count()) == ((422, "no_such_choice"), 0)


@on_postgresql
@pytest.mark.rule("I36")
def test_a_person_who_orders_while_the_property_is_linked_finds_it_gone(pair, boss):
    answer, done = crossing(
        lambda: boss.post("/admin/orders/placement/begin/", {"property": pair[0].pk}),
        lambda: linked(*pair),
        at='INSERT INTO "orders_placement"',
    )
    assert (answer.status_code, done) == (404, LinkOutcome.LINKED)


@on_postgresql
@pytest.mark.rule("I36")
def test_a_person_who_orders_for_many_while_one_is_linked_goes_on_with_the_others(
    workspace, pair, boss
):
    for number in range(2):
        create(workspace, f"B-{number}", {"title": "Ours"}, origin="FEED", now=now())
    keys = list(Property.objects.filter(platform_id=None).values_list("pk", flat=True))
    act = {"action": "order", "_selected_action": keys}
    answer, done = crossing(
        lambda: boss.post("/admin/properties/property/", act),
        lambda: linked(*pair),
        at='INSERT INTO "orders_placement"',
    )
    assert (answer.status_code, done) == (302, LinkOutcome.LINKED)
    assert Placement.objects.count() == 2
