"""The form of answers where the interface allows several (see `sandbox.interface.switches`)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sandbox.api.openapi import Operation
from sandbox.wire import Answer, Document, Refused

Positions = dict[str, str]

# Members with these names are ids, except inside `AS_WRITTEN`, which the client wrote.
IDS = {"id", "orderId", "assignmentId", "userId", "realEstatePropertyId"}
IDS_GIVEN = IDS | {"billing", "organization", "delivery"}
AS_WRITTEN = {"payload", "headers", "customFields", "publishers", "seller", "owner"}

NOTHING = {"204": Answer(204), "null": Answer(200, None), "{}": Answer(200, {})}


def shaped(answer: Answer, operation: Operation, positions: Positions) -> Answer:
    """Return the answer of an operation, in the form that the switches choose."""
    value = answer.value
    match positions.get(operation.switch):
        case "204":
            return NOTHING["204"]
        case "empty":
            return replace(answer, content=b"")
        case "id":
            value = {"id": value["id"]}
    schema = operation.answers.get(answer.status)
    if schema == "Order" and "assignments" in value and positions["orderDetail"] == "brief":
        brief = [{"id": one["id"], "status": one["status"]} for one in value["assignments"]]
        value = value | {"assignments": brief}
    if schema and schema.endswith("Page"):
        value = {
            positions["items"] if name == "content" else name: one for name, one in value.items()
        }
    if positions["ids"] == "number":
        value = _ids(value, IDS, _number)
    if positions["emptyMembers"] == "omitted":
        value = _without_empty(value)
    return replace(answer, value=value)


def given(body: Document, positions: Positions) -> Document:
    """Return the body of a request, with numeric ids as texts."""
    return _ids(body, IDS_GIVEN, _text) if positions["ids"] == "number" else body


def _without_empty(value: Any) -> Any:
    """Return the value without empty members. An object that becomes empty is removed, too."""
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {name: one if name in AS_WRITTEN else _without_empty(one) for name, one in value.items()}
    return {name: one for name, one in kept.items() if one not in (None, "", [], {})}


def _ids(value: Any, names: set[str], turn: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_ids(one, names, turn) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: one if name in AS_WRITTEN else turn(one) if name in names else _ids(one, names, turn)
        for name, one in value.items()
    }


def _number(key: Any) -> Any:
    return int(key) if isinstance(key, str) and key.isdecimal() else key


def _text(key: Any) -> Any:
    return str(key) if type(key) is int else key


def refused(refusal: Refused, positions: Positions) -> Answer:
    """Return the answer for a refusal, in the form that the switches choose."""
    position = positions.get(refusal.switch, str(refusal.status))
    if position in NOTHING:
        return NOTHING[position]
    body = Refused(int(position), refusal.message, refusal.errors).body()
    value = _ERRORS[positions["errors"]](body, refusal.errors)
    return Answer(int(position), value, headers=refusal.headers)


def _without(body: Document, errors: dict[str, str]) -> Document:
    return {name: one for name, one in body.items() if name != "errors"}


# How an error names its fields (A4).
_ERRORS: dict[str, Callable[[Document, dict[str, str]], Document]] = {
    "list": lambda body, errors: body,
    "text": _without,
    "field": lambda body, errors: (
        _without(body, errors) | dict(zip(("field",), errors, strict=False))
    ),
    "object": lambda body, errors: body | {"errors": errors},
    "keys": lambda body, errors: (
        {name: [text] for name, text in errors.items()} or _without(body, errors)
    ),
}
