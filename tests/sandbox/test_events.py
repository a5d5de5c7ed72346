"""The seven events (§6.3), field for field."""

from __future__ import annotations

import pytest

NOW = "2026-03-02T08:30:00.000000Z"


@pytest.fixture
def photo(hooked, box):
    order = hooked.order("11")
    return order["id"], order["assignments"][0]["id"]


def told(box, kind):
    return [one for one in box.pending if one["event"] == kind]


def test_6_3_visuals_ready(box, photo):
    order_id, assignment_id = photo
    box.set_status(assignment_id, "DELIVERED")
    assert told(box, "VISUALS_READY") == [
        {
            "event": "VISUALS_READY",
            "timestamp": NOW,
            "orderId": order_id,
            "assignmentId": assignment_id,
            "visualType": "POST",
            "product": "GROUND_PHOTO",
            "realEstatePropertyId": "201",
            "objectReferenceId": "SEED-1",
        }
    ]


def test_6_3_visuals_ready_of_a_document_without_a_reference(box, hooked):
    del box.workspace.properties["201"]["objectReferenceId"]
    assignment = hooked.order("18")["assignments"][0]
    box.set_status(assignment["id"], "DELIVERED")
    assert told(box, "VISUALS_READY") == [
        {
            "event": "VISUALS_READY",
            "timestamp": NOW,
            "orderId": assignment["orderId"],
            "assignmentId": assignment["id"],
            "visualType": "DOCUMENT",
            "product": "LAND_REGISTER_EXTRACT",
            "realEstatePropertyId": "201",
        }
    ]


def test_6_3_photographer_booked(box, photo):
    order_id, assignment_id = photo
    box.advance(assignment_id)
    assert told(box, "PHOTOGRAPHER_BOOKED") == [
        {
            "event": "PHOTOGRAPHER_BOOKED",
            "timestamp": NOW,
            "orderId": order_id,
            "photographerId": "51",
            "assignmentId": assignment_id,
        }
    ]


def test_6_3_order_status_updated(box, photo):
    order_id, assignment_id = photo
    box.advance(assignment_id)
    assert told(box, "ORDER_STATUS_UPDATED") == [
        {
            "event": "ORDER_STATUS_UPDATED",
            "occurredAt": NOW,
            "orderId": order_id,
            "previousStatus": "PLACED",
            "newStatus": "IN_PROGRESS",
        }
    ]


def test_6_3_assignment_status_updated(box, photo):
    order_id, assignment_id = photo
    box.advance(assignment_id)
    common = {
        "event": "ASSIGNMENT_STATUS_UPDATED",
        "occurredAt": NOW,
        "orderId": order_id,
        "assignmentId": assignment_id,
        "assignmentType": "PHOTO",
    }
    assert told(box, "ASSIGNMENT_STATUS_UPDATED") == [
        common | {"previousStatus": "CREATED", "newStatus": "PHOTOGRAPHER_ASSIGNED"}
    ]
    box.pending.clear()
    box.advance(assignment_id)
    assert told(box, "ASSIGNMENT_STATUS_UPDATED") == [
        common
        | {
            "previousStatus": "PHOTOGRAPHER_ASSIGNED",
            "newStatus": "SCHEDULED",
            "scheduledAt": "2026-03-04T09:00:00.000000Z",
            "estimatedDeliveryAt": "2026-03-06",
        }
    ]


def test_6_3_assignment_status_updated_carries_the_action_that_is_required(box, hooked):
    assignment = hooked.order("17")["assignments"][0]
    box.advance(assignment["id"])
    assert list(box.pending) == [
        {
            "event": "ASSIGNMENT_STATUS_UPDATED",
            "occurredAt": NOW,
            "orderId": assignment["orderId"],
            "assignmentId": assignment["id"],
            "previousStatus": "CREATED",
            "newStatus": "ACTION_REQUIRED",
            "assignmentType": "DOCUMENT",
            "actionRequired": "DOCUMENT_UPLOAD_REQUIRED",
        }
    ]


