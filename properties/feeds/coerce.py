"""Convert a value of a feed to the type of its field in the catalog.

A value that does not fit its type is returned unchanged: the catalog then refuses it with a message
that a person understands. Values without a field are returned as the rest.
"""

import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, tzinfo
from functools import partial
from typing import Any

from properties import catalog
from properties.catalog import parsing
from properties.catalog.numbers import Unreadable, number, whole
from properties.feeds import limits

_BREAK = re.compile(r"[\r\n\t]")  # layout of the file, no part of a short text
_BLANKS = re.compile(r"\s+")
_LEADS_ON = re.compile(r"[.\[]")

Fitted = tuple[Any, Any]  # the converted value and the rest; either can be None


def coerce(path: str, value: Any, zone: tzinfo = UTC) -> Fitted:
    """Return a feed's value in the type of the field at `path`, and the rest without a field.

    Words become constants (`heatpump-air-and-water`: HEATPUMP_AIR_AND_WATER), and texts become
    numbers if the field is a number. Texts are trimmed. Empty values are omitted, and so is UNKNOWN
    of an enum outside `characteristics`, where it is a value.

    Args:
        zone: the time zone of a time without an offset.

    Raises:
        TooLong: a text is longer than MAX_TEXT.
    """
    field = catalog.find(path)
    if field is None:
        return None, value
    if isinstance(value, dict):
        return (_element if field.kind.is_scalar else _object)(path, value, zone)
    if isinstance(value, list) and field.kind is catalog.Kind.OBJECT_LIST:
        return _objects(path, value, zone)
    if isinstance(value, list) and field.kind is catalog.Kind.ENUM_LIST:
        words = [_word(field, item) for item in value]
        return list(dict.fromkeys(word for word in words if word)) or None, None
    return _scalar(field, value, zone), None


def constant(word: Any) -> str:
    """Return a SwissRETS word as a constant: `Minergie-P-Eco` is MINERGIE_P_ECO."""
    return str(word).strip().replace("-", "_").upper()


def flatten(prefix: str, rest: Any) -> Iterator[tuple[str, Any]]:
    """Yield the rest of a record as (path, value), without empty values."""
    if isinstance(rest, dict):
        for name, member in rest.items():
            joint = "" if name.startswith("[") or not prefix else "."
            yield from flatten(f"{prefix}{joint}{name}", member)
    elif rest not in (None, "", []):
        if isinstance(rest, str):
            limits.check(prefix, rest)
        yield prefix, rest


def _element(path: str, value: dict[str, Any], zone: tzinfo) -> Fitted:
    """Convert a single value that has attributes. The attributes are the rest."""
    text = value.pop("text", None)
    return coerce(path, text, zone)[0], value or None


def _object(path: str, value: dict[str, Any], zone: tzinfo) -> Fitted:
    """Convert the members of an object. Members without a field are the rest."""
    fitted, rest = {}, {}
    for name, member in value.items():
        if _LEADS_ON.search(name):  # "rent.net" is the name of one member, not a path
            good, left = None, member
        else:
            good, left = coerce(f"{path}.{name}", member, zone)
        if good is not None:
            fitted[name] = good
        if left is not None:
            rest[name] = left
    return fitted or None, rest or None


def _objects(path: str, value: list[Any], zone: tzinfo) -> Fitted:
    """Convert the items of a list of objects. The rest is stored by the number of its item."""
    pairs = [coerce_item(path, item, zone) for item in value]
    rest = {f"[{index}]": left for index, (_, left) in enumerate(pairs) if left is not None}
    return [good for good, _ in pairs if good is not None] or None, rest or None


def coerce_item(path: str, item: Any, zone: tzinfo = UTC) -> Fitted:
    """Convert one item of a list. An item that is no object is returned for the catalog to refuse.

    The rest are the members without a field.
    """
    return _object(f"{path}[]", item, zone) if isinstance(item, dict) else (item, None)


def _scalar(field: catalog.Field, value: Any, zone: tzinfo) -> Any:
    """Convert a single value; None if it is empty."""
    if isinstance(value, str):
        limits.check(field.path, value)
        value = value.strip()
    if value is None or value == "":
        return None
    if form := _FORMS.get(field.path):
        return form(value)
    if field.kind is catalog.Kind.DATETIME:
        return _read(partial(parsing.moment, zone=zone), value)
    return value


def _word(field: catalog.Field, word: Any) -> Any:
    """Return a word as a constant of its field; None for UNKNOWN outside `characteristics`.

    An unknown word is returned unchanged, so that people find it in their feed.
    """
    said = constant(word)
    if said not in field.enum and field.is_characteristic:
        said = parsing.read(field, said, UTC)
    if said in field.enum:
        return said
    if said == catalog.UNKNOWN:
        return said if field.is_characteristic else None
    return word.strip() if isinstance(word, str) else said


def _in_one_line(text: Any) -> Any:
    """Return a text in which each run of blanks with a line break or tab is one blank.

    Two patterns need linear time. A single pattern would try again at each blank.
    """
    if not isinstance(text, str):
        return _text(text)
    if not _BREAK.search(text):
        return text
    return _BLANKS.sub(lambda run: " " if _BREAK.search(run[0]) else run[0], text)


def _text(value: Any) -> Any:
    """Return a number as text: ids and postal codes can be numbers or texts (A7)."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def _number(field: catalog.Field, value: Any) -> Any:
    """Return a number. Whole numbers become integers, so that 4, 4.0 and "4" have one digest."""
    if isinstance(value, str):
        return _read(partial(number, field, decimal_point=True), value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such number
    return whole(value)


def _read(read: Callable[[str], Any], value: Any) -> Any:
    """Return the value of a text, or the text itself if unreadable: the catalog refuses it."""
    try:
        return read(value) if isinstance(value, str) else value
    except Unreadable:
        return value


_BY_KIND: dict[catalog.Kind, Callable[[Any], Any]] = {
    catalog.Kind.STRING: _in_one_line,
    catalog.Kind.TEXT: _text,
    catalog.Kind.BOOLEAN: partial(_read, parsing.yes_or_no),
    catalog.Kind.DATE: partial(_read, parsing.day),
}


def _form(field: catalog.Field) -> Callable[[Any], Any] | None:
    if field.kind is catalog.Kind.ENUM:
        return partial(_word, field)
    if field.kind in {catalog.Kind.INTEGER, catalog.Kind.DECIMAL}:
        return partial(_number, field)
    return _BY_KIND.get(field.kind)


# Built once, by path: a record has about sixty values, and a feed a hundred thousand records.
_FORMS = {path: form for path, field in catalog.FIELDS.items() if (form := _form(field))}
