"""When two values of a field are the same.

A value is brought to a normal form by the type of its field, and normal forms are compared: so
equality is reflexive, symmetric and transitive by construction.
"""

from decimal import Decimal

from properties.catalog.field import Field, Kind
from properties.catalog.instants import read_date, read_datetime
from properties.catalog.lookup import find
from properties.merge import same_json

Normal = tuple[str, object] | None
_OBJECTS = frozenset({Kind.OBJECT, Kind.MERGED})


def equal(path: str, a: object, b: object) -> bool:
    """Return whether two values of the field at `path` mean the same.

    2 = 2.0 = Decimal("2"); `Z` = `+00:00` = no offset (A52); None = "" = absent, and for lists,
    maps and objects also [] and {}. Lists keep their order, and an empty object in them is none;
    members of objects follow the same rules. True is not 1. Where the catalog knows no field, JSON
    values are compared as they are.
    """
    return same_json(a, b) or normal(path, a) == normal(path, b)  # the same JSON, as most are


def is_empty(path: str, value: object) -> bool:
    """Return whether a value means the same as a field that is left out."""
    # A faster path for most leaves.
    if isinstance(value, str | int | float) and value != "":
        return False
    field = find(path)
    if field and field.kind in _OBJECTS and isinstance(value, dict):  # known by its first member
        return all(is_empty(f"{field.path}.{name}", member) for name, member in value.items())
    if field and field.kind is Kind.OBJECT_LIST and isinstance(value, list):
        return all(_item(field, item) is None for item in value)
    return normal(path, value) is None


def normal(path: str, value: object) -> Normal:
    """Return the normal form of a value; None if it means the same as an absent field."""
    field = find(path)
    return _plain(value) if field is None else _typed(field, value)


def _typed(field: Field, value: object) -> Normal:
    """Return the normal form of a value; a value that does not fit its kind is unchanged."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return _moment(field.kind, value) or ("text", value)
    if field.kind.is_scalar:
        return _plain(value)
    return None if value in ([], {}) else _container(field, value)


def _container(field: Field, value: object) -> Normal:
    """Return the normal form of a list, a map or an object."""
    if isinstance(value, dict) and field.kind in _OBJECTS:
        return _members({str(k): normal(f"{field.path}.{k}", v) for k, v in value.items()})
    if isinstance(value, dict) and field.kind is Kind.MAP:
        return _members({str(k): _plain(v) if v != "" else None for k, v in value.items()})
    if isinstance(value, list) and field.kind is Kind.OBJECT_LIST:
        items = [one for item in value if (one := _item(field, item)) is not None]
        return ("list", items) if items else None
    return _plain(value)


def _members(members: dict[str, Normal]) -> Normal:
    """Leave out empty members; an object with only empty members is empty."""
    said = {name: member for name, member in members.items() if member is not None}
    return ("object", said) if said else None


def _item(field: Field, item: object) -> Normal:
    """Return the normal form of an item of a list of objects."""
    if not isinstance(item, dict):
        return _plain(item)
    return _members({str(k): normal(f"{field.path}[].{k}", v) for k, v in item.items()})


def _moment(kind: Kind, text: str) -> Normal:
    """Return the instant or the day that a text names, if the field holds one."""
    if kind is Kind.DATETIME:
        instant = read_datetime(text)
        return ("instant", instant) if instant else None
    if kind is Kind.DATE:
        day = read_date(text)
        return ("day", day) if day else None
    return None


def _plain(value: object) -> Normal:  # noqa: PLR0911 - one line for each JSON type
    """Return the normal form of plain JSON: 2 equals 2.0, and True is no number."""
    match value:
        case None:
            return None
        case bool():
            return ("bool", value)
        case int() | Decimal():
            return ("number", _number(Decimal(value)))
        case float():
            return ("number", _number(Decimal(repr(value))))
        case str():
            return ("text", value)
        case list() | tuple():
            return ("list", [_plain(item) for item in value])
        case dict():
            return ("object", {str(name): _plain(member) for name, member in value.items()})
        case _:
            return ("other", value)


def _number(number: Decimal) -> object:
    """Make NaN equal to itself, so that a stored NaN is not a permanent difference."""
    return "NaN" if number.is_nan() else number
