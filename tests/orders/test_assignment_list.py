"""Where an order's detail names no assignment, the list of them is read (A36)."""

import json

import pytest

from crm_sync import hooks
from crm_sync.work import turn
from orders.models import Order
from tests.orders.conftest import calls, lost, now, tell


def drain(order: Order) -> dict[str, int]:
    return turn.take(hooks.queue("orders"), order.workspace_id, seconds=20.0).counts


@pytest.fixture
def unnamed(box, place, wire) -> Order:
    """Return an order of which we know no assignment, and whose detail names none."""
    box.switches["placed"] = "id"
    order = place("GROUND_PHOTO", "FLOOR_PLAN")
    detail = json.dumps({"id": order.platform_id, "status": "PLACED"}).encode()
    wire.answers[f"/v1/orders/{order.platform_id}"] = ("200 OK", detail)
    box.calls.clear()
    return order


def test_an_order_whose_detail_names_no_assignment_has_those_of_its_list(box, unnamed, drain_all):
    drain_all()
    told = unnamed.assignments.order_by("pk").values_list("status", "products")
    assert list(told) == [("CREATED", ["GROUND_PHOTO"]), ("CREATED", ["FLOOR_PLAN"])]
    listed = ("GET", f"/v1/orders/{unnamed.platform_id}/assignments")
    assert calls(box) == [listed]
    Order.objects.update(due_at=now())
    assert drain(unnamed) == {"read": 1}
    assert calls(box) == [listed]  # what is known is read by itself


def test_an_event_that_comes_during_the_read_of_the_list_is_not_overwritten(box, unnamed, wire):
    first, _ = box.workspace.orders[unnamed.platform_id]["assignments"]
    path = f"/v1/orders/{unnamed.platform_id}/assignments"

    def somebody_accepts() -> None:
        tell(
            unnamed.workspace,
            "ASSIGNMENT_STATUS_UPDATED",
            occurredAt=now().isoformat(),
            orderId=unnamed.platform_id,
            assignmentId=first,
            previousStatus="CREATED",
            newStatus="PHOTOGRAPHER_ASSIGNED",
        )
        wire.before[f"GET /v1/orders/{unnamed.platform_id}"] = lost  # which would mend it

    wire.after[path] = somebody_accepts
    assert drain(unnamed) == {"read": 1, "put off": 1}  # the event made it due once more
    assert unnamed.assignments.get(platform_id=first).status == "PHOTOGRAPHER_ASSIGNED"


@pytest.mark.parametrize("status", ["404 Not Found", "405 Method Not Allowed"])
def test_where_there_is_no_such_list_the_order_is_read_all_the_same(unnamed, wire, status):
    wire.answers[f"/v1/orders/{unnamed.platform_id}/assignments"] = (status, b"")
    assert drain(unnamed) == {"read": 1}
    unnamed.refresh_from_db()
    assert (unnamed.status, unnamed.problem, unnamed.assignments.count()) == ("PLACED", "", 0)


@pytest.mark.parametrize("answer", [("500 Broken", b""), ("200 OK", b"{}")])
def test_a_list_that_cannot_be_read_is_asked_for_again_and_the_order_is_told(unnamed, wire, answer):
    wire.answers[f"/v1/orders/{unnamed.platform_id}/assignments"] = answer
    assert drain(unnamed) == {"put off": 1}
    unnamed.refresh_from_db()
    assert (unnamed.status, unnamed.problem != "") == ("PLACED", True)
    assert unnamed.due_at > now()
