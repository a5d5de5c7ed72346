"""A number of Excel and the format that it is shown in: leading zeros and percentages count."""

import re
from dataclasses import dataclass
from decimal import Decimal

from properties.catalog.numbers import PERCENT, Number, whole

_ZEROS = re.compile(r'(?:"[^"]*"|\\.|[-/ ()]|0)+')  # a format of digits and of texts beside them
_REGION = re.compile(r"\[[^\]]*\]")  # [$-807]
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|(.)')


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


def from_percentage(number: Number) -> Number:
    """Return 60 for 0.6, without what floats make of it."""
    return whole(float(Decimal(repr(number)) * 100))


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
