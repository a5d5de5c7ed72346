"""The sample of each kind is what the platform sends, by the sandbox's own account (§6.3)."""

from datetime import UTC, datetime

import pytest

from crm_sync.platform import events
from crm_sync.webhook import sample_events
from sandbox.api.schemas import EVENTS
from sandbox.interface import event_fields as platform
from tests.sandbox.schema_check import wrong

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
STAMP = "2026-03-01T12:30:00Z"
ORDER = {
    "id": "TRIAL-ORDER",
    "status": "IN_PROGRESS",
    "realEstatePropertyId": "201",
    "objectReferenceId": "A-1",
}
ASSIGNMENT = {
    "id": "TRIAL-ASSIGNMENT",
    "orderId": "TRIAL-ORDER",
    "status": "PHOTOGRAPHER_ASSIGNED",
    "photographer": {"id": "TRIAL-PHOTOGRAPHER"},
    "assignmentType": "GROUND_PHOTO",
    "scheduledAt": "2026-03-04T12:00:00Z",
    "estimatedDeliveryAt": "2026-03-08",
    "actionRequired": "POWER_OF_ATTORNEY_REQUIRED",
}
OPTIONS = {name: ASSIGNMENT[name] for name in ("assignmentType", "scheduledAt", "actionRequired")}
OPTIONS |= {"estimatedDeliveryAt": "2026-03-08", "assignmentId": "TRIAL-ASSIGNMENT"}
OPTIONS |= {name: ORDER[name] for name in ("realEstatePropertyId", "objectReferenceId")}
VISUAL = {"product": "GROUND_PHOTO", "visualType": "POST"}
OF_ORDER = platform.of_order(ORDER) | {"previousStatus": "PLACED"}
OF_ASSIGNMENT = platform.of_assignment(ASSIGNMENT) | {"previousStatus": "CREATED"}
KNOWN = {
    "VISUALS_READY": OF_ORDER | VISUAL | {"assignmentId": "TRIAL-ASSIGNMENT"},
    "PHOTOGRAPHER_BOOKED": OF_ASSIGNMENT | {"photographerId": "TRIAL-PHOTOGRAPHER"},
    "ORDER_STATUS_UPDATED": OF_ORDER,
    "ASSIGNMENT_STATUS_UPDATED": OF_ASSIGNMENT,
    "APPOINTMENT_DATE_UPDATED": OF_ASSIGNMENT,
    "ESTIMATED_DELIVERY_UPDATED": OF_ASSIGNMENT,
    "MARKETING_MATERIALS_READY": {
        "propertyId": "TRIAL-PROPERTY",
        "targetPlatform": "REAL_ESTATE_BROCHURE",
    },
}
SENT = [platform.event(name, STAMP, known) for name, known in KNOWN.items()]


def test_there_is_a_sample_of_each_kind_that_the_sandbox_sends():
    assert {event["event"] for event in SENT} == set(sample_events.KINDS) == set(EVENTS)


@pytest.mark.parametrize("sent", SENT, ids=lambda event: event["event"])
def test_a_full_sample_is_the_event_that_the_sandbox_sends(sent):
    fields = sample_events.allowed(sent["event"], OPTIONS)
    assert sample_events.sample(sent["event"], at=AT, fields=fields) == sent


@pytest.mark.parametrize("kind", sample_events.KINDS)
def test_a_bare_sample_fits_the_schema_and_is_understood(kind):
    bare = sample_events.sample(kind, at=AT, fields={})
    assert wrong(bare, EVENTS[kind]) == []
    assert bare.keys() == {"event", *events.REQUIRED[kind]}


def test_a_status_that_needs_a_reason_gets_one_and_null_stays_null():
    kind = events.ASSIGNMENT_STATUS_UPDATED
    event = sample_events.sample(kind, at=AT, fields={"newStatus": "ACTION_REQUIRED"})
    assert event["actionRequired"] == "POWER_OF_ATTORNEY_REQUIRED"
    event = sample_events.sample(
        events.APPOINTMENT_DATE_UPDATED, at=AT, fields={"scheduledAt": None}
    )
    assert event["scheduledAt"] is None


def test_an_unknown_kind_names_those_that_there_are():
    with pytest.raises(sample_events.NoSuchKind) as caught:
        sample_events.sample("ORDER_ARCHIVED", at=AT, fields={})
    assert str(caught.value) == (
        "no event 'ORDER_ARCHIVED'; there is: VISUALS_READY, PHOTOGRAPHER_BOOKED,"
        " ORDER_STATUS_UPDATED, ASSIGNMENT_STATUS_UPDATED, APPOINTMENT_DATE_UPDATED,"
        " ESTIMATED_DELIVERY_UPDATED, MARKETING_MATERIALS_READY"
    )
