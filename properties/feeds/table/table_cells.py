"""Convert the content of a cell to its value and back: a written value is read back unchanged.

A cell is a text, in Excel also a number, a boolean or a date. `catalog.parsing` reads texts.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo
from decimal import Decimal
from typing import Any, NoReturn

from crm_sync.json_values import read_json
from crm_sync.sentence import Sentence, sentence
from properties.catalog import Field, Kind, instants, parsing
from properties.catalog.numbers import (
    FRANCS,
    PERCENT,
    Number,
    Unreadable,
    of_percentage,
    say_number,
    whole,
)

EMPTY = "<empty>"  # clears the field; an empty cell changes nothing
JOINT = "|"  # between the values of a list of enum values
REFERENCE = "objectReferenceId"
MIDNIGHT = time()

# A spreadsheet treats a text that begins with a sign as a formula and may run it (CSV injection,
# CWE-1236). With a Chinese or Japanese interface the full-width signs count too.
SIGN = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
FORMULA = re.compile(SIGN)
_MARK = r"\s*<empty>\s*\Z"
# A spreadsheet with other delimiters may start a cell after these, quoted or not.
_SPLIT = r"[;\t\r\n]"
_LATER = f"(?<={_SPLIT})(?=['\"]*{SIGN})"
GUARDED_IN_CSV = re.compile(f"'*(?:{SIGN}|[\\t\\r\\n]|{_MARK})|(?s:.*){_LATER}")
_INNER = re.compile(_LATER)
_GUARDED_INNER = re.compile(f"(?<={_SPLIT})'(?=['\"]*{SIGN})")
GUARDED_IN_XLSX = re.compile(f"'*{_MARK}")  # cells have a type: a text is no formula

_NUMBERS = frozenset({Kind.INTEGER, Kind.DECIMAL})
_MOMENTS = frozenset({Kind.DATE, Kind.DATETIME})
_JSON = frozenset({Kind.OBJECT_LIST, Kind.MAP})

_ZEROS = re.compile(r'(?:"[^"]*"|\\.|[-/ ()]|0)+')  # a format of digits and fixed texts
_REGION = re.compile(r"\[[^\]]*\]")  # [$-807]
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|(.)')


@dataclass(frozen=True, slots=True)
class CellError:
    """An error of a formula in Excel, such as #N/A."""

    error: str


@dataclass(frozen=True, slots=True)
class Formatted:
    """A number in a cell of Excel, with its format, such as `00000` or `0%`."""

    number: Number
    format: str

    @property
    def is_percentage(self) -> bool:
        """Whether 0.025 is shown as 2.5%."""
        return PERCENT in self.format

    @property
    def text(self) -> str:
        """The whole number as its format with leading zeros shows it, else the plain number."""
        number, form = whole(self.number), _of_digits(self.format)
        if not isinstance(number, int) or number < 0 or not form:
            return str(number)
        return _filled(form, str(number))

    @property
    def is_plain(self) -> bool:
        """Whether the format adds nothing to the number, such as `General` or `0.00`."""
        return not self.is_percentage and not _of_digits(self.format)


def _of_digits(form: str) -> str:
    """Return a format that shows leading zeros, without its region; "" for other formats."""
    first = _REGION.sub("", form.partition(";")[0])
    return first if first.count("0") > 1 and _ZEROS.fullmatch(first) else ""


def from_percentage(number: Number) -> Number:
    """Return 60 for 0.6, without the rounding error of floats."""
    return whole(float(Decimal(repr(number)) * 100))


def _filled(form: str, digits: str) -> str:
    """Return digits in a format, filled from the right. The first zero takes all further digits."""
    tokens = [
        ("0", "") if t[3] == "0" else ("", t[1] or t[2] or t[3]) for t in _TOKEN.finditer(form)
    ]
    left, shown = list(digits), []
    places = sum(1 for kind, _ in tokens if kind)
    for kind, text in reversed(tokens):
        if not kind:
            shown.append(text)
            continue
        places -= 1
        shown.append("".join(left) if left and not places else left.pop() if left else "0")
    return "".join(reversed(shown))


def guard(text: str, guarded: re.Pattern[str]) -> str:
    """Put an apostrophe before a text that would count as a formula or as the mark that clears.

    A formula within the text gets an apostrophe too. The text then always begins with one, so that
    a foreign text that only looks guarded is read unchanged.
    """
    if not guarded.match(text):
        return text
    return "'" + (_INNER.sub("'", text) if guarded is GUARDED_IN_CSV else text)


def unguard(text: str, guarded: re.Pattern[str]) -> str:
    """Remove the apostrophes of `guard`. It also guards texts that look guarded: none is lost."""
    if not (text.startswith("'") and guarded.match(text)):
        return text
    return _GUARDED_INNER.sub("", text[1:]) if guarded is GUARDED_IN_CSV else text[1:]


