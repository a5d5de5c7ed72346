"""The states and transitions (§3), row by row, and what each step emits (§3.3, §6.2)."""

from __future__ import annotations

import pytest

from sandbox.interface.lifecycle import (
    DOCUMENT_MOVES,
    ORDER_MOVES,
    PHOTO_MOVES,
    next_order_status,
    next_status,
)
from tests.sandbox.conftest import placed, status, steps

PHOTO, DRONE, PLAN, ENERGY, REGISTER = "11", "12", "13", "17", "18"

TO_STATUS = {  # how a photo assignment gets there
    "CREATED": 0,
    "PHOTOGRAPHER_ASSIGNED": 1,
    "SCHEDULED": 2,
    "IN_PRODUCTION": 3,
    "DELIVERED": 4,
}


# §3.1


def test_3_1_an_order_that_is_received_is_placed_and_emits_nothing(box, hooked):
    order, _ = placed(hooked, PHOTO)
    assert (order["status"], list(box.pending)) == ("PLACED", [])


def test_3_1_the_first_assignment_that_starts_work_moves_the_order_to_in_progress(box, hooked):
    order, (first, second) = placed(hooked, PHOTO, PLAN)
    box.advance(first)
    assert status(hooked, order["id"]) == "IN_PROGRESS"
    box.advance(second)
    assert [one for one in box.pending if one["event"] == "ORDER_STATUS_UPDATED"] == [
        {
            "event": "ORDER_STATUS_UPDATED",
            "occurredAt": "2026-03-02T08:30:00.000000Z",
            "orderId": order["id"],
            "previousStatus": "PLACED",
            "newStatus": "IN_PROGRESS",
        }
    ]


def test_3_1_an_order_is_completed_when_all_work_is_finished(box, client):
    order, (first, second) = placed(client, PHOTO, PLAN)
    steps(box, first, 4)
    assert status(client, order["id"]) == "IN_PROGRESS"
    steps(box, second, 4)
    assert status(client, order["id"]) == "COMPLETED"


@pytest.mark.parametrize("moved", [0, 1])
def test_3_1_an_order_that_is_placed_or_in_progress_can_be_cancelled(box, hooked, moved):
    order, (first, second) = placed(hooked, PHOTO, PLAN)
    steps(box, first, moved)
    box.pending.clear()
    answer = hooked.put(f"/v1/orders/{order['id']}/cancel", json={"userId": "101"})
    assert answer.status_code == 200
    assert answer.json()["status"] == "CANCELLED"
    assert [one["status"] for one in answer.json()["assignments"]] == ["CANCELLED"] * 2
    told = [(one["event"], one.get("assignmentId"), one["newStatus"]) for one in box.pending]
    assert told == [
        ("ASSIGNMENT_STATUS_UPDATED", first, "CANCELLED"),
        ("ASSIGNMENT_STATUS_UPDATED", second, "CANCELLED"),
        ("ORDER_STATUS_UPDATED", None, "CANCELLED"),
    ]
    assert box.pending[-1]["previousStatus"] == ("IN_PROGRESS" if moved else "PLACED")


@pytest.mark.parametrize("end", ["COMPLETED", "CANCELLED"])
def test_3_1_completed_and_cancelled_are_terminal(box, client, end):
    order, (only,) = placed(client, PHOTO)
    box.set_status(only, "DELIVERED" if end == "COMPLETED" else "CANCELLED")
    before = client.get(f"/v1/orders/{order['id']}").json()
    assert before["status"] == end
    answer = client.put(f"/v1/orders/{order['id']}/cancel", json={"userId": "101"})
    assert answer.status_code == 409
    assert client.get(f"/v1/orders/{order['id']}").json() == before
    assert box.step() == 0


def test_3_1_delivered_at_once_passes_through_in_progress(box, hooked):
    _, (only,) = placed(hooked, PLAN)
    box.set_status(only, "DELIVERED")
    told = [
        (one["previousStatus"], one["newStatus"])
        for one in box.pending
        if one["event"] == "ORDER_STATUS_UPDATED"
    ]
    assert told == [("PLACED", "IN_PROGRESS"), ("IN_PROGRESS", "COMPLETED")]


