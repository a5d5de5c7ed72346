"""Pure: converts a stored value to the text of an input, and the text of an input to a value.

A stored value of the wrong type (a number where the catalog wants a text) is shown as JSON, so that
people see it, and it is kept as long as nobody changes the input.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from crm_sync.json_values import read_json
from properties.catalog import Kind
from properties.catalog.instants import read_date, read_datetime

_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,10})?")
_GROUPING = re.compile(r"(?<=\d)['\u2019\s](?=\d{3}(\D|$))")  # 1'200, as the Swiss write it
_BREAK = re.compile(r"\r\n|\r")
_JSON = frozenset({Kind.OBJECT_LIST, Kind.OBJECT, Kind.MAP})
_NAMES = {"A_PLUS": "A+", "M2": "m²", "KM2": "km²", "DOES_NOT_APPLY": "Does not apply"}
_UNITS = {"m2": "m²", "m3": "m³", "kg/m2": "kg/m²", "deg WGS84": "°"}
_UNITS |= {"kWh/(m2*a)": "kWh/(m²·a)", "kg/(m2*a)": "kg/(m²·a)"}
_NO_UNIT = frozenset({"count", "ratio", "year"})  # the label says it
NEWER = "\u2013 newer than this app"
MONEY = "prices.currency"


class Unreadable(Exception):
    """The text is no value of the field; the message gives an example of one."""


def shown(kind: Kind, value: Any, zone: tzinfo) -> str | list[str]:
    """Return a stored value as its input shows it; an empty text for nothing."""
    if kind is Kind.ENUM_LIST:
        items = value if isinstance(value, list) else []
        return [item if isinstance(item, str) else json.dumps(item) for item in items]
    if value is None:
        return ""
    if isinstance(value, str) and kind not in _JSON:
        return _local(value, zone) if kind is Kind.DATETIME else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, indent=2 if kind in _JSON else None, ensure_ascii=False)


def same(kind: Kind, was: object, posted: object) -> bool:
    """Tell whether an input came back as it went out, up to what browsers do to line breaks."""
    if kind is Kind.ENUM_LIST:
        return sorted(was or []) == sorted(posted or [])  # type: ignore[call-overload, no-any-return]
    if kind is Kind.DATETIME:
        return _minutes(str(was)) == _minutes(str(posted))
    return _plain(was) == _plain(posted)


def read(kind: Kind, text: str, zone: tzinfo) -> Any:
    """Return the value that the text of an input stands for; None for an empty text.

    Raises:
        Unreadable: it is no value of this kind.
    """
    text = _BREAK.sub("\n", text).strip()
    if not text:
        return None
    if kind is Kind.DATETIME:
        return _datetime(text, zone)
    reader = _READERS.get(kind)
    return reader(text) if reader else text


def is_moment(kind: Kind, text: str) -> bool:
    """Tell whether a browser's own date or time input can show the text."""
    if not text:
        return True
    good = read_date(text) if kind is Kind.DATE else read_datetime(text) and "T" in text
    return bool(good)


def choice_name(value: str) -> str:
    """Return an enum value in words."""
    return _NAMES.get(value, value.replace("_", " ").capitalize())


def choices(known: tuple[str, ...], current: list[str]) -> list[tuple[str, str]]:
    """Return what a select offers: what is stored, in its order, and then our other values.

    A newer platform may read as UNKNOWN or hold a value that we do not know (§2.4): it is shown as
    such and kept while nobody touches it.
    """
    offered = [value for value in dict.fromkeys((*current, *known)) if value]
    return [
        (value, choice_name(value) if value in known else f"{value} {NEWER}") for value in offered
    ]


def unit(name: str, currency: str) -> str:
    """Return a unit as people write it; prices are in the currency of the property."""
    if name == MONEY:
        return currency
    return "" if name in _NO_UNIT else _UNITS.get(name, name)


def _plain(value: object) -> str:
    """Single-line inputs drop line breaks, textareas rewrite them and eat the first."""
    return re.sub(r"[\r\n]+", "\n", str(value or "")).strip()


def _local(text: str, zone: tzinfo) -> str:
    """Return an instant as a browser's time input shows it; a bare date and nonsense as it is."""
    instant = read_datetime(text)
    if instant is None or read_date(text):
        return text
    return instant.astimezone(zone).replace(tzinfo=None).isoformat(timespec="seconds")


def _minutes(text: str) -> str:
    """Browsers leave out seconds that are zero."""
    return text.strip().replace(" ", "T").removesuffix(":00") if text.count(":") > 1 else text


def _number(text: str) -> int | float:
    plain = _GROUPING.sub("", text)
    if not _NUMBER.fullmatch(plain):
        raise Unreadable("Must be a number such as 1200 or 4.5")
    return float(plain) if "." in plain else int(plain)


def _date(text: str) -> str:
    day: date | None = read_date(text)
    if day is None:
        raise Unreadable("Must be a date such as 2026-01-31")
    return day.isoformat()


def _datetime(text: str, zone: tzinfo) -> str:
    """Read what a time input posts, which is local time without an offset."""
    instant = read_datetime(text)
    if instant is None:
        raise Unreadable("Must be a time such as 2026-01-31 09:00")
    if not re.search(r"(Z|[+-]\d{2}:?\d{2})$", text) or read_date(text):
        instant = instant.replace(tzinfo=zone).astimezone(UTC)
    return _wire(instant)


def _wire(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


def _json(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise Unreadable(f"Must be JSON: {error}") from None


def _boolean(text: str) -> Any:
    return {"true": True, "false": False}.get(text, text)


_READERS: dict[Kind, Callable[[str], Any]] = {
    Kind.INTEGER: _number,
    Kind.DECIMAL: _number,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    **dict.fromkeys(_JSON, _json),
}
