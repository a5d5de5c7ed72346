"""Texts and moments in the language of the reader.

A text that a module makes while it is loaded is lazy (`gettext_lazy`), since nobody reads it yet.
How a language writes a moment stands in `config/formats/`.
"""

from datetime import date, datetime
from typing import TYPE_CHECKING, TypeAlias

from django.utils.formats import date_format, get_format, number_format

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    Text: TypeAlias = str | _StrPromise
else:
    Text = str


def day_in_words(day: date) -> str:
    """Return a day as every page shows it: "Thu 12 Mar 2026"."""
    return date_format(day, "DATE_FORMAT")


def day_alone(day: date) -> str:
    """Return a day without its weekday: "12 Mar 2026"."""
    return date_format(day, get_format("DATE_FORMAT").removeprefix("D "))


def minute_in_words(at: datetime) -> str:
    """Return a moment to the minute in its own zone: "Thu 12 Mar 2026, 09:30 CET"."""
    return date_format(at, "SHORT_DATETIME_FORMAT")


def second_in_words(at: datetime) -> str:
    """Return a moment to the second in its own zone: "Thu 12 Mar 2026, 09:30:00 CET"."""
    return date_format(at, "DATETIME_FORMAT")


def number(count: int) -> str:
    """Return a number with its thousands apart: "26,000"."""
    return number_format(count, force_grouping=True)
