"""Pure: converts a stored value to the text of an input, and the text of an input to a value.

Numbers and dates are read as the reader types them. What is shown is read back as the same value,
also in another language: somebody may change theirs while a page is open.

A stored value of the wrong type (a number where the catalog wants a text) is shown as JSON, so that
people see it, and it is kept as long as nobody changes the input.
"""

import json
import re
from datetime import tzinfo
from typing import Any

from django.utils.formats import get_format
from django.utils.translation import gettext

from crm_sync.json_values import read_json
from properties.catalog import Field, Kind, choice_name, parsing
from properties.catalog.instants import read_date, read_datetime
from properties.catalog.numbers import FRANCS, MONEY, Unreadable, shown_number, whole

_MOMENTS = frozenset({Kind.DATE, Kind.DATETIME})
_NUMBERS = frozenset({Kind.INTEGER, Kind.DECIMAL})
_SLASHES = re.compile(r"^(\d{1,2})/(\d{1,2})/(?=(?:\d{4}|\d{2})\b)", re.ASCII)
_BREAK = re.compile(r"\r\n|\r")
_JSON = frozenset({Kind.OBJECT_LIST, Kind.OBJECT, Kind.MAP})
_UNITS = {"m2": "m²", "m3": "m³", "kg/m2": "kg/m²", "deg WGS84": "°"}
_UNITS |= {"kWh/(m2*a)": "kWh/(m²·a)", "kg/(m2*a)": "kg/(m²·a)"}
_NO_UNIT = frozenset({"count", "ratio", "year"})  # the label says it


def shown(kind: Kind, value: Any, zone: tzinfo) -> str | list[str]:
    """Return a stored value as its input shows it; an empty text for nothing."""
    if kind is Kind.ENUM_LIST:
        items = value if isinstance(value, list) else []
        return [item if isinstance(item, str) else json.dumps(item) for item in items]
    if value is None:
        return ""
    if isinstance(value, str) and kind not in _JSON:
        return _local(value, zone) if kind is Kind.DATETIME else value
    if isinstance(value, int | float) and not isinstance(value, bool) and kind in _NUMBERS:
        return shown_number(whole(value))
    return json.dumps(value, indent=2 if kind in _JSON else None, ensure_ascii=False)


def same(kind: Kind, was: object, posted: object) -> bool:
    """Return whether an input is unchanged, apart from line breaks that browsers change."""
    if kind is Kind.ENUM_LIST:
        return sorted(was or []) == sorted(posted or [])  # type: ignore[call-overload, no-any-return]
    if kind is Kind.DATETIME:
        return _minutes(str(was)) == _minutes(str(posted))
    return _plain(was) == _plain(posted)


def read(field: Field, text: str, zone: tzinfo, currency: str = "") -> Any:
    """Return the value of the text of an input; None for an empty text.

    Of a date, the day may stand first with slashes where the reader writes it so.

    Args:
        zone: that of a time without an offset, as browsers post it.
        currency: that of the property, "" where none is set.

    Raises:
        Unreadable: it is no value of this kind.
    """
    text = _BREAK.sub("\n", text).strip()
    if not text:
        return None
    if field.kind in _JSON:
        return _json(text)
    if field.kind in _MOMENTS and "%d/%m/%Y" in get_format("DATE_INPUT_FORMATS"):
        text = _SLASHES.sub(r"\1.\2.", text)
    return parsing.read(
        field, text, zone, currency or FRANCS, thousands=get_format("THOUSAND_SEPARATOR")
    )


def is_moment(kind: Kind, text: str) -> bool:
    """Return whether a browser's own date or time input can show the text."""
    if not text:
        return True
    good = read_date(text) if kind is Kind.DATE else read_datetime(text) and "T" in text
    return bool(good)


def choices(known: tuple[str, ...], current: list[str]) -> list[tuple[str, str]]:
    """Return what a select offers: what is stored, in its order, and then our other values.

    A newer platform may read as UNKNOWN or hold a value that we do not know (§2.4): it is shown as
    such and kept while nobody touches it.
    """
    offered = [value for value in dict.fromkeys((*current, *known)) if value]
    return [(value, choice_name(value) if value in known else newer(value)) for value in offered]


def newer(value: str) -> str:
    """Return how a select names a value that we do not know."""
    return gettext("%(value)s \u2013 newer than this app") % {"value": value}


def unit(name: str, currency: str) -> str:
    """Return a unit as people write it; prices are in the currency of the property."""
    if name == MONEY:
        return currency
    return "" if name in _NO_UNIT else _UNITS.get(name, name)


def _plain(value: object) -> str:
    """Normalize line breaks as browsers do. A blank line is an edit: it begins a paragraph."""
    return _BREAK.sub("\n", str(value or "")).strip()


def _local(text: str, zone: tzinfo) -> str:
    """Return an instant as a browser's time input shows it; a bare date and nonsense as it is."""
    instant = read_datetime(text)
    if instant is None or read_date(text):
        return text
    return instant.astimezone(zone).replace(tzinfo=None).isoformat(timespec="seconds")


def _minutes(text: str) -> str:
    """Drop seconds that are zero, as browsers do."""
    return text.strip().replace(" ", "T").removesuffix(":00") if text.count(":") > 1 else text


def _json(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise Unreadable(str(error)) from None
