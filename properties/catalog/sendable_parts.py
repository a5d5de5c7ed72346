"""The parts of a value that may be sent to the platform (§4.6, A10 to A13, A50)."""

from typing import cast

from properties.catalog.equality import is_empty
from properties.catalog.field import Field, Kind
from properties.catalog.lookup import find
from properties.merge import UNSENDABLE

UNKNOWN = "UNKNOWN"


def sendable(path: str, value: object) -> object:
    """Return what may be sent for a leaf of the document, or UNSENDABLE if nothing can be.

    A leaf is a top-level field, or a first-level member of a merged object such as `prices.rent`
    (A10: sent whole). Never None, never anything of `rooms` or `id`, and UNKNOWN in
    `characteristics` only. A cleared scalar is UNSENDABLE (A12), a cleared list [], a cleared
    object or map {}, a cleared characteristic UNKNOWN. Inside a value that is sent whole, UNKNOWN
    and None are dropped (A50); when nothing else was in it, it is UNSENDABLE, since sending the
    empty rest would clear what a newer platform holds. A field that the catalog does not know is
    sent as it is.
    """
    field = find(path)
    if path.startswith("characteristics."):  # one we do not know clears like the others
        return UNKNOWN if value in (None, "") else value
    if field is None:
        return UNSENDABLE if value is None or value == UNKNOWN else value
    if field.read_only:
        return UNSENDABLE
    if not is_empty(path, value):
        return _said(field, value)
    if field.kind.is_scalar:
        return UNSENDABLE
    return [] if field.kind.is_list else {}


def is_vacant(path: str, value: object) -> bool:
    """Return whether a leaf of the platform has no value: it is absent, or cleared (A12).

    UNKNOWN of a characteristic means no value. UNKNOWN of another leaf is a value that is newer
    than the interface (A50).
    """
    return is_empty(path, value) or (value == UNKNOWN and sendable(path, None) == UNKNOWN)


def holds_unknown(path: str, value: object) -> bool:
    """Return whether a list or object holds an UNKNOWN that cannot be sent (§4.6 rule 4, A13)."""
    if isinstance(value, dict):
        return any(_is_unknown(f"{path}.{name}", member) for name, member in value.items())
    return isinstance(value, list) and any(_is_unknown(f"{path}[]", item) for item in value)


def _is_unknown(path: str, value: object) -> bool:
    if value != UNKNOWN:
        return holds_unknown(path, value)
    field = find(path)
    is_enum = field is not None and field.kind in {Kind.ENUM, Kind.ENUM_LIST}
    return is_enum and not (field and field.is_characteristic)


def _said(field: Field, value: object) -> object:
    """Return a value without the parts that may not be sent; UNSENDABLE if nothing is left."""
    kind = field.kind
    if kind in {Kind.ENUM, Kind.ENUM_LIST} and value == UNKNOWN:
        return value if field.is_characteristic else UNSENDABLE
    if kind in {Kind.OBJECT, Kind.MERGED} and isinstance(value, dict):
        return _object(field.path, value)
    if kind is Kind.OBJECT_LIST and isinstance(value, list):
        return _rest([_item(field, item) for item in value])
    if kind is Kind.ENUM_LIST and isinstance(value, list):
        return _rest([UNSENDABLE if item in (None, "", UNKNOWN) else item for item in value])
    if kind is Kind.MAP and isinstance(value, dict):
        return {name: member for name, member in value.items() if member is not None}
    return value


def _rest(items: list[object]) -> object:
    """Return the items that may be sent; UNSENDABLE if there were items and none may be sent."""
    return [item for item in items if item is not UNSENDABLE] or UNSENDABLE


def _item(field: Field, item: object) -> object:
    """Return an item of a list of objects without the parts that may not be sent."""
    if not isinstance(item, dict):
        return UNSENDABLE if item is None else item
    return _object(f"{field.path}[]", item)


def _object(path: str, value: dict[str, object]) -> object:
    """Return the members that may be sent; an empty one is left out, which clears it (A11)."""
    members = {name: _member(f"{path}.{name}", member) for name, member in value.items()}
    return {n: member for n, member in members.items() if member is not UNSENDABLE} or UNSENDABLE


def _member(path: str, value: object) -> object:
    """Return a member of an object that is sent whole; an emptied list is sent as []."""
    field = find(path)
    if field is not None and field.kind.is_list and isinstance(value, list) and not value:
        return cast("list[object]", [])
    if is_empty(path, value) and not path.startswith("characteristics."):
        return UNSENDABLE
    return sendable(path, value)
