"""The JSON schemas of bodies, for OpenAPI 3.1.

The schema of a property is made from the field table. Enums are from the sandbox's tables.
"""

from sandbox.faults import rules
from sandbox.interface import catalogue, event_fields, lifecycle, switches
from sandbox.interface.property_fields import PROPERTY, Field
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


def record(names: str = "", /, **members: Document) -> Document:
    """Return the schema of an object with these members. It may have more members (§9).

    `!` marks a required member. A member without a schema here has the schema of its name in
    `TYPES`.
    """
    known = {name: TYPES.get(name, TEXT) for name in names.replace("!", "").split()} | members
    required = [name.removesuffix("!") for name in names.split() if name.endswith("!")]
    described: Document = {"type": "object", "properties": known}
    return described | {"required": required} if required else described


def nullable(schema: Document) -> Document:
    return {"anyOf": [schema, {"type": "null"}]}


def of_field(known: Field, *, reading: bool) -> Document:
    """Return the schema of a property field. In an answer, an enum may be UNKNOWN (§2.4)."""
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
    "datetime": TEXT,  # a timestamp, or only a date
}


def _members(fields: dict[str, Field], *, reading: bool) -> dict[str, Document]:
    return {
        name: of_field(known, reading=True) if reading else nullable(of_field(known, reading=False))
        for name, known in fields.items()
        if reading or known.kind != "read-only"
    }


# The schema of each member by its name. All other members are texts.
TYPES: dict[str, Document] = {
    **dict.fromkeys(("createdAt", "updatedAt", "modifiedAt", "expiresAt", "triggeredAt"), MOMENT),
    **dict.fromkeys(("lastTriggeredAt", "timestamp", "occurredAt", "scheduledAt"), MOMENT),
    **dict.fromkeys(("proposedAt", "now"), MOMENT),
    "estimatedDeliveryAt": DAY,
    **dict.fromkeys(("url", "thumbnailUrl"), ADDRESS),
    **dict.fromkeys(("enabled", "hasAuthSecret", "success", "first", "last"), FLAG),
    **dict.fromkeys(("totalElements", "totalPages", "statusCode", "size", "seed"), WHOLE),
    "amount": NUMBER,
    "payload": ANY,
    "headers": {"type": "object", "additionalProperties": TEXT},
    "method": one_of(*callbacks.METHODS),
    "authType": one_of(*callbacks.AUTH_TYPES),
    "actionRequired": one_of(*lifecycle.ACTIONS),
    "visualType": one_of(*event_fields.VISUAL_TYPES),
    "targetPlatform": one_of(*event_fields.PLATFORMS),
    "quantity": {"type": "integer", "minimum": 1, "maximum": 100},
}


def _page(item: str) -> Document:
    return record("content! totalElements! totalPages! first! last!", content=listed(ref(item)))


_USER = "userId userReferenceId"
_PERSON = "userReferenceId email name language phone country"
_WEBHOOK = "method enabled authType authHeaderName authParameterName"
_PARTS = " ".join(f"{part}!" for part in catalogue.INSTRUCTIONS)
_LINES = listed(record("id! quantity"))
_OPTIONS = listed(record("id! label!"))
_ASSIGNMENT_STATUSES = list(dict.fromkeys((*lifecycle.PHOTO_MOVES, *lifecycle.DOCUMENT_MOVES)))
_POSITIONS = {one.name: one_of(*one.positions) for one in switches.SWITCHES.values()}

# §6.3
EVENTS: dict[str, Document] = {
    name: record(names, event={"const": name}) for name, names in event_fields.FIELDS.items()
}
EVENTS["APPOINTMENT_DATE_UPDATED"]["properties"]["scheduledAt"] = nullable(MOMENT)