def clears(content: object) -> bool:
    """Return whether a cell holds the mark that clears its field."""
    return isinstance(content, str) and content.strip() == EMPTY


def says_nothing(content: object) -> bool:
    """Return whether a cell is empty."""
    return content is None or (isinstance(content, str) and not content.strip())


def read(field: Field, content: object, zone: tzinfo, currency: str = FRANCS) -> Any:
    """Return the value of a cell that is not empty.

    A text that is too long or is no value of an enum is returned unchanged: the catalog refuses it
    with its own message.

    Args:
        zone: the time zone of a time without an offset; Excel has no offsets.
        currency: the currency of the row, which an amount may repeat.

    Raises:
        Unreadable: the content cannot be a value of the field.
    """
    if isinstance(content, CellError):
        raise Unreadable(sentence("The cell holds the error %(error)s", error=content.error))
    if reader := _READERS.get(field.kind):
        return reader(field, content)
    if isinstance(content, str):
        return parsing.read(field, content.strip(), zone, currency)
    if field.kind in _NUMBERS:
        return _number(field, content)
    if isinstance(content, Formatted):
        content = content.number
    return (_moment if field.kind in _MOMENTS else _word)(field, content, zone)


def say(field: Field, value: Any, zone: tzinfo) -> str | int | float | bool:
    """Return the content of a cell for a valid value of its field; the inverse of `read`.

    A time is written in the given zone, with its offset.
    """
    if field.kind is Kind.DATETIME:
        return instants.local(value, zone)
    if field.kind is Kind.ENUM_LIST:
        return JOINT.join(value)
    if field.kind in _JSON:
        return json.dumps(value, ensure_ascii=False)
    return value  # type: ignore[no-any-return]


def in_csv(content: object) -> object:
    """Return the content of a cell for CSV: a text, or None."""
    match content:
        case bool():
            return str(content).lower()
        case int() | float():
            return say_number(content)
    return content


def _text(field: Field, content: object) -> str:
    match content:
        case str():
            return _spelled(field, content)
        case Formatted():
            return content.text
        case bool() | date():
            _refuse(content, sentence("Write a text, and format the cells as text"))
        case float() if content.is_integer():
            return str(int(content))  # 8001 typed as a postal code
        case int() | float():
            return str(content)
    _refuse(content, sentence("Write a text"))


def _spelled(field: Field, text: str) -> str:
    """Return a text as its field spells it: `ch` is CH if the field requires capitals."""
    plain = text.strip()
    if field.pattern and re.fullmatch(field.pattern, plain.upper()):
        return plain.upper()
    return plain if field.path == REFERENCE else text


def _number(field: Field, content: object) -> Any:
    match content:
        case Formatted() if content.is_percentage:
            shown = from_percentage(content.number)
            return of_percentage(field, f"{shown}%", shown)
        case Formatted():
            return whole(content.number)
        case int() | float() if not isinstance(content, bool):
            return whole(content)
    _refuse(content, sentence("Write a number"))


def _moment(field: Field, content: object, zone: tzinfo) -> str:
    """Return a day or a time; Excel stores a day as its midnight."""
    match content:
        case datetime() if content.time() != MIDNIGHT:
            return str(parsing.read(field, content.isoformat(), zone))
        case date():
            return f"{content:%Y-%m-%d}"
    is_day = field.kind is Kind.DATE
    _refuse(content, sentence("Write a date") if is_day else sentence("Write a date and a time"))


def _word(field: Field, content: object, zone: tzinfo) -> Any:
    """Return yes or no, or a word of an enum, for a cell that Excel stores as TRUE or a number."""
    if isinstance(content, bool | int):
        return parsing.read(field, str(content), zone)
    if field.kind is Kind.BOOLEAN:
        _refuse(content, sentence("Write yes or no"))
    return str(content)


def _enum_list(_: Field, content: object) -> list[str]:
    content = content.number if isinstance(content, Formatted) else content
    return [item.strip() for item in str(content).split(JOINT) if item.strip()]


def _json(_: Field, content: object) -> Any:
    if not isinstance(content, str):
        _refuse(content, sentence("Write JSON"))
    try:
        return read_json(content)
    except ValueError as error:
        raise Unreadable(str(error)) from error


def _refuse(content: object, wanted: Sentence) -> NoReturn:
    kind = sentence("something else")
    if isinstance(content, bool):
        kind = sentence("true or false")
    elif isinstance(content, int | float | Formatted):
        kind = sentence("a number")
    elif isinstance(content, date):
        kind = sentence("a date")
    raise Unreadable(
        sentence("%(wanted)s: the cell holds %(content)s", wanted=wanted, content=kind)
    )


_READERS: dict[Kind, Callable[[Field, object], Any]] = {
    Kind.STRING: _text,
    Kind.TEXT: _text,
    Kind.ENUM_LIST: _enum_list,
    Kind.OBJECT_LIST: _json,
    Kind.MAP: _json,
}
