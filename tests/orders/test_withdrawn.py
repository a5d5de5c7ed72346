"""What the platform has withdrawn is marked, kept, and no longer counted; it may come back."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from crm_sync import hooks
from crm_sync.work import turn
from orders.calendar.appointments import appointments
from orders.materials import file_requests
from orders.models import Assignment, Material, MaterialSet, Order
from tests.orders.conftest import now, tell, timeline


def read_orders(drain_all) -> None:
    Order.objects.update(due_at=now())
    drain_all()


def give_up(row: Assignment) -> None:
    """Let all tries of the reads of an assignment pass that its order no longer names."""
    for _ in range(8):
        Assignment.objects.filter(pk=row.pk, due_at__isnull=False).update(due_at=now())
        turn.take(hooks.queue("assignments"), row.workspace_id, seconds=20.0)
    row.refresh_from_db()


@pytest.fixture
def both(box, place, drain_all) -> tuple[Assignment, Assignment]:
    """Return the two assignments of an order, each with an appointment."""
    order = place("GROUND_PHOTO", "DRONE_PHOTO")
    for row in order.assignments.all():
        for _ in range(2):
            box.advance(row.platform_id)
    box.deliver()
    drain_all()
    first, second = order.assignments.order_by("pk")
    assert (first.status, second.status) == ("SCHEDULED", "SCHEDULED")
    return first, second


def withdraw(box, row: Assignment) -> dict:
    box.workspace.orders[row.order.platform_id]["assignments"].remove(row.platform_id)
    return box.workspace.assignments.pop(row.platform_id)


@pytest.mark.rule("I28")
def test_an_assignment_that_its_order_and_its_own_read_lack_is_marked_and_kept(
    box, both, drain_all, boss
):
    first, second = both
    lines = timeline(assignment=second)
    withdraw(box, second)
    read_orders(drain_all)
    second.refresh_from_db()
    assert (second.withdrawn_at, second.attempts) == (None, 1)  # a copy may lag behind
    give_up(second)
    assert second.withdrawn_at is not None
    assert (second.status, second.due_at, timeline(assignment=second)) == ("SCHEDULED", None, lines)
    first.refresh_from_db()
    assert first.withdrawn_at is None
    page = boss.get(reverse("admin:orders_order_change", args=[first.order_id])).content.decode()
    assert page.count("The platform has withdrawn it: its order no longer names it.") == 1
    box.calls.clear()
    read_orders(drain_all)  # it is not asked for each time
    assert not [path for _, path, _, _ in box.calls if path.endswith(second.platform_id)]


def test_a_withdrawn_assignment_has_no_appointment_any_more(box, both, drain_all, boss):
    person = User.objects.get(is_superuser=True)
    week = {"first": now() - timedelta(days=30), "end": now() + timedelta(days=60)}
    _, second = both
    keys = {one.key for one in appointments(**week, person=person, only_mine=False)}
    assert keys == {one.pk for one in both}
    withdraw(box, second)
    read_orders(drain_all)
    give_up(second)
    keys = {one.key for one in appointments(**week, person=person, only_mine=False)}
    assert keys == {both[0].pk}


@pytest.mark.parametrize("shown_by", ["order", "event"])
def test_an_assignment_that_is_there_again_is_withdrawn_no_more(
    box, both, workspace, drain_all, shown_by
):
    _, second = both
    kept = withdraw(box, second)
    read_orders(drain_all)
    give_up(second)
    box.workspace.assignments[second.platform_id] = kept
    if shown_by == "order":
        box.workspace.orders[second.order.platform_id]["assignments"].append(second.platform_id)
        read_orders(drain_all)
    else:
        tell(
            workspace,
            "APPOINTMENT_DATE_UPDATED",
            occurredAt=now().isoformat(),
            orderId=second.order.platform_id,
            assignmentId=second.platform_id,
            scheduledAt=None,
        )
        drain_all()
    second.refresh_from_db()
    assert second.withdrawn_at is None


@pytest.mark.rule("I28")
def test_an_assignment_of_an_abridged_detail_is_not_withdrawn(box, both, drain_all):
    first, second = both
    box.workspace.orders[first.order.platform_id]["assignments"].remove(second.platform_id)
    read_orders(drain_all)
    second.refresh_from_db()
    assert (second.withdrawn_at, second.problem, second.read_at is not None) == (None, "", True)


def test_an_assignment_that_its_order_names_is_not_withdrawn_where_its_own_read_is_404(
    box, both, wire, drain_all
):
    _, second = both
    wire.answers[f"/v1/assignments/{second.platform_id}"] = ("404 Not Found", b"")
    Assignment.objects.filter(pk=second.pk).update(due_at=now())
    give_up(second)
    assert (second.withdrawn_at, second.due_at, second.problem != "") == (None, None, True)


# --- materials
@pytest.fixture
def delivered(box, place, drain_all) -> Assignment:
    """Return an assignment with a picture as it was taken, in HD and in WEB."""
    order = place("GROUND_PHOTO")
    row = order.assignments.get()
    box.set_status(row.platform_id, "DELIVERED")
    box.deliver()
    drain_all()
    assert set(marked().values()) == {False}
    return row


def marked() -> dict[str, bool]:
    visuals = Material.objects.filter(target_platform="")
    return {one.visual_type: one.withdrawn_at is not None for one in visuals}


def give_up_lists(drain_all) -> None:
    """Let the last of the reads of empty lists come."""
    MaterialSet.objects.update(due_at=now(), empty_reads=7)
    drain_all()


def read_again(drain_all) -> None:
    file_requests.ask(MaterialSet.objects.all(), now=now())
    drain_all()


@pytest.mark.rule("I28")
def test_materials_that_whole_lists_lack_are_marked_and_kept(box, delivered, drain_all, boss):
    every = box.workspace.materials[delivered.platform_id]
    every[:] = [one for one in every if one["visualType"] != "POST_WEB"]
    MaterialSet.objects.update(due_at=now())
    drain_all()
    assert set(marked().values()) == {False}  # it may be listed late
    give_up_lists(drain_all)
    assert {kind for kind, is_marked in marked().items() if is_marked} == {"POST_WEB"}
    page = boss.get(reverse("admin:orders_order_change", args=[delivered.order_id]))
    assert page.content.decode().count("WEB, withdrawn") >= 1
    when = Material.objects.get(visual_type="POST_WEB").withdrawn_at
    read_again(drain_all)
    assert Material.objects.get(visual_type="POST_WEB").withdrawn_at == when


def test_materials_that_are_listed_again_are_withdrawn_no_more(box, delivered, drain_all):
    every = box.workspace.materials.pop(delivered.platform_id)
    read_again(drain_all)
    assert set(marked().values()) == {False}  # the list may be empty for a while
    give_up_lists(drain_all)
    assert set(marked().values()) == {True}
    box.workspace.materials[delivered.platform_id] = every
    read_again(drain_all)
    assert set(marked().values()) == {False}


def test_marketing_materials_that_the_list_lacks_are_marked(box, home, drain_all):
    box.marketing_ready("201", "INSTAGRAM")
    box.deliver()
    drain_all()
    assert Material.objects.get().withdrawn_at is None
    box.workspace.marketing.clear()
    give_up_lists(drain_all)
    assert Material.objects.get().withdrawn_at is not None


def read_due(row: Assignment) -> None:
    Assignment.objects.filter(pk=row.pk).update(due_at=now())
    turn.take(hooks.queue("assignments"), row.workspace_id, seconds=20.0)
    row.refresh_from_db()


@pytest.mark.rule("I28")
def test_one_404_after_an_outage_withdraws_no_assignment(box, both, wire, drain_all):
    _, second = both
    box.workspace.orders[second.order.platform_id]["assignments"].remove(second.platform_id)
    own = f"GET /v1/assignments/{second.platform_id}"
    wire.answers[own] = ("500 Internal Server Error", b"")
    Order.objects.update(due_at=now())
    drain_all()
    for _ in range(6):
        read_due(second)
    wire.answers[own] = ("404 Not Found", b"")
    read_due(second)
    assert (second.withdrawn_at, second.due_at is not None) == (None, True)


@pytest.mark.rule("I28")
def test_an_assignment_that_the_ids_of_its_order_lack_is_withdrawn(box, both, wire, drain_all):
    first, second = both
    withdraw(box, second)
    key = first.order.platform_id
    detail = {"id": key, "status": "IN_PROGRESS", "assignmentIds": [first.platform_id]}
    wire.answers[f"GET /v1/orders/{key}"] = ("200 OK", json.dumps(detail).encode())
    Order.objects.update(due_at=now())
    drain_all()
    give_up(second)
    assert second.withdrawn_at is not None
