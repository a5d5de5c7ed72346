"""What each step emits (§3.3, §6.2), and what a reschedule does (A34, A49)."""

from __future__ import annotations

import pytest

from tests.sandbox.conftest import placed, status, steps

PHOTO, DRONE, PLAN, ENERGY, REGISTER = "11", "12", "13", "17", "18"


# §3.3


def test_3_3_rule_1_the_same_status_again_emits_nothing(box, hooked):
    _, (only,) = placed(hooked, PHOTO)
    box.set_status(only, "SCHEDULED")
    box.pending.clear()
    box.set_status(only, "SCHEDULED")
    assert list(box.pending) == []


def test_3_3_rule_2_one_change_emits_both_events_at_one_time(box, hooked):
    _, (only,) = placed(hooked, REGISTER)
    box.advance(only)
    assert [one["event"] for one in box.pending] == [
        "ASSIGNMENT_STATUS_UPDATED",
        "ESTIMATED_DELIVERY_UPDATED",
        "ORDER_STATUS_UPDATED",
    ]
    assert {one["occurredAt"] for one in box.pending} == {"2026-03-02T08:30:00.000000Z"}


def test_3_3_rule_3_a_nudge_carries_the_same_status_and_the_logistics_of_now(box, hooked):
    order, (only,) = placed(hooked, PHOTO)
    box.set_status(only, "SCHEDULED")
    box.set_appointment(only, "2026-03-09T07:00:00Z")
    box.pending.clear()
    box.nudge(only)
    assert list(box.pending) == [
        {
            "event": "ASSIGNMENT_STATUS_UPDATED",
            "occurredAt": "2026-03-02T08:30:00.000000Z",
            "orderId": order["id"],
            "assignmentId": only,
            "previousStatus": "SCHEDULED",
            "newStatus": "SCHEDULED",
            "assignmentType": "PHOTO",
            "scheduledAt": "2026-03-09T07:00:00Z",
            "estimatedDeliveryAt": "2026-03-06",
        }
    ]


def test_a28_a_status_that_the_interface_does_not_list_can_be_told(box, hooked):
    _, (only,) = placed(hooked, PHOTO)
    box.set_status(only, "ON_HOLD")
    assert box.pending[0]["newStatus"] == "ON_HOLD"
    assert box.step() == 0


# §6.2: what each step of a photo assignment emits


@pytest.mark.parametrize(
    ("done", "kinds"),
    [
        (0, ["ASSIGNMENT_STATUS_UPDATED", "PHOTOGRAPHER_BOOKED", "ORDER_STATUS_UPDATED"]),
        (
            1,
            [
                "ASSIGNMENT_STATUS_UPDATED",
                "APPOINTMENT_DATE_UPDATED",
                "ESTIMATED_DELIVERY_UPDATED",
            ],
        ),
        (2, ["ASSIGNMENT_STATUS_UPDATED"]),
        (
            3,
            [
                "ASSIGNMENT_STATUS_UPDATED",
                "VISUALS_READY",
                "ORDER_STATUS_UPDATED",
                "MARKETING_MATERIALS_READY",
            ],
        ),
    ],
)
def test_6_2_each_step_emits_its_events(box, hooked, done, kinds):
    _, (only,) = placed(hooked, PHOTO)
    steps(box, only, done)
    box.pending.clear()
    steps(box, only, 1)
    assert [one["event"] for one in box.pending] == kinds


def test_6_2_marketing_materials_come_with_photos_alone(box, hooked):
    placed(hooked, PLAN, ENERGY)
    while box.step():
        pass
    assert "MARKETING_MATERIALS_READY" not in [one["event"] for one in box.pending]


def test_the_autopilot_moves_every_open_order_one_step(box, client):
    first, _ = placed(client, PHOTO, ENERGY)
    second, _ = placed(client, PLAN)
    moved = []
    while count := box.step():
        moved.append(count)
    assert moved == [3, 3, 3, 3]
    assert [status(client, one["id"]) for one in (first, second)] == ["COMPLETED"] * 2


def test_a49_all_that_can_be_are_rescheduled_and_the_proposal_is_kept(box, client):
    order, (first, second, _third) = placed(client, PHOTO, DRONE, PLAN)
    steps(box, first, 1)
    steps(box, second, 2)
    body = {"userId": "101", "proposedAt": "2026-04-01T12:00:00+02:00", "reason": "rain"}
    answer = client.put(f"/v1/orders/{order['id']}/reschedule", json=body)
    assert [one["status"] for one in answer.json()["assignments"]] == [
        *("RESCHEDULE_IN_PROCESS", "RESCHEDULE_IN_PROCESS", "CREATED"),
    ]
    steps(box, second, 2)
    after = client.get(f"/v1/assignments/{second}").json()
    assert after["scheduledAt"] == "2026-04-01T12:00:00+02:00"
    assert after["estimatedDeliveryAt"] == "2026-04-03"


def test_a34_one_assignment_alone_is_rescheduled(box, client):
    order, (first, second) = placed(client, PHOTO, DRONE)
    steps(box, first, 1)
    steps(box, second, 1)
    body = {"userId": "101", "assignmentId": second}
    answer = client.put(f"/v1/orders/{order['id']}/reschedule", json=body)
    assert [one["status"] for one in answer.json()["assignments"]] == [
        *("PHOTOGRAPHER_ASSIGNED", "RESCHEDULE_IN_PROCESS"),
    ]
