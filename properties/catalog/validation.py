"""Finds values that the platform would refuse, before they are sent (§4.6, §7)."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from crm_sync.platform import references
from crm_sync.sentence import Sentence, sentence, sentence_of
from crm_sync.text import quoted
from properties.catalog import parsing
from properties.catalog.equality import equal, is_empty
from properties.catalog.field import Field, Kind
from properties.catalog.instants import read_date, read_datetime
from properties.catalog.lookup import FIELDS, READ_ONLY, find, leaf_of, required
from properties.catalog.ranges import range_fault
from properties.catalog.sendable_parts import UNKNOWN
from properties.catalog.unknown import LONGEST_LEAF
from properties.merge import MERGED

# Line breaks and tabs are text; other control characters travel badly and PostgreSQL stores no NUL.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MANY = 12  # values that a message can list and still be read
CHOICE = ": choose one of "  # what follows in English are the values of an enum
_MISSING = sentence("This value is missing")
READ_ONLY_MESSAGE = sentence("Only the platform can change this")
# What a person has to write, for each pattern of the catalog.
PATTERNS: dict[str, Sentence] = {
    "[A-Z]{2}": sentence("Use a two-letter code such as CH"),
    "[A-Z]{3}": sentence("Use a three-letter code such as CHF"),
    "[a-z]{2}": sentence("Use two small letters such as de"),
}

Check = Callable[[object], Sentence | None]  # a value that says something, to what is wrong with it


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One fault of a document: its place, and the message for a person.

    The message is shown at its field, so it does not name the field.
    """

    path: str
    message: str

    @property
    def sentence(self) -> Sentence:
        """The message after its path, for a place that shows no field."""
        return sentence_of(self.path, self.message)


def validate(path: str, value: object) -> list[FieldFault]:
    """Return the faults of a value of the field at `path`; an empty value has none.

    `path` may be any path of the catalog; faults carry the path of the very item, such as
    `localizations[1].title`. A field that the catalog does not know may hold any JSON.
    """
    return list(_faults(path, value))


def new_faults(path: str, value: object, stored: object) -> list[FieldFault]:
    """Return the faults of a value that the stored one does not have already.

    A newer platform may hold words in a leaf that we do not know (A50); editing the member beside
    such a word is no reason to refuse, and what cannot be said is dropped when it is sent. What
    only the platform sets has no such beside: it may be said again, and neither set nor cleared.
    """
    if path in READ_ONLY:
        return [] if equal(path, value, stored) else [FieldFault(path, READ_ONLY_MESSAGE)]
    known = validate(path, stored)
    return [fault for fault in validate(path, value) if fault not in known]


def misplaced(path: str) -> FieldFault | None:
    """Return why no value can be set at a path: it is no leaf, so no PATCH sends it alone (A10).

    An unknown top-level field is a leaf, and so is an unknown member of a merged object.
    """
    leaf = leaf_of(path)
    if leaf in MERGED:
        return FieldFault(
            path,
            sentence("%(leaf)s is changed member by member: name one of its members", leaf=leaf),
        )
    if leaf != path:
        return FieldFault(
            path,
            sentence(
                "This is a part of %(leaf)s, which is sent as a whole: set %(leaf)s", leaf=leaf
            ),
        )
    if len(leaf) > LONGEST_LEAF:
        return FieldFault(
            path,
            sentence(
                "Use at most %(most)s characters, not %(count)s",
                most=LONGEST_LEAF,
                count=len(leaf),
            ),
        )
    return None if leaf else FieldFault(path, sentence("Every field needs a name"))


def validate_document(document: dict[str, object]) -> list[FieldFault]:
    """Return the faults of the top-level fields of a document, in its order."""
    return [fault for path, value in document.items() for fault in _faults(path, value)]


def _faults(path: str, value: object) -> Iterator[FieldFault]:
    """Yield the faults of one value and of what it holds."""
    if value is None or value == "":
        return
    field = find(path)
    if field is None:
        yield from text_faults(path, value)
    elif check := _CHECKS.get(field.path):
        if message := check(value):
            yield FieldFault(path, message)
    elif field.read_only:
        if value not in ([], {}):
            yield FieldFault(path, READ_ONLY_MESSAGE)
    else:
        yield from _container_faults(field, path, value)


def text_faults(
    path: str, value: object, fault: Callable[[str], str | None] | None = None
) -> Iterator[FieldFault]:
    """Yield the faults of all texts in a value of unknown shape, also of names.

    Args:
        fault: a text to what is wrong with it; by default, what no database can keep.
    """
    find_fault = fault or _text_fault
    if isinstance(value, str):
        message = find_fault(value)
        if message:
            yield FieldFault(path, message)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from text_faults(path, name, fault)
            yield from text_faults(f"{path}.{name}", member, fault)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from text_faults(f"{path}[{index}]", item, fault)


def _unread(field: Field, value: object) -> Sentence | None:
    """Return why a text is no value of a field, in the words of every reader."""
    return parsing.fault(field, value) if isinstance(value, str) else None


def _boolean_fault(field: Field, value: object) -> Sentence | None:
    if isinstance(value, bool):
        return None
    return _unread(field, value) or sentence("Write true or false")


def _date_fault(field: Field, value: object) -> Sentence | None:
    good = isinstance(value, str) and read_date(value) is not None
    return None if good else _unread(field, value) or sentence("Write a date such as 2026-01-31")