def test_a48_an_order_is_cancelled_when_all_of_it_is_and_completed_when_some_was_done(box, client):
    order, (first, second) = placed(client, PHOTO, PLAN)
    box.set_status(first, "CANCELLED")
    assert status(client, order["id"]) == "PLACED"
    box.set_status(second, "CANCELLED")
    assert status(client, order["id"]) == "CANCELLED"
    order, (first, second) = placed(client, PHOTO, PLAN)
    box.set_status(first, "CANCELLED")
    box.set_status(second, "DELIVERED")
    assert status(client, order["id"]) == "COMPLETED"


def test_3_1_the_table_of_order_moves():
    assert ORDER_MOVES == {
        "PLACED": ("IN_PROGRESS", "CANCELLED"),
        "IN_PROGRESS": ("COMPLETED", "CANCELLED"),
        "COMPLETED": (),
        "CANCELLED": (),
    }
    assert next_order_status("PLACED", []) is None
    assert next_order_status("PLACED", ["ON_HOLD"]) == "IN_PROGRESS"


# §3.2, photo and visual products

PHOTO_STEPS = [
    ("CREATED", "PHOTOGRAPHER_ASSIGNED"),
    ("PHOTOGRAPHER_ASSIGNED", "SCHEDULED"),
    ("SCHEDULED", "IN_PRODUCTION"),
    ("IN_PRODUCTION", "DELIVERED"),
]


def test_3_2_an_assignment_begins_created(client):
    order, _ = placed(client, PHOTO, ENERGY)
    assert [one["status"] for one in order["assignments"]] == ["CREATED", "CREATED"]


@pytest.mark.parametrize(("start", "end"), PHOTO_STEPS)
def test_3_2_a_photo_assignment_goes_its_way(box, hooked, start, end):
    _, (only,) = placed(hooked, PHOTO)
    steps(box, only, TO_STATUS[start])
    box.pending.clear()
    steps(box, only, 1)
    told = box.pending[0]
    assert (told["event"], told["previousStatus"], told["newStatus"]) == (
        *("ASSIGNMENT_STATUS_UPDATED", start, end),
    )
    assert hooked.get(f"/v1/assignments/{only}").json()["status"] == end


@pytest.mark.parametrize("start", ["PHOTOGRAPHER_ASSIGNED", "SCHEDULED"])
def test_3_2_a_reschedule_goes_back_to_photographer_assigned(box, hooked, start):
    order, (only,) = placed(hooked, PHOTO)
    steps(box, only, TO_STATUS[start])
    answer = hooked.put(f"/v1/orders/{order['id']}/reschedule", json={"userId": "101"})
    after = answer.json()["assignments"][0]
    assert (answer.status_code, after["status"]) == (200, "RESCHEDULE_IN_PROCESS")
    assert "scheduledAt" not in after
    assert "photographer" not in after
    steps(box, only, 1)
    after = hooked.get(f"/v1/assignments/{only}").json()
    assert (after["status"], after["photographer"]["id"]) == ("PHOTOGRAPHER_ASSIGNED", "52")


@pytest.mark.parametrize("start", ["CREATED", "IN_PRODUCTION", "DELIVERED"])
def test_3_2_other_statuses_cannot_be_rescheduled(box, hooked, start):
    order, (only, _) = placed(hooked, PHOTO, ENERGY)
    steps(box, only, TO_STATUS[start])
    box.pending.clear()
    before = hooked.get(f"/v1/orders/{order['id']}").json()
    answer = hooked.put(f"/v1/orders/{order['id']}/reschedule", json={"userId": "101"})
    assert (answer.status_code, list(box.pending)) == (409, [])
    assert hooked.get(f"/v1/orders/{order['id']}").json() == before


@pytest.mark.parametrize(
    ("product", "start"),
    [(PHOTO, one) for one in PHOTO_MOVES if PHOTO_MOVES[one]]
    + [(ENERGY, one) for one in DOCUMENT_MOVES if DOCUMENT_MOVES[one]],
)
def test_3_2_any_status_that_is_not_terminal_can_be_cancelled(box, client, product, start):
    order, (only,) = placed(client, product)
    box.set_status(only, start)
    client.put(f"/v1/orders/{order['id']}/cancel", json={"userReferenceId": "AGENT-1"})
    assert client.get(f"/v1/assignments/{only}").json()["status"] == "CANCELLED"


