"""Convert a value of a feed to the type of its field in the catalog.

What does not fit its type is left as it is, and the catalog refuses it with a message that a
person understands; what has no field at all comes back as the rest.
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

_BREAK = re.compile(r"[\r\n\t]")  # how a file was laid out is no part of a short text
_BLANKS = re.compile(r"\s+")
_LEADS_ON = re.compile(r"[.\[]")

Fitted = tuple[Any, Any]  # what fits, and the rest of it; None where there is nothing


def coerce(path: str, value: Any, zone: tzinfo = UTC) -> Fitted:
    """Return a feed's value as the field at `path` holds it, and what had no place in it.

    Words become constants (`heatpump-air-and-water`: HEATPUMP_AIR_AND_WATER), texts numbers where
    the field is a number, texts are trimmed, empty values and UNKNOWN of an enum are left out
    (outside `characteristics`, where it is a value).

    Args:
        zone: that of a time without an offset.

    Raises:
        TooLong: a text is longer than any field of any feed.
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
    """Return a SwissRETS word as the platform writes it: `Minergie-P-Eco` is MINERGIE_P_ECO."""
    return str(word).strip().replace("-", "_").upper()


def flatten(prefix: str, rest: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is left of a record as (path, value); empty values are dropped."""
    if isinstance(rest, dict):
        for name, member in rest.items():
            joint = "" if name.startswith("[") or not prefix else "."
            yield from flatten(f"{prefix}{joint}{name}", member)
    elif rest not in (None, "", []):
        if isinstance(rest, str):
            limits.check(prefix, rest)
        yield prefix, rest


def _element(path: str, value: dict[str, Any], zone: tzinfo) -> Fitted:
    """Fit a single value that has attributes of its own: they are the rest."""
    text = value.pop("text", None)
    return coerce(path, text, zone)[0], value or None


def _object(path: str, value: dict[str, Any], zone: tzinfo) -> Fitted:
    """Fit the members of an object; those without a field are the rest."""
    fitted, rest = {}, {}
    known = catalog.members(path)
    for name, member in value.items():
        left = None
        if (field := known.get(name)) and not isinstance(member, dict | list):
            good = _scalar(field, member, zone)
        elif _LEADS_ON.search(name):  # "rent.net" is the name of a member, and not the way to one
            good, left = None, member
        else:
            good, left = coerce(f"{path}.{name}", member, zone)
        if good is not None:
            fitted[name] = good
        if left is not None:
            rest[name] = left
    return fitted or None, rest or None


def _objects(path: str, value: list[Any], zone: tzinfo) -> Fitted:
    """Fit the items of a list of objects; the rest knows the number of its item."""
    pairs = [coerce_item(path, item, zone) for item in value]
    rest = {f"[{index}]": left for index, (_, left) in enumerate(pairs) if left is not None}
    return [good for good, _ in pairs if good is not None] or None, rest or None


def coerce_item(path: str, item: Any, zone: tzinfo = UTC) -> Fitted:
    """Fit one item of a list of objects; what is no object stays, for the catalog to refuse."""
    return _object(f"{path}[]", item, zone) if isinstance(item, dict) else (item, None)


def _scalar(field: catalog.Field, value: Any, zone: tzinfo) -> Any:
    """Fit a single value; None if it is empty."""
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
    """Return a word as a constant of its field, None for UNKNOWN.

    A word that the field does not have is not changed, so that people find it in their feed.
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
    """Return a text with one blank for each run of blanks that breaks the line.

    In time that grows with the text: one pattern for the whole would try each blank of it again.
    """
    if not isinstance(text, str):
        return _text(text)
    if not _BREAK.search(text):
        return text
    return _BLANKS.sub(lambda run: " " if _BREAK.search(run[0]) else run[0], text)


def _text(value: Any) -> Any:
    """Return a number as text: ids and postal codes can be either (A7)."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def _number(field: catalog.Field, value: Any) -> Any:
    """Return a number, whole ones as integers so that 4, 4.0 and "4" have one digest."""
    if isinstance(value, str):
        return _read(partial(number, field, decimal_point=True), value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # no JSON holds it
    return whole(value)


def _read(read: Callable[[str], Any], value: Any) -> Any:
    """Return the value of a text; if it has none, the text itself, for the catalog to refuse."""
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


# By path, and once for all: a record has some sixty values, and a feed a hundred thousand records.
_FORMS = {path: form for path, field in catalog.FIELDS.items() if (form := _form(field))}