SCHEMAS: dict[str, Document] = {
    "object": ANY,
    "Error": record(
        "status! error! message! errors!",
        status=WHOLE,
        errors=listed(record("field! message!")),
    ),
    # §2.4
    "Property": record("id!", **_members(PROPERTY, reading=True) | {"id": TEXT}),
    "PropertyChanges": record(**_members(PROPERTY, reading=False)),
    "PropertyItem": record(
        "id! title propertyType objectReferenceId",
        address=of_field(PROPERTY["address"], reading=True),
    ),
    "PropertyPage": _page("PropertyItem"),
    # §2.5
    "User": record(f"id! {_PERSON}"),
    "UserRequest": record(_PERSON),
    "UserPage": _page("User"),
    # §4.3
    "SessionRequest": record(f"{_USER} realEstatePropertyId objectReferenceId"),
    "Session": record("id! expiresAt! userId! realEstatePropertyId! objectReferenceId"),
    "Products": record(
        "products!",
        products=listed(
            record(
                "id! product! name! kind! price!",
                kind=one_of(*dict.fromkeys(one.kind for one in catalogue.PRODUCTS)),
                price=record("amount! currency!"),
            )
        ),
    ),
    "InstructionsRequest": record("products!", products=_LINES),
    "Instructions": record(_PARTS, **dict.fromkeys(catalogue.INSTRUCTIONS, _OPTIONS)),
    "OrderRequest": record(
        "sessionId! products! instructions!", products=_LINES, instructions=record(_PARTS)
    ),
    # §4.4
    "RescheduleRequest": record(f"{_USER} assignmentId proposedAt reason"),
    "CancelRequest": record(f"{_USER} reason"),
    # §4.5; a status may be one that this version does not list (A28).
    "Order": record(
        "id! status! createdAt! userId! realEstatePropertyId! objectReferenceId assignments!",
        status=one_of(*lifecycle.ORDER_MOVES),
        assignments=listed(ref("Assignment")),
    ),
    "Assignment": record(
        "id! orderId! assignmentType status! products! scheduledAt estimatedDeliveryAt"
        " actionRequired",
        status=TEXT | {"examples": _ASSIGNMENT_STATUSES},
        products=listed(TEXT),
        photographer=record("id! name! email phone"),
    ),
    "Assignments": listed(ref("Assignment")),
    "Materials": record(
        "materials!",
        materials=listed(
            record("id! product! visualType! fileName mimeType size url! thumbnailUrl modifiedAt!")
        ),
    ),
    "MarketingMaterials": record(
        "marketingMaterials!",
        marketingMaterials=listed(
            record("id! targetPlatform! fileName! mimeType! url! createdAt!")
        ),
    ),
    # §2.1, §4.1
    "WebhookRequest": record(f"url! {_WEBHOOK} authSecret"),
    "Webhook": record(
        "id! url! method! enabled! authType! authHeaderName authParameterName hasAuthSecret!"
        " createdAt! updatedAt! lastTriggeredAt"
    ),
    "Enabled": record("enabled!"),
    # §2.2
    "Triggers": listed(
        record("id! triggeredAt! payload! headers statusCode responseBody errorMessage success!")
    ),
    # §6.3
    "Event": {"oneOf": [ref(name) for name in EVENTS]},
    **EVENTS,
    # A6
    "TokenRequest": record("clientId! secret!"),
    "Token": record("token!"),
    # A53
    "Faults": record(
        "seed",
        rules=listed(
            record(
                "fault! path event field",
                fault=one_of(*sorted(rules.FAULTS)),
                chance={"type": "number", "minimum": 0, "maximum": 1},
                times=nullable(WHOLE),
                method=TEXT,
                seconds={"type": "number", "minimum": 0, "maximum": 3600},
            )
        ),
    ),
    "Positions": record(platform=one_of(*switches.PLATFORMS), **_POSITIONS),
    "Switches": record(
        "platforms! switches!",
        platforms=listed(TEXT),
        switches=listed(
            record("name! rule! positions! decides! now!", positions=listed(TEXT), now=TEXT)
        ),
    ),
    "Clock": record("now!"),
    "Status": record("status!", status=TEXT | {"pattern": "^[A-Z][A-Z0-9_]{0,63}$"}),
    "Appointment": record("scheduledAt!", scheduledAt=nullable(MOMENT)),
    "Estimate": record("estimatedDeliveryAt!"),
    "Visuals": record("visualType product quantity"),
    "Selection": record("quantity"),
    "Marketing": record("targetPlatform"),
}