def test_6_3_appointment_date_updated_and_its_explicit_null(box, photo):
    order_id, assignment_id = photo
    box.set_appointment(assignment_id, "2026-03-05T10:00:00Z")
    box.set_appointment(assignment_id, "2026-03-05T10:00:00Z")
    box.set_appointment(assignment_id, None)
    common = {
        "event": "APPOINTMENT_DATE_UPDATED",
        "occurredAt": NOW,
        "orderId": order_id,
        "assignmentId": assignment_id,
        "assignmentType": "PHOTO",
    }
    assert list(box.pending) == [
        common | {"scheduledAt": "2026-03-05T10:00:00Z"},
        common | {"scheduledAt": None},
    ]
    assert "scheduledAt" not in box.workspace.assignments[assignment_id]


def test_6_3_a_reschedule_clears_the_appointment(box, hooked, photo):
    order_id, assignment_id = photo
    box.set_status(assignment_id, "SCHEDULED")
    box.pending.clear()
    hooked.put(f"/v1/orders/{order_id}/reschedule", json={"userId": "101"})
    assert [(one["event"], one.get("scheduledAt", "absent")) for one in box.pending] == [
        ("ASSIGNMENT_STATUS_UPDATED", "absent"),
        ("APPOINTMENT_DATE_UPDATED", None),
    ]


def test_6_3_estimated_delivery_updated(box, photo):
    order_id, assignment_id = photo
    box.set_estimate(assignment_id, "2026-03-11")
    box.set_estimate(assignment_id, "2026-03-11")
    assert list(box.pending) == [
        {
            "event": "ESTIMATED_DELIVERY_UPDATED",
            "occurredAt": NOW,
            "orderId": order_id,
            "assignmentId": assignment_id,
            "assignmentType": "PHOTO",
            "estimatedDeliveryAt": "2026-03-11",
        }
    ]


@pytest.mark.parametrize("target", ["REAL_ESTATE_BROCHURE", "INSTAGRAM", "LINKEDIN"])
def test_6_3_marketing_materials_ready(box, hooked, target):
    box.marketing_ready("201", target)
    assert list(box.pending) == [
        {
            "event": "MARKETING_MATERIALS_READY",
            "timestamp": NOW,
            "propertyId": "201",
            "targetPlatform": target,
        }
    ]


def test_2_all_ids_in_payloads_are_strings(box, hooked):
    hooked.order("11", "12", "13", "17")
    while box.step():
        pass
    ids = [
        value
        for one in box.pending
        for name, value in one.items()
        if name.endswith("Id") and name != "objectReferenceId"
    ]
    assert len(ids) > 30
    assert {type(one) for one in ids} == {str}


def test_6_1_rule_6_timestamp_is_when_it_was_sent(box, hooked, clock, callback):
    rules = [{"fault": "DELAYED", "seconds": 600, "times": 1}, {"fault": "REPEATED"}]
    hooked.post("/_sandbox/faults", json={"rules": rules})
    box.marketing_ready("201", "LINKEDIN")
    box.marketing_ready("201", "INSTAGRAM")
    clock.move(minutes=5)
    box.deliver()
    clock.move(minutes=10)
    box.deliver()
    told = [(one["targetPlatform"], one["timestamp"][11:16]) for one in callback.events]
    assert told == [("INSTAGRAM", "08:35"), ("INSTAGRAM", "08:35"), ("LINKEDIN", "08:45")]
    assert box.workspace.history[-1]["payload"] == callback.events[-1]


def test_6_1_an_event_belongs_to_its_moment_whenever_it_is_sent(box, photo, clock, callback):
    _, assignment_id = photo
    box.nudge(assignment_id)
    clock.move(minutes=5)
    assert box.deliver() == 1
    assert callback.events[0]["occurredAt"] == NOW
    assert box.workspace.history[0]["triggeredAt"] == "2026-03-02T08:35:00.000000Z"
