"""Pure functions that make a valid event of any kind (§6.3), to test an installation."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from crm_sync.platform import events

# The optional fields of each event (§6.3).
OPTIONAL: dict[str, tuple[str, ...]] = {
    events.VISUALS_READY: ("realEstatePropertyId", "objectReferenceId"),
    events.PHOTOGRAPHER_BOOKED: ("assignmentId",),
    events.ORDER_STATUS_UPDATED: (),
    events.ASSIGNMENT_STATUS_UPDATED: (
        "assignmentType",
        "scheduledAt",
        "estimatedDeliveryAt",
        "actionRequired",
    ),
    events.APPOINTMENT_DATE_UPDATED: ("assignmentType",),
    events.ESTIMATED_DELIVERY_UPDATED: ("assignmentType",),
    events.MARKETING_MATERIALS_READY: (),
}
KINDS = tuple(events.REQUIRED)

# Made-up ids are easy to recognise.
DEFAULTS: dict[str, Any] = {
    "orderId": "TRIAL-ORDER",
    "assignmentId": "TRIAL-ASSIGNMENT",
    "photographerId": "TRIAL-PHOTOGRAPHER",
    "propertyId": "TRIAL-PROPERTY",
    "visualType": "POST",
    "product": "GROUND_PHOTO",
    "targetPlatform": "REAL_ESTATE_BROCHURE",
}
MOVES = {  # the first move of each lifecycle (§3)
    events.ORDER_STATUS_UPDATED: ("PLACED", "IN_PROGRESS"),
    events.ASSIGNMENT_STATUS_UPDATED: ("CREATED", "PHOTOGRAPHER_ASSIGNED"),
}
SHOOTING, DELIVERY = timedelta(days=3), timedelta(days=7)  # after the event
ACTION = ("ACTION_REQUIRED", "POWER_OF_ATTORNEY_REQUIRED")  # a status that names its reason


class NoSuchKind(Exception):
    """The interface has no such event. The message lists the kinds."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"no event {kind!r}; there is: {', '.join(KINDS)}")


def sample(kind: str, *, at: datetime, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of an event as the platform would send it.

    Args:
        kind: an event name of §6.2.
        at: the time of the event, with a time zone.
        fields: values by wire name. Other required fields get made-up values; other optional fields
            are omitted, as on the platform (§2).

    Raises:
        NoSuchKind: the interface has no such event.
    """
    if kind not in events.REQUIRED:
        raise NoSuchKind(kind)
    made_up = DEFAULTS | _of_the_moment(at)
    if kind in MOVES:
        made_up["previousStatus"], made_up["newStatus"] = MOVES[kind]
        if fields.get("newStatus") == ACTION[0]:
            fields = {"actionRequired": ACTION[1], **fields}
    required = {name: made_up[name] for name in events.REQUIRED[kind]}
    return {"event": kind, **required, **fields}


def allowed(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that an event of this kind can have."""
    names = (*events.REQUIRED[kind], *OPTIONAL[kind])
    return {name: fields[name] for name in names if name in fields}


def headers(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that name the event (§6.1 rule 2, A26)."""
    found = {"X-Event-Type": str(payload["event"])}
    return found | ({"X-Order-ID": str(payload["orderId"])} if "orderId" in payload else {})


def _of_the_moment(at: datetime) -> dict[str, Any]:
    moment = stamp(at)
    return {
        "timestamp": moment,
        "occurredAt": moment,
        "scheduledAt": stamp((at + SHOOTING).replace(minute=0, second=0, microsecond=0)),
        "estimatedDeliveryAt": f"{(at + DELIVERY).astimezone(UTC):%Y-%m-%d}",
    }


def stamp(at: datetime) -> str:
    """Return a moment in the format of the platform."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