def _datetime_fault(field: Field, value: object) -> Sentence | None:
    good = isinstance(value, str) and read_datetime(value) is not None
    if good:
        return None
    return _unread(field, value) or sentence("Write a time such as 2026-01-31T09:00:00Z")


def _number_fault(field: Field, value: object) -> Sentence | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return _unread(field, value) or sentence("Write a number")
    try:
        is_finite = math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold, nor the platform
        return sentence("This number is too large")
    if not is_finite:
        return sentence("Write a finite number")
    if field.kind is Kind.INTEGER and value != int(value):
        return sentence("Write a whole number")
    return range_fault(field, value)


def _enum_fault(field: Field, value: object) -> Sentence | None:
    if isinstance(value, str) and value in _WORDS[field.path]:
        return None
    if value == UNKNOWN:
        return sentence("UNKNOWN cannot be sent: leave it out")
    if not isinstance(value, str):
        return sentence("Write one of its values")
    if len(field.enum) > _MANY:
        return sentence("%(value)s is not one of its values", value=quoted(value))
    return sentence(
        "%(value)s is not one of its values: choose one of %(choices)s",
        value=quoted(value),
        choices=field.enum,
    )


def _string_fault(field: Field, value: object) -> Sentence | None:
    if not isinstance(value, str):
        return sentence("Write a text")
    if field.pattern and not re.fullmatch(field.pattern, value):
        return PATTERNS[field.pattern]
    if field.max_length is not None and len(value) > field.max_length:
        return sentence(
            "Use at most %(most)s characters, not %(count)s",
            most=field.max_length,
            count=len(value),
        )
    if field.path == "objectReferenceId" and (fault := references.fault(value)):
        return fault
    return _text_fault(value)


def _text_fault(text: str) -> Sentence | None:
    if text.isprintable():  # what most are: no such character is
        return None
    if _CONTROL.search(text):
        return sentence("Remove the control character in this text")
    if _SURROGATE.search(text):
        return sentence("Remove the half of a character in this text")
    return None


def _container_faults(field: Field, path: str, value: object) -> Iterator[FieldFault]:
    """Yield the faults of a list, a map or an object."""
    is_list = field.kind.is_list
    if not isinstance(value, list if is_list else dict):
        text = sentence("Write a list") if is_list else sentence("Write an object")
        yield FieldFault(path, text)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _item_faults(field, f"{path}[{index}]", item)
        if field.path == "localizations":
            yield from _repeated_languages(value)
    elif isinstance(value, dict):
        inside = _map_faults if field.kind is Kind.MAP else _member_faults
        found = list(inside(path, value))
        if found and is_empty(field.path, value):  # it may lack each value
            found = [fault for fault in found if fault.message != _MISSING]
        yield from found


def _item_faults(field: Field, path: str, item: object) -> Iterator[FieldFault]:
    """Yield the faults of one item of a list."""
    if field.kind is Kind.ENUM_LIST:
        message = _enum_fault(field, item)
        if message:
            yield FieldFault(path, message)
    elif isinstance(item, dict):
        yield from _member_faults(path, item)
    else:
        yield FieldFault(path, sentence("Write an object"))


def _member_faults(path: str, value: dict[str, object]) -> Iterator[FieldFault]:
    """Yield the faults of the members of an object, and those that it must have and has not."""
    for name, member in value.items():
        inner = f"{path}.{name}"
        if find(inner) is None:
            yield from text_faults(path, name)
        yield from _faults(inner, member)
    for child in required(path):
        if value.get(child.name) in (None, ""):
            yield FieldFault(f"{path}.{child.name}", _MISSING)


def _map_faults(path: str, value: dict[str, object]) -> Iterator[FieldFault]:
    """Yield the faults of a map of texts."""
    for name, member in value.items():
        if not name:
            yield FieldFault(path, sentence("Give each entry a name"))
        yield from text_faults(path, name)
        if member is not None and not isinstance(member, str):
            yield FieldFault(f"{path}.{name}", sentence("Write a text"))
        else:
            yield from text_faults(f"{path}.{name}", member)


def _repeated_languages(items: list[object]) -> Iterator[FieldFault]:
    """Yield every localization whose language an earlier one has already."""
    seen: set[object] = set()
    for index, item in enumerate(items):
        code = item.get("languageCode") if isinstance(item, dict) else None
        if not isinstance(code, str):
            continue
        if code in seen:
            path = f"localizations[{index}].languageCode"
            yield FieldFault(
                path,
                sentence("%(code)s is there already: a language has one text", code=quoted(code)),
            )
        seen.add(code)


_BY_KIND = {
    Kind.BOOLEAN: _boolean_fault,
    **dict.fromkeys((Kind.INTEGER, Kind.DECIMAL), _number_fault),
    Kind.ENUM: _enum_fault,
    Kind.DATE: _date_fault,
    Kind.DATETIME: _datetime_fault,
}
# By path, and once for all: a record has some sixty values, and a feed a hundred thousand records.
_WORDS = {path: frozenset(field.enum) for path, field in FIELDS.items() if field.enum}
_CHECKS: dict[str, Check] = {
    path: partial(_BY_KIND.get(field.kind, _string_fault), field)
    for path, field in FIELDS.items()
    if field.kind.is_scalar and not field.read_only
}
