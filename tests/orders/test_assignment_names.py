"""Assignments that are told by their id alone, and one that shows under another order."""

import json
from typing import Any

import pytest

from crm_sync import hooks
from crm_sync.work import turn
from orders.mirror.order_detail import known, observe
from orders.models import Assignment, MaterialSet, Order, StatusChange
from tests.orders.conftest import calls, now, tell, timeline


def detail_of(wire, order: Order, **members: Any) -> None:
    told = {"id": order.platform_id, "status": "PLACED", **members}
    wire.answers[f"GET /v1/orders/{order.platform_id}"] = ("200 OK", json.dumps(told).encode())


def read_again() -> None:
    Order.objects.update(due_at=now())


NAMED = {
    "texts": lambda ids: {"assignments": ids},
    "numbers": lambda ids: {"assignments": [int(one) for one in ids]},
    "assignmentIds": lambda ids: {"assignmentIds": ids},
    "numbers in assignmentIds": lambda ids: {"assignmentIds": [int(one) for one in ids]},
    "beside an empty list": lambda ids: {"assignments": [], "assignmentIds": ids},
    "objects with assignmentId": lambda ids: {"assignments": [{"assignmentId": i} for i in ids]},
    "mixed": lambda ids: {"assignments": [ids[0], int(ids[1]), None, True, [], ""]},
}


@pytest.fixture
def unknown(box, place) -> tuple[Order, list[str]]:
    """Return an order of which we know no assignment, and the ids of its two."""
    box.switches["placed"] = "id"
    order = place("GROUND_PHOTO", "FLOOR_PLAN")
    box.calls.clear()
    return order, box.workspace.orders[order.platform_id]["assignments"]


@pytest.mark.parametrize("form", NAMED)
def test_assignments_that_a_detail_names_by_id_alone_are_read_one_by_one(
    box, unknown, wire, drain_all, form
):
    order, ids = unknown
    detail_of(wire, order, **NAMED[form](ids))
    read_again()
    drain_all()
    told = order.assignments.order_by("platform_id").values_list("platform_id", "status")
    assert list(told) == [(one, "CREATED") for one in ids]
    assert sorted(calls(box)) == [("GET", f"/v1/assignments/{one}") for one in ids]
    kinds = Assignment.objects.order_by("platform_id").values_list("products", flat=True)
    assert list(kinds) == [["GROUND_PHOTO"], ["FLOOR_PLAN"]]


@pytest.mark.parametrize(
    "form", [lambda ids: ids, lambda ids: [int(i) for i in ids], lambda ids: {"assignmentIds": ids}]
)
def test_assignments_that_the_list_names_by_id_alone_are_read_one_by_one(
    unknown, wire, drain_all, form
):
    order, ids = unknown
    detail_of(wire, order)
    body = json.dumps(form(ids)).encode()
    wire.answers[f"/v1/orders/{order.platform_id}/assignments"] = ("200 OK", body)
    read_again()
    drain_all()
    told = order.assignments.order_by("platform_id").values_list("platform_id", "status")
    assert list(told) == [(one, "CREATED") for one in ids]


def test_an_assignment_whose_id_is_longer_than_any_is_left_out_and_not_cut(
    unknown, wire, drain_all
):
    order, ids = unknown
    detail_of(
        wire, order, assignments=[{"id": "7" * 256}, {"id": ids[0]}], assignmentIds=["8" * 256]
    )
    read_again()
    drain_all()
    assert [row.platform_id for row in order.assignments.all()] == [ids[0]]


# --- one that shows under another order
@pytest.fixture
def moved(box, place, workspace, drain_all) -> tuple[Order, Order, Assignment]:
    """Return two orders, and an assignment of the first that the platform now has in the second."""
    first, second = place("GROUND_PHOTO"), place("FLOOR_PLAN")
    row = first.assignments.get()
    box.advance(row.platform_id)
    box.deliver()
    tell(
        workspace,
        "VISUALS_READY",
        timestamp=now().isoformat(),
        orderId=first.platform_id,
        assignmentId=row.platform_id,
        visualType="POST",
        product="GROUND_PHOTO",
    )
    drain_all()
    box.workspace.orders[first.platform_id]["assignments"].remove(row.platform_id)
    box.workspace.orders[second.platform_id]["assignments"].append(row.platform_id)
    box.workspace.assignments[row.platform_id]["orderId"] = second.platform_id
    return first, second, row


def where_it_is(row: Assignment) -> tuple[set[int], ...]:
    """Return the orders that an assignment, its timeline and its materials belong to."""
    return (
        set(Assignment.objects.filter(pk=row.pk).values_list("order", flat=True)),
        set(StatusChange.objects.filter(assignment=row).values_list("order", flat=True)),
        set(MaterialSet.objects.filter(assignment=row).values_list("order", flat=True)),
    )


def test_an_assignment_that_the_detail_of_another_order_shows_moves(moved, drain_all):
    first, second, row = moved
    assert where_it_is(row) == ({first.pk}, {first.pk}, {first.pk})
    lines = timeline(assignment=row)
    Order.objects.filter(pk=second.pk).update(due_at=now())
    drain_all()
    assert where_it_is(row) == ({second.pk}, {second.pk}, {second.pk})
    assert timeline(assignment=row) == lines
    read_again()
    drain_all()  # the first order no longer shows it
    assert where_it_is(row) == ({second.pk}, {second.pk}, {second.pk})


def test_an_assignment_whose_own_detail_names_another_order_moves(moved, drain_all):
    _, second, row = moved
    Assignment.objects.filter(pk=row.pk).update(due_at=now())
    drain_all()
    assert where_it_is(row) == ({second.pk}, {second.pk}, {second.pk})


def test_an_assignment_stays_where_its_detail_names_an_order_that_nobody_knows(
    box, moved, drain_all
):
    first, _, row = moved
    box.workspace.assignments[row.platform_id]["orderId"] = "999"
    Assignment.objects.filter(pk=row.pk).update(due_at=now())
    drain_all()
    assert where_it_is(row) == ({first.pk}, {first.pk}, {first.pk})
    assert not Order.objects.filter(platform_id="999").exists()


def test_an_event_that_names_another_order_has_that_order_read_which_moves_it(
    box, moved, workspace, drain_all
):
    _, second, row = moved
    box.advance(row.platform_id)
    box.deliver()
    drain_all()
    assert where_it_is(row)[0] == {second.pk}
    row.refresh_from_db()
    assert row.status == box.workspace.assignments[row.platform_id]["status"]


def test_a_read_that_began_before_the_move_does_not_take_it_back(moved, wire, box, drain_all):
    first, second, row = moved
    old = box.workspace.orders[first.platform_id]["assignments"]
    path = f"GET /v1/orders/{first.platform_id}"

    def the_other_order_is_read_meanwhile() -> None:
        Order.objects.filter(pk=second.pk).update(due_at=now())
        before = known(second)  # this thread holds the lane of the queue
        answer = second.workspace.client().get_order(second.platform_id)
        observe(before, answer, source=StatusChange.Source.READ, now=now())

    old.append(row.platform_id)  # what a copy of the platform that lags behind still says
    wire.after[path] = the_other_order_is_read_meanwhile
    Order.objects.filter(pk=first.pk).update(due_at=now())
    turn.take(hooks.queue("orders"), first.workspace_id, seconds=20.0)
    assert where_it_is(row) == ({second.pk}, {second.pk}, {second.pk})
