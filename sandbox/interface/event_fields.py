"""Pure: the seven events (§6.3), field by field.

Absent optional fields are left out. Only `scheduledAt` of APPOINTMENT_DATE_UPDATED may be null
(§2).
"""

from sandbox.wire import Document

PLATFORMS = ("REAL_ESTATE_BROCHURE", "INSTAGRAM", "LINKEDIN")
VISUAL_TYPES = ("POST", "POST_WEB", "DOCUMENT", "RAW")

# The fields of each event; `!` marks a required one.
FIELDS = {
    "VISUALS_READY": "event! timestamp! orderId! assignmentId! visualType! product!"
    " realEstatePropertyId objectReferenceId",
    "PHOTOGRAPHER_BOOKED": "event! timestamp! orderId! photographerId! assignmentId",
    "ORDER_STATUS_UPDATED": "event! occurredAt! orderId! previousStatus! newStatus!",
    "ASSIGNMENT_STATUS_UPDATED": "event! occurredAt! orderId! assignmentId! previousStatus!"
    " newStatus! assignmentType scheduledAt estimatedDeliveryAt actionRequired",
    "APPOINTMENT_DATE_UPDATED": "event! occurredAt! orderId! assignmentId! assignmentType"
    " scheduledAt!",
    "ESTIMATED_DELIVERY_UPDATED": "event! occurredAt! orderId! assignmentId! assignmentType"
    " estimatedDeliveryAt!",
    "MARKETING_MATERIALS_READY": "event! timestamp! propertyId! targetPlatform!",
}


def event(name: str, at: str, known: Document) -> Document:
    """Return an event at a time, with all of its fields that are known."""
    known = known | {"event": name, "timestamp": at, "occurredAt": at}
    fields = ((one.removesuffix("!"), one.endswith("!")) for one in FIELDS[name].split())
    return {field: known[field] for field, required in fields if required or field in known}


def of_order(order: Document) -> Document:
    """Return an order under the field names of its events."""
    return order | {"orderId": order["id"], "newStatus": order["status"]}


def of_assignment(assignment: Document) -> Document:
    """Return an assignment under the field names of its events."""
    return assignment | {"assignmentId": assignment["id"], "newStatus": assignment["status"]}
