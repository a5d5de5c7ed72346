"""What the platform would refuse, said before it is sent (§4.6, §7)."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from crm_sync.platform import references
from properties.catalog.comparison import is_empty
from properties.catalog.field import Field, Kind
from properties.catalog.instants import read_date, read_datetime
from properties.catalog.lookup import FIELDS, find, leaf_of, members, required
from properties.catalog.ranges import range_fault
from properties.catalog.sending import UNKNOWN
from properties.merge import MERGED

# Line breaks and tabs are text; other control characters travel badly and PostgreSQL stores no NUL.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MANY = 12  # values that a message can list and still be read

Check = Callable[[object], str | None]  # a value that says something, to what is wrong with it


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document: where, and what a person must know."""

    path: str
    message: str


def validate(path: str, value: object) -> list[Fault]:
    """Return what is wrong with a value of the field at `path`; nothing said is never wrong.

    `path` may be any path of the catalog; faults carry the path of the very item, such as
    `localizations[1].title`. A field that the catalog does not know may hold any JSON.
    """
    return list(_faults(path, value))


def new_faults(path: str, value: object, stored: object) -> list[Fault]:
    """Return the faults of a value that the stored one does not have already.

    A newer platform may hold words in a leaf that we do not know (A50); editing the member beside
    such a word is no reason to refuse, and what cannot be said is dropped when it is sent.
    """
    known = validate(path, stored)
    return [fault for fault in validate(path, value) if fault not in known]


def misplaced(path: str) -> Fault | None:
    """Say why no value can be set at a path: it is no leaf, so no PATCH sends it by itself (A10).

    An unknown top-level field is a leaf, and so is an unknown member of a merged object.
    """
    leaf = leaf_of(path)
    if leaf in MERGED:
        return Fault(path, f"{leaf} is merged member by member (§4.6 rule 3): name a member of it")
    if leaf != path:
        return Fault(path, f"is a part of {leaf}, which is sent as a whole: set {leaf}")
    return None if leaf else Fault(path, "a field without a name")


def validate_document(document: dict[str, object]) -> list[Fault]:
    """Return all that is wrong with the top-level fields of a document, in its order."""
    found: list[Fault] = []
    for path, value in document.items():
        check = _CHECKS.get(path)
        if check is None or not isinstance(value, str | int | float):
            found += _faults(path, value)
        elif value != "" and (message := check(value)):
            found.append(Fault(path, f"{path} {message}"))
    return found


def _faults(path: str, value: object) -> Iterator[Fault]:
    """Yield the faults of one value and of what it holds."""
    if value is None or value == "":
        return
    field = find(path)
    if field is None:
        yield from _unstorable(path, value)
    elif check := _CHECKS.get(field.path):
        if message := check(value):
            yield Fault(path, f"{path} {message}")
    elif field.read_only:
        if value not in ([], {}):
            yield Fault(path, f"{path} is read-only: the platform sets it (§4.6 rule 5)")
    else:
        yield from _container_faults(field, path, value)


def _unstorable(path: str, value: object) -> Iterator[Fault]:
    """Yield the texts in a value of unknown shape that no database can keep."""
    if isinstance(value, str):
        message = _text_fault(value)
        if message:
            yield Fault(path, f"{path} {message}")
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _unstorable(path, name)
            yield from _unstorable(f"{path}.{name}", member)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unstorable(f"{path}[{index}]", item)


def _boolean_fault(value: object) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _date_fault(value: object) -> str | None:
    good = isinstance(value, str) and read_date(value) is not None
    return None if good else "must be a date such as 2026-01-31"


def _datetime_fault(value: object) -> str | None:
    good = isinstance(value, str) and read_datetime(value) is not None
    return None if good else "must be a time such as 2026-01-31T09:00:00Z"


