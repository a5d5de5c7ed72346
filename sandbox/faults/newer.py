"""Pure: fields, values and events of a newer platform, which the interface does not list."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from sandbox.interface.property_fields import PROPERTY, Field
from sandbox.wire import Document

FIELDS: Document = {"newerField": {"of": "a later version"}}
VALUE = "VALUE_OF_A_LATER_VERSION"
UNKNOWN = "UNKNOWN"  # this version's value for what it does not recognise (§2.4, §9 rule 3)
EVENT = "ORDER_NOTE_ADDED"

# Earlier deliveries, and names that the client chose, are not changed.
AS_THEY_ARE = frozenset({"payload", "headers", "customFields"})


def _enum_names(members: dict[str, Field]) -> Iterator[str]:
    for name, known in members.items():
        if known.kind in ("enum", "enums"):
            yield name
        if name != "characteristics":  # there, UNKNOWN is a normal value (§4.6 rule 4)
            yield from _enum_names(known.members)


# previousStatus is excluded: if it equalled newStatus, the event would be a nudge.
ENUMS = frozenset(
    {"status", "newStatus", "actionRequired", "visualType", "targetPlatform"}
    | set(_enum_names(PROPERTY))
)


def with_fields(value: Any) -> Any:
    """Return a JSON value with one more field in each object."""
    if isinstance(value, list):
        return [with_fields(one) for one in value]
    if not isinstance(value, dict):
        return value
    changed = {
        name: one if name in AS_THEY_ARE else with_fields(one) for name, one in value.items()
    }
    return changed | FIELDS


def with_values(value: Any, replacement: str, names: str = "*") -> Any:
    """Return a JSON value with `replacement` in each enum whose name matches."""
    if isinstance(value, list):
        return [with_values(one, replacement, names) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _replaced(name, one, replacement, names) for name, one in value.items()}


def _replaced(name: str, value: Any, replacement: str, names: str) -> Any:
    if name in AS_THEY_ARE:
        return value
    if name in ENUMS and fnmatchcase(name, names):
        if isinstance(value, str):
            return replacement
        if isinstance(value, list):
            return [replacement if isinstance(one, str) else one for one in value]
    return with_values(value, replacement, names)


def event(known: Document) -> Document:
    """Return an event of another type, about the same subject at the same time."""
    kept = ("orderId", "occurredAt", "timestamp")
    return {"event": EVENT, **{one: known[one] for one in kept if one in known}, **FIELDS}
