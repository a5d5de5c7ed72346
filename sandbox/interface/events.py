"""The seven events (§6.3), field for field; pure.

Optional fields are left out when absent; `scheduledAt` of APPOINTMENT_DATE_UPDATED is the one that
is there as null (§2).
"""

from __future__ import annotations

from sandbox.wire import Document

PLATFORMS = ("REAL_ESTATE_BROCHURE", "INSTAGRAM", "LINKEDIN")
VISUAL_TYPES = ("POST", "POST_WEB", "DOCUMENT", "RAW")


def visuals_ready(order: Document, assignment_id: str, visual: Document, at: str) -> Document:
    """`visual`: the product and its visualType."""
    event = {
        "event": "VISUALS_READY",
        "timestamp": at,
        "orderId": order["id"],
        "assignmentId": assignment_id,
        "visualType": visual["visualType"],
        "product": visual["product"],
        "realEstatePropertyId": order["realEstatePropertyId"],
    }
    return event | _present(order, "objectReferenceId")


def photographer_booked(assignment: Document, at: str) -> Document:
    return {
        "event": "PHOTOGRAPHER_BOOKED",
        "timestamp": at,
        "orderId": assignment["orderId"],
        "photographerId": assignment["photographer"]["id"],
        "assignmentId": assignment["id"],
    }


def order_status(order: Document, previous: str, at: str) -> Document:
    return {
        "event": "ORDER_STATUS_UPDATED",
        "occurredAt": at,
        "orderId": order["id"],
        "previousStatus": previous,
        "newStatus": order["status"],
    }


def assignment_status(assignment: Document, previous: str, at: str) -> Document:
    return {
        "event": "ASSIGNMENT_STATUS_UPDATED",
        "occurredAt": at,
        "orderId": assignment["orderId"],
        "assignmentId": assignment["id"],
        "previousStatus": previous,
        "newStatus": assignment["status"],
        **_present(
            assignment, "assignmentType", "scheduledAt", "estimatedDeliveryAt", "actionRequired"
        ),
    }


def appointment(assignment: Document, at: str) -> Document:
    return {
        "event": "APPOINTMENT_DATE_UPDATED",
        "occurredAt": at,
        "orderId": assignment["orderId"],
        "assignmentId": assignment["id"],
        **_present(assignment, "assignmentType"),
        "scheduledAt": assignment.get("scheduledAt"),
    }


def estimate(assignment: Document, at: str) -> Document:
    return {
        "event": "ESTIMATED_DELIVERY_UPDATED",
        "occurredAt": at,
        "orderId": assignment["orderId"],
        "assignmentId": assignment["id"],
        **_present(assignment, "assignmentType"),
        "estimatedDeliveryAt": assignment["estimatedDeliveryAt"],
    }


def marketing_ready(property_id: str, target_platform: str, at: str) -> Document:
    return {
        "event": "MARKETING_MATERIALS_READY",
        "timestamp": at,
        "propertyId": property_id,
        "targetPlatform": target_platform,
    }


def _present(document: Document, *names: str) -> Document:
    return {name: document[name] for name in names if name in document}
