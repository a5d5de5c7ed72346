"""The JSON schemas of what goes over the wire, as OpenAPI 3.1 takes them.

The property is made of the field table, enums come from the tables that the sandbox runs on.
"""

from __future__ import annotations

from sandbox.faults import rules
from sandbox.interface import catalogue, events, lifecycle
from sandbox.interface.fields import PROPERTY, Field
from sandbox.state import callbacks
from sandbox.wire import Document

TEXT: Document = {"type": "string"}
NUMBER: Document = {"type": "number"}
WHOLE: Document = {"type": "integer"}
FLAG: Document = {"type": "boolean"}
DAY: Document = {"type": "string", "format": "date"}
MOMENT: Document = {"type": "string", "format": "date-time"}
ADDRESS: Document = {"type": "string", "format": "uri"}
ANY: Document = {"type": "object"}


def ref(name: str) -> Document:
    return {"$ref": f"#/components/schemas/{name}"}


def listed(item: Document) -> Document:
    return {"type": "array", "items": item}


def one_of(*values: str) -> Document:
    return {"type": "string", "enum": list(values)}


def record(required: str = "", /, **members: Document) -> Document:
    """An object; `required` are names with blanks between. Other members may be there too (§9)."""
    known: Document = {"type": "object", "properties": members}
    return known | {"required": required.split()} if required else known


def nullable(schema: Document) -> Document:
    return {"anyOf": [schema, {"type": "null"}]}


def of_field(known: Field, *, reading: bool) -> Document:
    """The schema of a property field; read, an enum may be UNKNOWN (§2.4)."""
    match known.kind:
        case "text":
            return TEXT | ({"maxLength": known.limit} if known.limit else {})
        case "enum" | "enums":
            values = known.values | {"UNKNOWN"} if reading else known.values
            kinds = one_of(*sorted(values))
            return listed(kinds) if known.kind == "enums" else kinds
        case "object" | "merged":
            return record(**_members(known.members, reading=reading))
        case "list":
            return listed(record(**_members(known.members, reading=reading)))
        case "map":
            return {"type": "object", "additionalProperties": TEXT}
    return _PLAIN.get(known.kind, {})


_PLAIN = {
    "decimal": NUMBER,
    "integer": WHOLE,
    "boolean": FLAG,
    "date": DAY,
    "datetime": TEXT,  # a timestamp, or a date alone
}


def _members(fields: dict[str, Field], *, reading: bool) -> dict[str, Document]:
    return {
        name: of_field(known, reading=True) if reading else nullable(of_field(known, reading=False))
        for name, known in fields.items()
        if reading or known.kind != "read-only"
    }


def _page(item: str) -> Document:
    return record(
        "content totalElements totalPages first last",
        content=listed(ref(item)),
        totalElements=WHOLE,
        totalPages=WHOLE,
        first=FLAG,
        last=FLAG,
    )


_USER = {"userId": TEXT, "userReferenceId": TEXT}
_LINES = listed(record("id", id=TEXT, quantity={"type": "integer", "minimum": 1, "maximum": 100}))
_OPTIONS = listed(record("id label", id=TEXT, label=TEXT))
_WEBHOOK = {
    "url": ADDRESS,
    "method": one_of(*callbacks.METHODS),
    "enabled": FLAG,
    "authType": one_of(*callbacks.AUTH_TYPES),
    "authHeaderName": TEXT,
    "authParameterName": TEXT,
}
_PERSON = dict.fromkeys(("userReferenceId", "email", "name", "language", "phone", "country"), TEXT)

_ORDER = {"orderId": TEXT, "assignmentId": TEXT}
_STATUSES = {"previousStatus": TEXT, "newStatus": TEXT}


def _event(name: str, required: str, **members: Document) -> Document:
    return record(f"event {required}", event={"const": name}, **members)