def _number_fault(field: Field, value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return "must be a number"
    try:
        is_finite = math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold, nor the platform
        return "is too large"
    if not is_finite:
        return "must be a finite number"
    if field.kind is Kind.INTEGER and value != int(value):
        return "must be a whole number"
    return range_fault(field, value)


def _enum_fault(field: Field, value: object) -> str | None:
    if isinstance(value, str) and value in _WORDS[field.path]:
        return None
    if value == UNKNOWN:
        return "cannot be set to UNKNOWN (§4.6 rule 4): leave it out"
    if len(field.enum) > _MANY:
        return f"has no value {value!r}"
    return f"has no value {value!r}; it is one of {', '.join(field.enum)}"


def _string_fault(field: Field, value: object) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    if field.max_length is not None and len(value) > field.max_length:
        return f"is longer than {field.max_length} characters ({len(value)})"
    if field.pattern and not re.fullmatch(field.pattern, value):
        return f"must look like {field.pattern}, not {value!r}"
    if field.path == "objectReferenceId":
        return references.fault(value)
    return _text_fault(value)


def _text_fault(text: str) -> str | None:
    if text.isprintable():  # what most are: no such character is
        return None
    if _CONTROL.search(text):
        return "holds a control character"
    return "holds half a character (a lone surrogate)" if _SURROGATE.search(text) else None


def _container_faults(field: Field, path: str, value: object) -> Iterator[Fault]:
    """Yield the faults of a list, a map or an object."""
    shape, name = (list, "a list") if field.kind.is_list else (dict, "an object")
    if not isinstance(value, shape):
        if value not in ([], {}):
            yield Fault(path, f"{path} must be {name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _item_faults(field, f"{path}[{index}]", item)
        if field.path == "localizations":
            yield from _repeated_languages(value)
    elif isinstance(value, dict):
        inside = _map_faults if field.kind is Kind.MAP else partial(_member_faults, field.path)
        found = list(inside(path, value))
        if found and not is_empty(field.path, value):
            yield from found


def _item_faults(field: Field, path: str, item: object) -> Iterator[Fault]:
    """Yield the faults of one item of a list."""
    if field.kind is Kind.ENUM_LIST:
        message = _enum_fault(field, item)
        if message:
            yield Fault(path, f"{path} {message}")
    elif isinstance(item, dict):
        yield from _member_faults(f"{field.path}[]", path, item)
    else:
        yield Fault(path, f"{path} must be an object")


def _member_faults(general: str, path: str, value: dict[str, object]) -> Iterator[Fault]:
    """Yield the faults of the members of an object, and those that it must have and has not.

    Args:
        general: the path as the table spells it, which has no numbers of items.
    """
    known = members(general)
    for name, member in value.items():
        field = known.get(name)
        check = _CHECKS.get(field.path) if field else None
        if check is None:
            inner = f"{path}.{name}"
            if field is None and find(inner) is None:
                yield from _unstorable(path, name)
            yield from _faults(inner, member)
        elif member is not None and member != "" and (message := check(member)):
            yield Fault(f"{path}.{name}", f"{path}.{name} {message}")
    for child in required(path):
        if value.get(child.name) in (None, ""):
            yield Fault(f"{path}.{child.name}", f"{path}.{child.name} is missing")


def _map_faults(path: str, value: dict[str, object]) -> Iterator[Fault]:
    """Yield the faults of a map of texts."""
    for name, member in value.items():
        if not name:
            yield Fault(path, f"{path} has an entry without a name")
        yield from _unstorable(path, name)
        if member is not None and not isinstance(member, str):
            yield Fault(f"{path}.{name}", f"{path}.{name} must be a text")
        else:
            yield from _unstorable(f"{path}.{name}", member)


def _repeated_languages(items: list[object]) -> Iterator[Fault]:
    """Yield every localization whose language an earlier one has already."""
    seen: set[object] = set()
    for index, item in enumerate(items):
        code = item.get("languageCode") if isinstance(item, dict) else None
        if not isinstance(code, str):
            continue
        if code in seen:
            path = f"localizations[{index}].languageCode"
            yield Fault(path, f'{path} repeats "{code}": one localization per language')
        seen.add(code)


def _check(field: Field) -> Check:
    """Return what finds the fault of a single value of a field."""
    match field.kind:
        case Kind.BOOLEAN:
            return _boolean_fault
        case Kind.INTEGER | Kind.DECIMAL:
            return partial(_number_fault, field)
        case Kind.ENUM:
            return partial(_enum_fault, field)
        case Kind.DATE:
            return _date_fault
        case Kind.DATETIME:
            return _datetime_fault
        case _:
            return partial(_string_fault, field)


# By path, and once for all: a record has some sixty values, and a feed a hundred thousand records.
_WORDS = {path: frozenset(field.enum) for path, field in FIELDS.items() if field.enum}
_CHECKS = {
    path: _check(field)
    for path, field in FIELDS.items()
    if field.kind.is_scalar and not field.read_only
}
