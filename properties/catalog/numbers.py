"""Read a number from a text as people and programs write it.

Point and comma are marks with the same rule. One that stands there several times, or before the
other one, groups thousands; the last of two different ones is the decimal mark, and so is a single
one. But a single one with exactly three digits behind it (`1.250`, `1,250`) may be either: where
the field can mean both, the number is unclear. `'` and blanks group thousands.

A form knows the language of its reader. If the single mark groups thousands there, it does so here:
`1.250` is 1250 in German, `1,250` is 1250 in English. The other mark stays unclear before three
digits: three decimals are rare, and some people group with it, so that a number would become a
thousand times too small. Files, the API and commands have no reader.
"""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn

from django.utils.formats import get_format
from django.utils.translation import gettext

from crm_sync.text import quoted
from properties.catalog.field import Field
from properties.catalog.ranges import is_likely

Number = int | float

EXACT = 2**53  # above it, a float means several whole numbers
PERCENT = "%"
MONEY = "prices.currency"  # the unit of an amount: the currency of its property
FRANCS = "CHF"
LONGEST = 60  # characters; what is longer is no number

_QUICK = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.(?:\d{1,2}|\d{4,12}))?", re.ASCII)
_EXPONENT = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)[eE][+-]?\d{1,3}", re.ASCII)
_ABOUT = r"\s*(?:(?:circa|ca\.?|environ|env\.?|rund|~)\s*)?"
_AMOUNT = re.compile(
    rf"{_ABOUT}(?:([a-z]{{2,3}}|€)\.?\s*)?{_ABOUT}"
    r"([+\-\u2212]?)([.\d][\d'\u2019\u00b4`., \u00a0\u2009\u202f]*)?(½)?\s*(.*)",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_ROUND = re.compile(r"(?<=\d)[.,]\s*[-\u2013\u2014]{1,2}(?=\D*\Z)")  # 1'250.- is a round sum
# Marks of thousands, of one kind, and a mark of decimals of another kind.
_DIGITS = re.compile(
    r"([1-9]\d{0,2}(?:(['\u2019\u00b4` \u00a0\u2009\u202f.,])\d{3})(?:\2\d{3})*|\d*)"
    r"(?:([.,])(\d*))?",
    re.ASCII,
)
_POINTS = (".", ",")
_HALF = re.compile(r"[ \u00a0\u202f]1/2(?!\d)")
_MINUS = ("-", "\u2212")
_UNCLEAR = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
# The words allowed after a number, in small letters and with 2 for ².
_UNITS = {
    "m": frozenset({"m", "meter"}),
    "m2": frozenset({"m2", "qm", "m^2"}),
    "m3": frozenset({"m3", "m^3"}),
    "kg": frozenset({"kg"}),
    "kg/m2": frozenset({"kg/m2", "kg"}),
    "deg WGS84": frozenset({"°"}),
}
_ROOMS = frozenset({"zimmer", "zi", "pièces", "pièce", "pces", "locali", "rooms"})
_CURRENCIES = {FRANCS: frozenset({"chf", "fr", "sfr"}), "EUR": frozenset({"eur", "€"})}
_NAMES = {"m": "m", "m2": "m²", "m3": "m³", "kg": "kg", "kg/m2": "kg/m²", PERCENT: PERCENT}
_FLOOR = re.compile(r"(\d{1,3})\.?\s*(OG|UG|STOCK|ETAGE|ÉTAGE|PIANO|OBERGESCHOSS|UNTERGESCHOSS)")
_FLOORS = {
    **dict.fromkeys(("EG", "ERDGESCHOSS", "PARTERRE", "HOCHPARTERRE", "REZ", "REZ-DE-CHAUSSÉE"), 0),
    **dict.fromkeys(("UG", "UNTERGESCHOSS", "SOUS-SOL"), -1),
}


class Unreadable(Exception):
    """A text is no value of its field; the message is a sentence for people."""


def number(
    field: Field,
    text: str,
    *,
    currency: str = FRANCS,
    decimal_point: bool = False,
    thousands: str = "",
) -> Number:
    """Return the number in a text: `112 m2`, `1'250.--`, `4,5`, `4½`, `EG` of a floor.

    Args:
        currency: the one that may stand beside an amount.
        decimal_point: the format of the text defines the point as the decimal mark.
        thousands: the mark that groups thousands in the language of who typed the text.

    Raises:
        Unreadable: it is none, has a unit of another field, or may be one of two numbers.
    """
    plain = text.strip()
    if _QUICK.fullmatch(plain):
        return whole(float(plain)) if "." in plain else int(plain)
    if len(plain) > LONGEST:
        if plain.lstrip("+-").isdecimal():
            raise Unreadable(gettext("%(text)s is too large") % {"text": quoted(text)})
        _refuse_number(text)
    if field.name == "floor" and (floor := _floor(plain.upper())) is not None:
        return floor
    if _EXPONENT.fullmatch(plain):
        return _finite(text, float(plain))
    plain, rounded = _ROUND.subn("", _HALF.sub("½", plain))
    found = _AMOUNT.fullmatch(plain)
    if found is None or not (found[3] or found[4]):
        _refuse_number(text)
    before, sign, digits, half, behind = found.groups()
    beside = _words_beside(field, currency)
    unit = behind.strip(" .").lower().replace("²", "2").replace("³", "3")
    if (before and before.lower() not in beside) or (unit and unit not in {*beside, PERCENT}):
        _refuse_number(text, currency if field.unit == MONEY else _NAMES.get(field.unit, ""))
    minus = -1 if sign in _MINUS else 1
    fits = _fits(field, minus)
    value = _unsigned(text, digits or "0", bool(rounded), decimal_point, thousands, fits)
    if half:
        value = value + 0.5 if isinstance(value, int) else _refuse_number(text)
    return of_percentage(field, text, minus * value) if unit == PERCENT else minus * value


def say_number(value: Number) -> str:
    """Return a number as a text that `number` reads back: 1.125 is written 1.1250."""
    text = str(value)
    return f"{text}0" if _UNCLEAR.fullmatch(text) else text


def shown_number(value: Number) -> str:
    """Return a number as an input shows it: with the reader's decimal mark, without groups.

    `number` reads it back as the same number in each language.
    """
    text = say_number(value)
    return text if "e" in text else text.replace(".", get_format("DECIMAL_SEPARATOR"))


def whole(value: Number) -> Number:
    """Return 4.0 as 4, if nothing is lost."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < EXACT
    return int(value) if is_whole else value


def of_percentage(field: Field, shown: object, percent: Number) -> Number:
    """Return what a percentage is in the unit of its field: 60 is 0.6 of a ratio.

    Raises:
        Unreadable: the field is neither; `shown` is how the percentage stands in the feed.
    """
    if field.unit == PERCENT:
        return percent
    if field.unit == "ratio":
        return whole(float(Decimal(repr(percent)) / 100))
    said = {"text": quoted(shown), "unit": _NAMES.get(field.unit, "")}
    if said["unit"]:
        raise Unreadable(gettext("%(text)s is a percentage, not a number in %(unit)s") % said)
    raise Unreadable(gettext("%(text)s is a percentage, not a number") % said)


def _words_beside(field: Field, currency: str) -> frozenset[str]:
    """Return the words allowed beside a number: its unit, or the currency of an amount."""
    if field.unit == MONEY:
        return _CURRENCIES.get(currency, frozenset({currency.lower()}))
    return _ROOMS if field.name == "numberOfRooms" else _UNITS.get(field.unit, frozenset())


def _fits(field: Field, minus: int) -> Callable[[Number], bool]:
    return lambda value: is_likely(field, minus * value)


def _unsigned(
    text: str,
    digits: str,
    rounded: bool,
    decimal_point: bool,
    thousands: str,
    fits: Callable[[Number], bool],
) -> Number:
    """Return the number that digits and their marks mean.

    Args:
        rounded: a mark behind them said that there are no decimals.
        fits: whether the field can mean a number; asked only where the digits may be two.
    """
    found = _DIGITS.fullmatch(digits.rstrip(" \u00a0\u2009\u202f"))
    if found is None or not (found[1] or found[4]):
        _refuse_number(text)
    groups, mark, point, decimals = found.groups()
    is_open_end = point and not decimals and point != "."  # "1250," is cut off
    if is_open_end or (point and (point == mark or rounded or not (groups or point == "."))):
        _refuse_number(text)
    whole_part = re.sub(r"\D", "", groups)
    if mark in _POINTS and not point and not rounded and groups.count(mark) == 1:
        before, behind = groups.split(mark)
        if decimal_point and mark == ".":
            return whole(float(f"{before}.{behind}"))
        decimal = float(f"{before}.{behind}")
        return _likely(text, int(whole_part), decimal, fits, is_group=mark == thousands)
    if not decimals:
        return int(whole_part)
    return _finite(text, float(f"{whole_part}.{decimals}"))


def _likely(
    text: str, thousands: int, decimal: float, fits: Callable[[Number], bool], *, is_group: bool
) -> Number:
    """Return the only one of two numbers that fits; if both do, the one that the reader means."""
    found = [value for value in (thousands, whole(decimal)) if fits(value)]
    if len(found) == 2 and is_group:
        return thousands
    if len(found) != 1:
        said = gettext("%(text)s is unclear: write %(first)s or %(second)s")
        second = shown_number(whole(decimal))
        values = {"text": quoted(text), "first": thousands, "second": second}
        raise Unreadable(said % values)
    return found[0]


def _floor(text: str) -> int | None:
    """Return the floor that a text names: EG is 0, 2. UG is -2."""
    if counted := _FLOOR.fullmatch(text):
        return -int(counted[1]) if counted[2].startswith("U") else int(counted[1])
    return _FLOORS.get(text)


def _finite(text: str, value: float) -> Number:
    if not math.isfinite(value):
        raise Unreadable(gettext("%(text)s is too large") % {"text": quoted(text)})
    return whole(value)


def _refuse_number(text: str, unit: str = "") -> NoReturn:
    said = {"text": quoted(text), "unit": unit}
    if unit:
        raise Unreadable(gettext("%(text)s is not a number in %(unit)s") % said)
    raise Unreadable(gettext("%(text)s is not a number such as 1200 or 4.5") % said)
