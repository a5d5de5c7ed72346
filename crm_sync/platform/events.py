"""Pure: turn the raw bytes of a callback into an event (§6). Tolerant, and drops no field."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any

from crm_sync.platform import references
from crm_sync.text import clean, plain

VISUALS_READY = "VISUALS_READY"
PHOTOGRAPHER_BOOKED = "PHOTOGRAPHER_BOOKED"
ORDER_STATUS_UPDATED = "ORDER_STATUS_UPDATED"
ASSIGNMENT_STATUS_UPDATED = "ASSIGNMENT_STATUS_UPDATED"
APPOINTMENT_DATE_UPDATED = "APPOINTMENT_DATE_UPDATED"
ESTIMATED_DELIVERY_UPDATED = "ESTIMATED_DELIVERY_UPDATED"
MARKETING_MATERIALS_READY = "MARKETING_MATERIALS_READY"

# §6.3: the fields that an event needs; all others are optional.
REQUIRED: dict[str, tuple[str, ...]] = {
    VISUALS_READY: ("timestamp", "orderId", "assignmentId", "visualType", "product"),
    PHOTOGRAPHER_BOOKED: ("timestamp", "orderId", "photographerId"),
    ORDER_STATUS_UPDATED: ("occurredAt", "orderId", "previousStatus", "newStatus"),
    ASSIGNMENT_STATUS_UPDATED: (
        "occurredAt",
        "orderId",
        "assignmentId",
        "previousStatus",
        "newStatus",
    ),
    APPOINTMENT_DATE_UPDATED: ("occurredAt", "orderId", "assignmentId", "scheduledAt"),
    ESTIMATED_DELIVERY_UPDATED: ("occurredAt", "orderId", "assignmentId", "estimatedDeliveryAt"),
    MARKETING_MATERIALS_READY: ("timestamp", "propertyId", "targetPlatform"),
}
# A later version of the platform may send kinds that we do not know. With an order id, such an
# event means that the order has changed (§9).
OTHER = "*"
OF_OTHERS = ("orderId",)
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)
# Each moment between them can be shown in every zone, and lasts an hour in a calendar.
FIRST = datetime(1, 1, 3, tzinfo=UTC)
LAST = datetime(9999, 12, 29, tzinfo=UTC)
IDS = frozenset({"orderId", "assignmentId", "propertyId", "photographerId"})
ABOUT = 200  # characters of `NotUnderstood.about`
DEPTH_LIMIT = 100  # levels; printing or digesting a deeper value would fail
JSON_NAMES = {
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
NULLABLE = frozenset({"scheduledAt"})  # §6.3: the only field that may be an explicit null
# The first status has no previous one. An empty moment gets a better message from `read_moment`.
MAY_BE_EMPTY = frozenset(
    {"previousStatus", "timestamp", "occurredAt", "scheduledAt", "estimatedDeliveryAt"}
)


class Fault(StrEnum):
    """Why we do not know an event, or cannot read a value."""

    NOT_JSON = "NOT_JSON"
    NOT_UTF8 = "NOT_UTF8"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    TOO_DEEP = "TOO_DEEP"
    UNKNOWN_EVENT = "UNKNOWN_EVENT"
    MISSING = "MISSING"
    TOO_LONG = "TOO_LONG"
    NOT_A_TEXT = "NOT_A_TEXT"
    NOT_A_TIMESTAMP = "NOT_A_TIMESTAMP"
    NOT_A_DATE = "NOT_A_DATE"
    NOT_A_PERSON = "NOT_A_PERSON"


class NotUnderstood(Exception):
    """The bytes are not an event that we know. The message explains why to a person.

    Attributes:
        fault, about: equal for all errors with the same cause. `about` names an event or a field,
            or is "" if `fault` is enough.
    """

    def __init__(self, text: str, fault: Fault, about: str = "") -> None:
        super().__init__(text[:200])
        self.fault, self.about = fault, about


@dataclass(frozen=True)
class Event:
    """One event of §6.3.

    Attributes:
        kind: the event name, from `event` in the body, not from the header (A27).
        at: `occurredAt` or `timestamp`, aware; UTC if it has no offset (A52).
        digest: of the canonical JSON. It orders events with the same `at` everywhere in one way.
        fields: the whole payload, unknown members included.
    """

    kind: str
    at: datetime
    digest: str
    fields: dict[str, Any]

    def text(self, name: str) -> str:
        """Return a field as a string, ids too (A7); "" when it is absent, null or not a text."""
        return plain(self.fields.get(name))

    @property
    def is_known(self) -> bool:
        """Whether its kind is one of §6.2."""
        return self.kind in REQUIRED

    def requires(self, name: str) -> bool:
        """Return whether events of this kind must have this field."""
        return name in REQUIRED.get(self.kind, OF_OTHERS)

    def moment(self, name: str) -> datetime | None:
        """Return a timestamp field, None when it is null or absent."""
        value = self.fields.get(name)
        return None if value is None else read_moment(name, value)

    def day(self, name: str) -> date | None:
        """Return a date-only field, None when it is null or absent."""
        value = self.fields.get(name)
        return None if value is None else read_day(name, value)


def parse(body: bytes) -> Event:
    """Read one event from the raw bytes of a callback.

    An event of an unknown kind is accepted if it names an order.

    Raises:
        NotUnderstood: not a JSON object, an unknown event without an order, or a required field
            that is missing, empty, too long or unreadable. The bytes remain stored, since a newer
            version of ours may understand them.
    """
    fields = parse_document(body)
    kind = fields.get("event")
    if not isinstance(kind, str) or not (kind in REQUIRED or plain(fields.get("orderId"))):
        name = kind if isinstance(kind, str) and _is_name(kind) else ""
        raise NotUnderstood(
            f"unknown event {name or repr(kind)}", Fault.UNKNOWN_EVENT, name[:ABOUT]
        )
    for name in REQUIRED.get(kind, OF_OTHERS):
        _check(kind, name, fields)
    if kind not in REQUIRED:
        return Event(kind, _of_other(fields), canonical_digest(fields), fields)
    if plain(fields.get("assignmentId")):  # optional in a booking
        _check(kind, "assignmentId", fields)
    clock = "timestamp" if "timestamp" in REQUIRED[kind] else "occurredAt"
    event = Event(kind, read_moment(clock, fields[clock]), canonical_digest(fields), fields)
    event.moment("scheduledAt")
    event.day("estimatedDeliveryAt")
    return event


def _is_name(text: str) -> bool:
    """Return whether a text looks like the name of an event."""
    return text.isascii() and text.isupper() and text.replace("_", "").isalpha()


def _of_other(fields: dict[str, Any]) -> datetime:
    """Return when an event of an unknown kind happened, or UNDATED if it has no valid date.

    Nothing is ordered by this date: the order itself is read from the platform.
    """
    for name in ("occurredAt", "timestamp"):
        try:
            return read_moment(name, fields.get(name))
        except NotUnderstood:
            continue
    return UNDATED


def _check(kind: str, name: str, fields: dict[str, Any]) -> None:
    """Refuse an empty required field, or an id that is too long for its column: never cut one."""
    value = fields.get(name)
    if name in NULLABLE and name in fields and value is None:
        return
    if isinstance(value, dict | list) or (name in IDS and isinstance(value, bool)):
        raise NotUnderstood(f"{name} is not a text: {value!r}", Fault.NOT_A_TEXT, name)
    text = clean(plain(value))[0].strip()
    if value is None or not (text or name in MAY_BE_EMPTY):
        raise NotUnderstood(f"{kind} without {name}", Fault.MISSING, f"{kind} {name}"[:ABOUT])
    if name in IDS and len(text) > references.LIMIT:
        said = f"{name} is longer than {references.LIMIT} characters: {text:.40}…"
        raise NotUnderstood(said, Fault.TOO_LONG, name)


def parse_document(body: bytes) -> dict[str, Any]:
    """Decode a JSON object, or raise NotUnderstood with the reason."""
    try:
        document = json.loads(body)
    except RecursionError:
        raise NotUnderstood("the JSON is nested too deeply", Fault.TOO_DEEP) from None
    except UnicodeDecodeError:
        raise NotUnderstood("not JSON: the bytes are not UTF-8", Fault.NOT_UTF8) from None
    except json.JSONDecodeError as error:
        raise NotUnderstood(f"not JSON: {error}", Fault.NOT_JSON) from None
    except ValueError:  # what Python says of it names its own settings
        raise NotUnderstood(
            "not JSON: it holds a number that is too long", Fault.NOT_JSON
        ) from None
    if not isinstance(document, dict):
        name = JSON_NAMES[type(document)]
        said = f"a JSON {name} where an object belongs"
        raise NotUnderstood(said, Fault.NOT_AN_OBJECT, name)
    if _is_deeper(document, DEPTH_LIMIT):
        raise NotUnderstood("the JSON is nested too deeply", Fault.TOO_DEEP)
    return document


def _is_deeper(document: Any, limit: int) -> bool:
    """Return whether the document is nested more than `limit` levels deep."""
    level = [document]
    for _ in range(limit):
        containers = [value for value in level if isinstance(value, dict | list)]
        level = [
            inner
            for value in containers
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return False
    return any(isinstance(value, dict | list) for value in level)


def canonical_digest(document: Any) -> str:
    """Digest the JSON in one canonical form: the history may serialise the same event otherwise."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_moment(name: str, value: Any) -> datetime:
    """Read an ISO 8601 timestamp; UTC if it has no offset (A52)."""
    try:
        moment = datetime.fromisoformat(value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return min(max(aware.astimezone(UTC), FIRST), LAST)
    except (TypeError, ValueError, OverflowError):
        said = f"{name} is not a timestamp: {value!r}"
        raise NotUnderstood(said, Fault.NOT_A_TIMESTAMP, name) from None


def read_day(name: str, value: Any) -> date:
    """Read a date, or the date of a full timestamp (§6.3 allows only a date)."""
    try:
        return date.fromisoformat(plain(value)[:10])
    except ValueError:
        said = f"{name} is not a date: {value!r}"
        raise NotUnderstood(said, Fault.NOT_A_DATE, name) from None
