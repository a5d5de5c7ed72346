"""As much of JSON Schema as the description of the sandbox uses."""

from typing import Any

from sandbox.api.operations import DESCRIPTION

KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def resolved(schema: dict) -> dict:
    """Follow a `$ref`; a KeyError when it leads nowhere."""
    while "$ref" in schema:
        at: Any = DESCRIPTION
        for word in schema["$ref"].removeprefix("#/").split("/"):
            at = at[word]
        schema = at
    return schema


def wrong(value: Any, schema: dict, path: str = "$") -> list[str]:
    """What does not fit, as places."""
    schema = resolved(schema)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            fits = [one for one in schema[word] if not wrong(value, one, path)]
            return [] if len(fits) == 1 or (fits and word == "anyOf") else [path]
    if not _is_of_kind(value, schema.get("type")) or value not in _allowed(schema, value):
        return [path]
    if isinstance(value, list):
        items = schema.get("items", {})
        return [bad for n, one in enumerate(value) for bad in wrong(one, items, f"{path}[{n}]")]
    return _wrong_members(value, schema, path) if isinstance(value, dict) else []


def _is_of_kind(value: Any, kind: str | None) -> bool:
    if isinstance(value, bool):
        return kind in (None, "boolean")
    return kind is None or isinstance(value, KINDS[kind])


def _allowed(schema: dict, value: Any) -> list:
    return [schema["const"]] if "const" in schema else schema.get("enum", [value])


def _wrong_members(value: dict, schema: dict, path: str) -> list[str]:
    missing = [f"{path}.{name}" for name in schema.get("required", []) if name not in value]
    known, other = schema.get("properties", {}), schema.get("additionalProperties", {})
    return missing + [
        bad
        for name, one in value.items()
        for bad in wrong(one, known.get(name, other), f"{path}.{name}")
    ]