def test_3_2_a_cancelled_order_leaves_delivered_work_delivered(box, client):
    order, (first, _second) = placed(client, PHOTO, PLAN)
    steps(box, first, 4)
    answer = client.put(f"/v1/orders/{order['id']}/cancel", json={"userId": "101"})
    assert [one["status"] for one in answer.json()["assignments"]] == ["DELIVERED", "CANCELLED"]


@pytest.mark.parametrize("end", ["DELIVERED", "CANCELLED"])
@pytest.mark.parametrize("product", [PHOTO, REGISTER])
def test_3_2_delivered_and_cancelled_are_terminal(box, client, product, end):
    _, (only,) = placed(client, product)
    box.set_status(only, end)
    assert box.advance(only) is False
    assert box.workspace.assignments[only]["status"] == end


def test_3_2_the_tables_of_assignment_moves():
    assert {one: set(to) for one, to in PHOTO_MOVES.items()} == {
        "CREATED": {"PHOTOGRAPHER_ASSIGNED", "CANCELLED"},
        "PHOTOGRAPHER_ASSIGNED": {"SCHEDULED", "RESCHEDULE_IN_PROCESS", "CANCELLED"},
        "SCHEDULED": {"IN_PRODUCTION", "RESCHEDULE_IN_PROCESS", "CANCELLED"},
        "RESCHEDULE_IN_PROCESS": {"PHOTOGRAPHER_ASSIGNED", "CANCELLED"},
        "IN_PRODUCTION": {"DELIVERED", "CANCELLED"},
        "DELIVERED": set(),
        "CANCELLED": set(),
    }
    assert {one: set(to) for one, to in DOCUMENT_MOVES.items()} == {
        "CREATED": {"ACTION_REQUIRED", "IN_PROCESS", "CANCELLED"},
        "ACTION_REQUIRED": {"CREATED", "CANCELLED"},
        "IN_PROCESS": {"DELIVERED", "CANCELLED"},
        "DELIVERED": set(),
        "CANCELLED": set(),
    }
    assert next_status("PHOTO", "ON_HOLD") is None


# §3.2, document products


def test_3_2_a_document_that_needs_input_asks_once_and_goes_its_way(box, hooked):
    order, (only,) = placed(hooked, ENERGY)
    seen = []
    while box.advance(only):
        one = box.workspace.assignments[only]
        seen.append((one["status"], one.get("actionRequired"), status(hooked, order["id"])))
    assert seen == [
        ("ACTION_REQUIRED", "DOCUMENT_UPLOAD_REQUIRED", "PLACED"),
        ("CREATED", None, "PLACED"),
        ("IN_PROCESS", None, "IN_PROGRESS"),
        ("DELIVERED", None, "COMPLETED"),
    ]
    told = [
        (one["previousStatus"], one["newStatus"], one.get("actionRequired"))
        for one in box.pending
        if one["event"] == "ASSIGNMENT_STATUS_UPDATED"
    ]
    assert told == [
        ("CREATED", "ACTION_REQUIRED", "DOCUMENT_UPLOAD_REQUIRED"),
        ("ACTION_REQUIRED", "CREATED", None),
        ("CREATED", "IN_PROCESS", None),
        ("IN_PROCESS", "DELIVERED", None),
    ]


def test_3_2_a_document_that_needs_nothing_goes_directly(box, client):
    _, (only,) = placed(client, REGISTER)
    seen = []
    while box.advance(only):
        seen.append(box.workspace.assignments[only]["status"])
    assert seen == ["IN_PROCESS", "DELIVERED"]


def test_3_2_the_other_reason_is_a_power_of_attorney(box, client):
    _, (only,) = placed(client, REGISTER)
    box.set_status(only, "ACTION_REQUIRED")
    assert box.workspace.assignments[only]["actionRequired"] == "POWER_OF_ATTORNEY_REQUIRED"
