"""The schemas of a property in the API description, made from the catalog.

There is one schema of a body, as the catalog checks it, and one of what is read. The second allows
values that no body can set (A50), because a strictly typed client must be able to read them.
"""

from collections.abc import Iterable
from typing import Any

from properties.catalog import TOP_LEVEL, Field, Kind, children, enums, last_label, range_of

Schema = dict[str, Any]

PLACE = "#/components/schemas/"
BODY = {"$ref": f"{PLACE}PropertyBody"}
READ = {"$ref": f"{PLACE}PropertyDocument"}
_BODY = (
    "A property in the platform's names. What is not named here is kept and sent as it is; null"
    " clears, as far as the platform can clear."
)
_READ = "A property in the platform's names: it may also hold fields of a newer platform."
# The example body on the page; otherwise it would be each field, with any value.
_EXAMPLE = {
    "title": "Bright flat by the river",
    "propertyType": "APARTMENT",
    "address": {
        "street": "River road 5",
        "postalCode": "3000",
        "locality": "Bern",
        "countryCode": "CH",
    },
    "numberOfRooms": 3.5,
    "characteristics": {"hasBalcony": "APPLIES"},
    "prices": {"currency": "CHF", "rent": {"gross": 1850, "interval": "MONTH"}},
    "localizations": [{"languageCode": "en", "title": "Bright flat by the river"}],
}
_ENUMS = {
    words: name.title().replace("_", "")
    for name, words in vars(enums).items()
    if isinstance(words, tuple)
}
_TYPES = {Kind.INTEGER: "integer", Kind.DECIMAL: "number", Kind.BOOLEAN: "boolean"}
_FORMATS = {Kind.DATE: "date", Kind.DATETIME: "date-time"}
_NOTES = {Kind.OBJECT: "replaced as a whole", Kind.MERGED: "merged member by member"}


def every_field(result: Schema, **_: Any) -> Schema:
    """Add both schemas, and the enums that they share."""
    body, read = (_object(TOP_LEVEL.values(), is_body=is_body) for is_body in (True, False))
    result["components"]["schemas"] |= {
        **{name: {"type": "string", "enum": [*words]} for words, name in _ENUMS.items()},
        "PropertyBody": body | {"description": _BODY, "examples": [_EXAMPLE]},
        "PropertyDocument": read | {"description": _READ},
    }
    return result


def _object(fields: Iterable[Field], *, is_body: bool) -> Schema:
    fields = list(fields)
    schema = {"type": "object", "properties": {one.name: _field(one, is_body) for one in fields}}
    required = [one.name for one in fields if one.required and is_body]
    return schema | ({"required": required} if required else {})


def _field(field: Field, is_body: bool) -> Schema:
    """Return the schema of a field; it may be null unless its object must hold it."""
    schema = _value(field, is_body)
    if not (field.required and is_body):
        if "type" in schema:
            schema["type"] = [schema["type"], "null"]
        else:
            schema = {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}
    note = field.unit or _NOTES.get(field.kind, "")
    schema["description"] = last_label(field.path) + (f" ({note})" if note else "")
    return schema | ({"readOnly": True} if field.read_only else {})


def _value(field: Field, is_body: bool) -> Schema:
    match field.kind:
        case Kind.ENUM:
            return _one_of(field, is_body)
        case Kind.ENUM_LIST:
            return {"type": "array", "items": _one_of(field, is_body)}
        case Kind.OBJECT_LIST:
            return {"type": "array", "items": _object(children(field.path), is_body=is_body)}
        case Kind.OBJECT | Kind.MERGED:
            return _object(children(field.path), is_body=is_body)
        case Kind.MAP:
            return {"type": "object", "additionalProperties": {"type": ["string", "null"]}}
    return {"type": _TYPES.get(field.kind, "string")} | (_limits(field) if is_body else {})


def _one_of(field: Field, is_body: bool) -> Schema:
    """Return the values of an enum; a value that is read may also be another text."""
    known = {"$ref": PLACE + _ENUMS[field.enum]}
    return known if is_body else {"anyOf": [known, {"type": "string"}]}


def _limits(field: Field) -> Schema:
    least, most = range_of(field)
    limits = {
        "format": _FORMATS.get(field.kind),
        "maxLength": field.max_length,
        "pattern": f"^{field.pattern}$" if field.pattern else None,
        "minimum": least,
        "maximum": most,
    }
    return {name: limit for name, limit in limits.items() if limit is not None}
