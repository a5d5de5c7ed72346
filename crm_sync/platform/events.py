"""Pure: the raw bytes of a callback become an event (§6). Reads tolerantly, forgets nothing."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

VISUALS_READY = "VISUALS_READY"
PHOTOGRAPHER_BOOKED = "PHOTOGRAPHER_BOOKED"
ORDER_STATUS_UPDATED = "ORDER_STATUS_UPDATED"
ASSIGNMENT_STATUS_UPDATED = "ASSIGNMENT_STATUS_UPDATED"
APPOINTMENT_DATE_UPDATED = "APPOINTMENT_DATE_UPDATED"
ESTIMATED_DELIVERY_UPDATED = "ESTIMATED_DELIVERY_UPDATED"
MARKETING_MATERIALS_READY = "MARKETING_MATERIALS_READY"

# §6.3: the fields without which an event says nothing; all others are optional.
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
DEPTH_LIMIT = 100  # levels; deeper, and whoever prints or digests the value breaks
JSON_NAMES = {
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
NULLABLE = frozenset({"scheduledAt"})  # §6.3: the only field that is present as explicit null


class NotUnderstood(Exception):
    """The bytes are no event that we know; the message says why, for a person to read."""


@dataclass(frozen=True)
class Event:
    """One event of §6.3.

    Attributes:
        kind: the event name; the body's `event` counts, whatever the header says (A27).
        at: `occurredAt` or `timestamp`, aware, UTC where it has no offset (A52).
        digest: of the canonical JSON; breaks ties in `at` the same way everywhere.
        fields: the whole payload, unknown members included.
    """

    kind: str
    at: datetime
    digest: str
    fields: dict[str, Any]

    def text(self, name: str) -> str:
        """Return a field as a string, ids included (A7), "" when it is absent or null."""
        value = self.fields.get(name)
        return "" if value is None else str(value)

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

    Raises:
        NotUnderstood: no JSON object, an unknown event, a required field that is missing or
            unreadable. The bytes stay stored; a newer version of ours may understand them.
    """
    fields = parse_document(body)
    kind = fields.get("event")
    if not isinstance(kind, str) or kind not in REQUIRED:
        raise NotUnderstood(f"unknown event {kind!r}"[:200])
    for name in REQUIRED[kind]:
        if name not in fields or (fields[name] is None and name not in NULLABLE):
            raise NotUnderstood(f"{kind} without {name}")
        if isinstance(fields[name], dict | list):
            raise NotUnderstood(f"{name} is not a text: {fields[name]!r}"[:200])
    clock = "timestamp" if "timestamp" in REQUIRED[kind] else "occurredAt"
    event = Event(kind, read_moment(clock, fields[clock]), canonical_digest(fields), fields)
    event.moment("scheduledAt")
    event.day("estimatedDeliveryAt")
    return event


def parse_document(body: bytes) -> dict[str, Any]:
    """Decode a JSON object, or raise NotUnderstood with the reason."""
    try:
        document = json.loads(body)
    except RecursionError:
        raise NotUnderstood("the JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise NotUnderstood("not JSON: the bytes are not UTF-8") from None
    except ValueError as error:
        raise NotUnderstood(f"not JSON: {error}"[:200]) from None
    if not isinstance(document, dict):
        raise NotUnderstood(f"a JSON {JSON_NAMES[type(document)]} where an object belongs")
    if _is_deeper(document, DEPTH_LIMIT):
        raise NotUnderstood("the JSON is nested too deeply")
    return document


def _is_deeper(document: Any, limit: int) -> bool:
    """Tell whether containers stand within containers more than `limit` levels."""
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
    """Digest the JSON in one canonical form: a history copy is re-serialised, not re-worded."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_moment(name: str, value: Any) -> datetime:
    """Read an ISO 8601 timestamp; UTC where it has no offset (A52)."""
    try:
        moment = datetime.fromisoformat(value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise NotUnderstood(f"{name} is not a timestamp: {value!r}"[:200]) from None


def read_day(name: str, value: Any) -> date:
    """Read a date; a full timestamp counts by its date (§6.3 says date-only)."""
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        raise NotUnderstood(f"{name} is not a date: {value!r}"[:200]) from None
