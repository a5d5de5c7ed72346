"""What a cell holds and the value it stands for, both ways: what is written is read back.

A cell is a text, and in Excel also a number, a boolean or a date.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NoReturn

from properties.catalog import Field, Kind
from properties.catalog.json_values import read_json

EMPTY = "<empty>"  # clears the field; a cell that is empty says nothing
EXACT = 2**53  # beyond it a float stands for several whole numbers
JOINT = "|"  # between the values of a list of enum values
REFERENCE = "objectReferenceId"

# A spreadsheet takes a text that begins so for a formula and may run it (CSV injection, CWE-1236).
_FORMULA = r"[=+\-@\t\r\n]"
_MARK = r"\s*<empty>\s*\Z"
GUARDED_IN_CSV = re.compile(f"'*(?:{_FORMULA}|{_MARK})")
GUARDED_IN_XLSX = re.compile(f"'*{_MARK}")  # its cells know their type: a text is no formula

# What Excel makes of true and false in the languages of Switzerland, and what people type.
_TRUE = frozenset({"true", "wahr", "vrai", "vero", "1", "yes", "y", "ja", "j", "oui", "si", "sì"})
_FALSE = frozenset({"false", "falsch", "faux", "falso", "0", "no", "n", "nein", "non"})

_NUMBER = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_GROUPING = re.compile(r"(?<=\d)['\u2019\u00a0\u202f ](?=\d{3}(?:\D|\Z))")  # 1'200, Swiss style
_COMMA = re.compile(r"([+-]?\d+),(\d+)")
_DAY = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ T](\d{2}:\d{2}(?::\d{2})?))?")

_TEXTS = frozenset({Kind.STRING, Kind.TEXT})
_NUMBERS = frozenset({Kind.INTEGER, Kind.DECIMAL})
_JSON = frozenset({Kind.OBJECT_LIST, Kind.MAP})


class Unreadable(Exception):
    """A cell holds no value of its column; says why."""


@dataclass(frozen=True, slots=True)
class Broken:
    """What Excel could not compute, such as #N/A."""

    error: str


def guard(text: str, guarded: re.Pattern[str]) -> str:
    """Put an apostrophe before what would be taken for a formula, or for the mark that clears."""
    return f"'{text}" if guarded.match(text) else text


def unguard(text: str, guarded: re.Pattern[str]) -> str:
    """Take the apostrophe away again; `guard` also guards what looks guarded, so none gets lost."""
    return text[1:] if text.startswith("'") and guarded.match(text) else text


def clears(content: object) -> bool:
    """Say whether a cell holds the mark that clears its field."""
    return isinstance(content, str) and content.strip() == EMPTY


def says_nothing(content: object) -> bool:
    """Say whether a cell is empty."""
    return content is None or (isinstance(content, str) and not content.strip())


def read(field: Field, content: object) -> Any:
    """Return the value that a cell with something in it stands for.

    A text that is no value of an enum, no date or too long comes back as it is: the catalog
    refuses it with its own words.

    Raises:
        Unreadable: it can be no value of the field.
    """
    if isinstance(content, Broken):
        raise Unreadable(f"holds the error {content.error}")
    if field.kind in _TEXTS:
        return _text(field, content)
    if field.kind in _NUMBERS:
        return _number(content)
    return _READERS[field.kind](content)


def say(field: Field, value: Any) -> str | int | float | bool:
    """Return what a cell holds for a valid value of its field; the inverse of `read`."""
    if field.kind is Kind.ENUM_LIST:
        return JOINT.join(value)
    if field.kind in _JSON:
        return json.dumps(value, ensure_ascii=False)
    return value  # type: ignore[no-any-return]


def _text(field: Field, content: object) -> str:
    match content:
        case str():
            return content.strip() if field.path == REFERENCE else content
        case bool() | date():
            _refuse(content, "text: format its cells as text")
        case float() if content.is_integer():
            return str(int(content))  # 8001 typed as a postal code
        case int() | float():
            return str(content)
    _refuse(content, "text")


def _number(content: object) -> Any:
    match content:
        case int() | float() if not isinstance(content, bool):
            is_whole = isinstance(content, float) and content.is_integer()
            return int(content) if is_whole and abs(content) < EXACT else content
        case str():
            return _number_of_text(content.strip())
    _refuse(content, "number")


def _number_of_text(text: str) -> int | float:
    plain = _GROUPING.sub("", text)
    comma = _COMMA.fullmatch(plain)
    if comma and len(comma[2]) == 3:  # an English thousand or a thousandth: nobody can know
        raise Unreadable(
            f"is unclear: {text!r} may be {comma[1]}{comma[2]} or {comma[1]}.{comma[2]}"
        )
    plain = f"{comma[1]}.{comma[2]}" if comma else plain
    if not _NUMBER.fullmatch(plain):
        raise Unreadable(f"must be a number, not {text[:40]!r}")
    is_whole = plain.lstrip("+-").isdecimal()
    return int(plain) if is_whole else _number(float(plain))


def _boolean(content: object) -> Any:
    word = str(content).strip().lower()
    if isinstance(content, bool | int | str) and word in _TRUE | _FALSE:
        return word in _TRUE
    _refuse(content, "yes or no: write true or false")


def _enum(content: object) -> str:
    return content.strip() if isinstance(content, str) else str(content)


def _enum_list(content: object) -> list[str]:
    return [item.strip() for item in _enum(content).split(JOINT) if item.strip()]


def _date(content: object) -> Any:
    match content:
        case datetime() if (content.hour, content.minute, content.second) != (0, 0, 0):
            raise Unreadable(f"must be a date, not the time {content}")
        case datetime() | date():
            return f"{content:%Y-%m-%d}"
        case str():
            return _iso_day(content.strip())
    _refuse(content, "date")


def _datetime(content: object) -> Any:
    match content:
        case datetime():  # Excel knows no time zones; without an offset it is UTC (A52)
            return f"{content:%Y-%m-%dT%H:%M:%S}Z"
        case date():
            return content.isoformat()
        case str():
            return _iso_day(content.strip())
    _refuse(content, "time")


def _iso_day(text: str) -> str:
    """Return 31.01.2026 as ISO writes it; with slashes it may be one of two days, and stays."""
    parts = _DAY.fullmatch(text)
    if not parts:
        return text
    day = f"{parts[3]}-{int(parts[2]):02}-{int(parts[1]):02}"
    return f"{day}T{parts[4]}Z" if parts[4] else day


def _json(content: object) -> Any:
    if not isinstance(content, str):
        _refuse(content, "list in JSON")
    try:
        return read_json(content)
    except ValueError as error:
        raise Unreadable(f"must be JSON: {error}") from error


def _refuse(content: object, wanted: str) -> NoReturn:
    kinds = {bool: "true or false", int: "a number", float: "a number"}
    kind = "a date" if isinstance(content, date) else kinds.get(type(content), "something else")
    raise Unreadable(f"holds {kind}, the column is a {wanted}")


_READERS: dict[Kind, Callable[[object], Any]] = {
    Kind.BOOLEAN: _boolean,
    Kind.ENUM: _enum,
    Kind.ENUM_LIST: _enum_list,
    Kind.DATE: _date,
    Kind.DATETIME: _datetime,
    Kind.OBJECT_LIST: _json,
    Kind.MAP: _json,
}