# §6.3, row by row
EVENTS: dict[str, Document] = {
    "VISUALS_READY": _event(
        "VISUALS_READY",
        "timestamp orderId assignmentId visualType product",
        timestamp=MOMENT,
        **_ORDER,
        visualType=one_of(*events.VISUAL_TYPES),
        product=TEXT,
        realEstatePropertyId=TEXT,
        objectReferenceId=TEXT,
    ),
    "PHOTOGRAPHER_BOOKED": _event(
        "PHOTOGRAPHER_BOOKED",
        "timestamp orderId photographerId",
        timestamp=MOMENT,
        **_ORDER,
        photographerId=TEXT,
    ),
    "ORDER_STATUS_UPDATED": _event(
        "ORDER_STATUS_UPDATED",
        "occurredAt orderId previousStatus newStatus",
        occurredAt=MOMENT,
        orderId=TEXT,
        **_STATUSES,
    ),
    "ASSIGNMENT_STATUS_UPDATED": _event(
        "ASSIGNMENT_STATUS_UPDATED",
        "occurredAt orderId assignmentId previousStatus newStatus",
        occurredAt=MOMENT,
        **_ORDER,
        **_STATUSES,
        assignmentType=TEXT,
        scheduledAt=MOMENT,
        estimatedDeliveryAt=DAY,
        actionRequired=one_of(*lifecycle.ACTIONS),
    ),
    "APPOINTMENT_DATE_UPDATED": _event(
        "APPOINTMENT_DATE_UPDATED",
        "occurredAt orderId assignmentId scheduledAt",
        occurredAt=MOMENT,
        **_ORDER,
        assignmentType=TEXT,
        scheduledAt=nullable(MOMENT),
    ),
    "ESTIMATED_DELIVERY_UPDATED": _event(
        "ESTIMATED_DELIVERY_UPDATED",
        "occurredAt orderId assignmentId estimatedDeliveryAt",
        occurredAt=MOMENT,
        **_ORDER,
        assignmentType=TEXT,
        estimatedDeliveryAt=DAY,
    ),
    "MARKETING_MATERIALS_READY": _event(
        "MARKETING_MATERIALS_READY",
        "timestamp propertyId targetPlatform",
        timestamp=MOMENT,
        propertyId=TEXT,
        targetPlatform=one_of(*events.PLATFORMS),
    ),
}

