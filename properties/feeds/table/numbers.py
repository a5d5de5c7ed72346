"""Numbers as people write them and as spreadsheets show them.

Point and comma are marks with the same rule. One that stands there several times, or before the
other one, groups thousands; the last of two different ones is the decimal mark, and so is a single
one. But a single one with exactly three digits behind it (`1.250`, `1,250`) may be either: where
the field can mean both, the number is unclear. `'` and blanks group thousands.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

EXACT = 2**53  # beyond it a float stands for several whole numbers
PERCENT = "%"

_BLANKS = re.compile(r"(?<=\d)['\u2019\u00a0\u2009\u202f ](?=\d{3}(?:\D|\Z))")  # 1'200
_ROUND = re.compile(r"(?<=\d)\.(?:[-\u2013\u2014]|--)\Z")  # 1'250.- is a round sum in Switzerland
_PLAIN = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_MARKED = re.compile(r"([+-]?)([\d.,]*)([.,])(\d*)")  # sign, before the last mark, it, behind it
_GROUPS = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")
_UNCLEAR = re.compile(r"([+-]?[1-9]\d{0,2})[.,](\d{3})")
_ZEROS = re.compile(r'(?:"[^"]*"|\\.|[-/ ()]|0)+')  # a format of digits and of texts beside them
_REGION = re.compile(r"\[[^\]]*\]")  # [$-807]
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|(.)')

Number = int | float


class NoNumber(Exception):
    """A text stands for no number; says why."""


@dataclass(frozen=True, slots=True)
class Formatted:
    """A number in a cell of Excel, and the format that it is shown in, such as `00000` or `0%`."""

    number: Number
    format: str

    @property
    def is_percentage(self) -> bool:
        """Whether 0.025 is shown as 2.5%."""
        return PERCENT in self.format

    @property
    def text(self) -> str:
        """What is shown of a whole number in a format with leading zeros, else the number."""
        number, form = whole(self.number), _of_digits(self.format)
        if not isinstance(number, int) or number < 0 or not form:
            return str(number)
        return _filled(form, str(number))

    @property
    def is_plain(self) -> bool:
        """Whether the format says no more than the number, such as `General` or `0.00`."""
        return not self.is_percentage and not _of_digits(self.format)


def _of_digits(form: str) -> str:
    """Return a format that shows leading zeros, without its region; empty for any other."""
    first = _REGION.sub("", form.partition(";")[0])
    return first if first.count("0") > 1 and _ZEROS.fullmatch(first) else ""


def whole(number: Number) -> Number:
    """Return 4.0 as 4, as long as nothing is lost."""
    is_whole = isinstance(number, float) and number.is_integer() and abs(number) < EXACT
    return int(number) if is_whole else number


def read(text: str, fits: Callable[[Number], bool]) -> Number:
    """Return the number that a text stands for.

    Args:
        fits: whether the field can mean a number; asked only where a text may be two.

    Raises:
        NoNumber: it is none, or may be two.
    """
    plain, groups = _BLANKS.subn("", text)
    plain, is_round = _ROUND.subn("", plain)
    if is_round and _GROUPS.fullmatch(plain):
        plain = re.sub("[.,]", "", plain)
    unclear = None if groups or is_round else _UNCLEAR.fullmatch(plain)
    if unclear:
        thousands, decimal = "".join(unclear.groups()), ".".join(unclear.groups())
        found = [n for n in (_number(thousands), _number(decimal)) if fits(n)]
        if len(found) != 1:
            raise NoNumber(f"is unclear: {text!r} may be {thousands} or {decimal}")
        return found[0]
    if not _PLAIN.fullmatch(plain):
        plain = _with_point(plain)
    if not _PLAIN.fullmatch(plain) or (is_round and not plain.isdecimal()):
        raise NoNumber(f"must be a number, not {text[:40]!r}")
    return _number(plain)


def say(number: Number) -> str:
    """Return a number as a text that `read` takes for this one: 1.125 is written 1.1250."""
    text = str(number)
    return f"{text}0" if _UNCLEAR.fullmatch(text) else text


def from_percentage(number: Number) -> Number:
    """Return 60 for 0.6, without what floats make of it."""
    return whole(float(Decimal(repr(number)) * 100))


def to_ratio(number: Number) -> Number:
    """Return 0.6 for 60."""
    return whole(float(Decimal(repr(number)) / 100))


def _with_point(text: str) -> str:
    """Return a text of digits and marks without groups, and with a point where decimals begin."""
    marked = _MARKED.fullmatch(text)
    if not marked:
        return text
    sign, before, mark, behind = marked.groups()
    if mark in before:  # the only mark there is, or it is not a number
        groups = _GROUPS.fullmatch(f"{before}{mark}{behind}")
        return f"{sign}{before}{behind}".replace(mark, "") if groups else text
    if "." in before or "," in before:
        groups = _GROUPS.fullmatch(before)
        return f"{sign}{re.sub('[.,]', '', before)}.{behind}" if groups else text
    return f"{sign}{before}.{behind}" if before and behind else text


def _number(plain: str) -> Number:
    return int(plain) if plain.lstrip("+-").isdecimal() else whole(float(plain))


def _filled(form: str, digits: str) -> str:
    """Return digits in a format, from the right; those that are left stand at the first zero."""
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
