"""What a cell holds and the value it stands for, both ways: what is written is read back.

A cell is a text, and in Excel also a number, a boolean or a date. `numbers` reads the numbers.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NoReturn

from crm_sync.json_values import read_json
from properties import catalog
from properties.catalog import Field, Kind
from properties.feeds.table import numbers
from properties.feeds.table.numbers import Formatted

EMPTY = "<empty>"  # clears the field; a cell that is empty says nothing
JOINT = "|"  # between the values of a list of enum values
REFERENCE = "objectReferenceId"

# A spreadsheet takes a text that begins so for a formula and may run it (CSV injection, CWE-1236);
# the full-width forms count where it has a Chinese or Japanese interface.
SIGN = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
FORMULA = re.compile(SIGN)
_MARK = r"\s*<empty>\s*\Z"
# One that splits a line elsewhere than we do may find a cell after these, quoted or not.
_SPLIT = r"[;\t\r\n]"
_LATER = f"(?<={_SPLIT})(?=['\"]*{SIGN})"
GUARDED_IN_CSV = re.compile(f"'*(?:{SIGN}|[\\t\\r\\n]|{_MARK})|(?s:.*){_LATER}")
_INNER = re.compile(_LATER)
_GUARDED_INNER = re.compile(f"(?<={_SPLIT})'(?=['\"]*{SIGN})")
GUARDED_IN_XLSX = re.compile(f"'*{_MARK}")  # its cells know their type: a text is no formula

# What Excel makes of true and false in the languages of Switzerland, and what people type.
_TRUE = frozenset({"true", "wahr", "vrai", "vero", "1", "yes", "y", "ja", "j", "oui", "si", "sì"})
_FALSE = frozenset({"false", "falsch", "faux", "falso", "0", "no", "n", "nein", "non"})

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
    """Put an apostrophe before what would be taken for a formula, or for the mark that clears.

    Where that is within the text, one stands before the whole text as well: so a text of somebody
    else that only looks like it is read as it is.
    """
    if not guarded.match(text):
        return text
    return "'" + (_INNER.sub("'", text) if guarded is GUARDED_IN_CSV else text)


def unguard(text: str, guarded: re.Pattern[str]) -> str:
    """Take the apostrophes away again; `guard` also guards what looks guarded: none gets lost."""
    if not (text.startswith("'") and guarded.match(text)):
        return text
    return _GUARDED_INNER.sub("", text[1:]) if guarded is GUARDED_IN_CSV else text[1:]


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
        return _number(field, content)
    if isinstance(content, Formatted):
        content = content.number
    if field.is_characteristic and (word := _yes_or_no(content)) is not None:
        return "APPLIES" if word else "DOES_NOT_APPLY"
    return _READERS[field.kind](content)


def say(field: Field, value: Any) -> str | int | float | bool:
    """Return what a cell holds for a valid value of its field; the inverse of `read`."""
    if field.kind is Kind.ENUM_LIST:
        return JOINT.join(value)
    if field.kind in _JSON:
        return json.dumps(value, ensure_ascii=False)
    return value  # type: ignore[no-any-return]


def in_csv(content: object) -> object:
    """Return what stands in CSV for what a cell holds: a text, or nothing."""
    match content:
        case bool():
            return str(content).lower()
        case int() | float():
            return numbers.say(content)
    return content


def _text(field: Field, content: object) -> str:
    match content:
        case str():
            return _spelled(field, content)
        case Formatted():
            return content.text
        case bool() | date():
            _refuse(content, "text: format its cells as text")
        case float() if content.is_integer():
            return str(int(content))  # 8001 typed as a postal code
        case int() | float():
            return str(content)
    _refuse(content, "text")


def _spelled(field: Field, text: str) -> str:
    """Return a text as its field spells it: `ch` is CH where that has to be in capitals."""
    plain = text.strip()
    if field.pattern and re.fullmatch(field.pattern, plain.upper()):
        return plain.upper()
    return plain if field.path == REFERENCE else text


def _number(field: Field, content: object) -> Any:
    match content:
        case Formatted() if content.is_percentage:
            return _percentage(field, numbers.from_percentage(content.number))
        case Formatted():
            return numbers.whole(content.number)
        case int() | float() if not isinstance(content, bool):
            return numbers.whole(content)
        case str():
            text = content.strip()
            number = _number_of_text(field, text.removesuffix(numbers.PERCENT).rstrip())
            return _percentage(field, number) if text.endswith(numbers.PERCENT) else number
    _refuse(content, "number")


def _number_of_text(field: Field, text: str) -> int | float:
    try:
        return numbers.read(text, lambda number: not catalog.validate(field.path, number))
    except numbers.NoNumber as error:
        raise Unreadable(str(error)) from error


def _percentage(field: Field, number: int | float) -> int | float:
    """Return a percentage in the unit of its field."""
    if field.unit == numbers.PERCENT:
        return number
    if field.unit == "ratio":
        return numbers.to_ratio(number)
    raise Unreadable(f"is a percentage, the column is a number{_in(field.unit)}")


def _in(unit: str) -> str:
    return f" in {unit}" if unit and "." not in unit else ""  # the unit of a price is a column


def _boolean(content: object) -> Any:
    word = _yes_or_no(content)
    if word is None:
        _refuse(content, "yes or no: write true or false")
    return word


def _yes_or_no(content: object) -> bool | None:
    word = str(content).strip().lower() if isinstance(content, bool | int | str) else ""
    return word in _TRUE if word in _TRUE | _FALSE else None


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