SCHEMAS: dict[str, Document] = {
    "object": ANY,
    "Error": record(
        "status error message errors",
        status=WHOLE,
        error=TEXT,
        message=TEXT,
        errors=listed(record("field message", field=TEXT, message=TEXT)),
    ),
    # §2.4
    "Property": record("id", **_members(PROPERTY, reading=True) | {"id": TEXT}),
    "PropertyChanges": record(**_members(PROPERTY, reading=False)),
    "PropertyItem": record(
        "id",
        id=TEXT,
        title=TEXT,
        propertyType=TEXT,
        address=of_field(PROPERTY["address"], reading=True),
        objectReferenceId=TEXT,
    ),
    "PropertyPage": _page("PropertyItem"),
    # §2.5
    "User": record("id", id=TEXT, **_PERSON),
    "UserRequest": record(**_PERSON),
    "UserPage": _page("User"),
    # §4.3
    "SessionRequest": record(**_USER, realEstatePropertyId=TEXT, objectReferenceId=TEXT),
    "Session": record(
        "id expiresAt userId realEstatePropertyId",
        id=TEXT,
        expiresAt=MOMENT,
        userId=TEXT,
        realEstatePropertyId=TEXT,
        objectReferenceId=TEXT,
    ),
    "Products": record(
        "products",
        products=listed(
            record(
                "id product name kind price",
                id=TEXT,
                product=TEXT,
                name=TEXT,
                kind=one_of(*dict.fromkeys(one.kind for one in catalogue.PRODUCTS)),
                price=record("amount currency", amount=NUMBER, currency=TEXT),
            )
        ),
    ),
    "InstructionsRequest": record("products", products=_LINES),
    "Instructions": record(
        " ".join(catalogue.INSTRUCTIONS), **dict.fromkeys(catalogue.INSTRUCTIONS, _OPTIONS)
    ),
    "OrderRequest": record(
        "sessionId products instructions",
        sessionId=TEXT,
        products=_LINES,
        instructions=record(
            " ".join(catalogue.INSTRUCTIONS), **dict.fromkeys(catalogue.INSTRUCTIONS, TEXT)
        ),
    ),
    # §4.4
    "RescheduleRequest": record(**_USER, assignmentId=TEXT, proposedAt=MOMENT, reason=TEXT),
    "CancelRequest": record(**_USER, reason=TEXT),
    # §4.5; a status may be one that this version does not list (A28).
    "Order": record(
        "id status createdAt userId realEstatePropertyId assignments",
        id=TEXT,
        status=one_of(*lifecycle.ORDER_MOVES),
        createdAt=MOMENT,
        userId=TEXT,
        realEstatePropertyId=TEXT,
        objectReferenceId=TEXT,
        assignments=listed(ref("Assignment")),
    ),
    "Assignment": record(
        "id orderId status products",
        id=TEXT,
        orderId=TEXT,
        assignmentType=TEXT,
        status=TEXT
        | {"examples": list(dict.fromkeys((*lifecycle.PHOTO_MOVES, *lifecycle.DOCUMENT_MOVES)))},
        products=listed(TEXT),
        photographer=record("id name", id=TEXT, name=TEXT, email=TEXT, phone=TEXT),
        scheduledAt=MOMENT,
        estimatedDeliveryAt=DAY,
        actionRequired=one_of(*lifecycle.ACTIONS),
    ),
    "Assignments": listed(ref("Assignment")),
    "Materials": record(
        "materials",
        materials=listed(
            record(
                "id product visualType url modifiedAt",
                id=TEXT,
                product=TEXT,
                visualType=one_of(*events.VISUAL_TYPES),
                fileName=TEXT,
                mimeType=TEXT,
                size=WHOLE,
                url=ADDRESS,
                thumbnailUrl=ADDRESS,
                modifiedAt=MOMENT,
            )
        ),
    ),
    "MarketingMaterials": record(
        "marketingMaterials",
        marketingMaterials=listed(
            record(
                "id targetPlatform fileName mimeType url createdAt",
                id=TEXT,
                targetPlatform=one_of(*events.PLATFORMS),
                fileName=TEXT,
                mimeType=TEXT,
                url=ADDRESS,
                createdAt=MOMENT,
            )
        ),
    ),
    # §2.1, §4.1
    "WebhookRequest": record("url", **_WEBHOOK, authSecret=TEXT),
    "Webhook": record(
        "id url method enabled authType hasAuthSecret createdAt updatedAt",
        id=TEXT,
        **_WEBHOOK,
        hasAuthSecret=FLAG,
        createdAt=MOMENT,
        updatedAt=MOMENT,
        lastTriggeredAt=MOMENT,
    ),
    "Enabled": record("enabled", enabled=FLAG),
    # §2.2
    "Triggers": listed(
        record(
            "id triggeredAt payload success",
            id=TEXT,
            triggeredAt=MOMENT,
            payload=ANY,
            headers={"type": "object", "additionalProperties": TEXT},
            statusCode=WHOLE,
            responseBody=TEXT,
            errorMessage=TEXT,
            success=FLAG,
        )
    ),
    # §6.3
    "Event": {"oneOf": [ref(name) for name in EVENTS]},
    **EVENTS,
    # A6
    "TokenRequest": record("clientId secret", clientId=TEXT, secret=TEXT),
    "Token": record("token", token=TEXT),
    # A53
    "Faults": record(
        seed=WHOLE,
        rules=listed(
            record(
                "fault",
                fault=one_of(*sorted(rules.ANSWERS | rules.CALLBACKS)),
                chance={"type": "number", "minimum": 0, "maximum": 1},
                times=nullable(WHOLE),
                method=TEXT,
                path=TEXT,
                event=TEXT,
                field=TEXT,
                seconds={"type": "number", "minimum": 0, "maximum": 3600},
            )
        ),
    ),
    "Clock": record("now", now=MOMENT),
    "Status": record("status", status=TEXT | {"pattern": "^[A-Z][A-Z0-9_]{0,63}$"}),
    "Appointment": record("scheduledAt", scheduledAt=nullable(MOMENT)),
    "Estimate": record("estimatedDeliveryAt", estimatedDeliveryAt=DAY),
    "Marketing": record(targetPlatform=one_of(*events.PLATFORMS)),
}
