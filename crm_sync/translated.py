"""Texts, moments and numbers in the language of the reader.

A text that a module makes while it is loaded is lazy (`gettext_lazy`), since nobody reads it yet.
How a language writes a moment stands in `config/formats/`.
"""

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from django.utils.formats import date_format, get_format, number_format
from django.utils.translation import gettext, gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    Text: TypeAlias = str | _StrPromise
else:
    Text = str

# Those of `settings.LANGUAGES` without their regions; the reader of a feed has no settings.
LANGUAGES = ("en", "de", "fr", "it")
UNITS: tuple[tuple[int, Text], ...] = (
    (86_400, _("%(count)s d")),
    (3_600, _("%(count)s h")),
    (60, _("%(count)s min")),
    (1, _("%(count)s s")),
)


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


def span(length: timedelta) -> str:
    """Return a length of time in its largest unit: "3 min"; milliseconds below a second."""
    seconds = length.total_seconds()
    for size, text in UNITS:
        if seconds >= size:
            return text % {"count": int(seconds // size)}
    return gettext("%(count)s ms") % {"count": max(0, round(seconds * 1000))}


def ago(length: timedelta) -> str:
    """Return how long ago something was: "3 min ago", "just now" below a second."""
    if length < timedelta(seconds=1):
        return gettext("just now")
    return gettext("%(span)s ago") % {"span": span(length)}


class Counted(int):
    """A number of things, by which a lazy text chooses its plural; shown as `number` does."""

    def __str__(self) -> str:
        return number(self)


class AtLeast(Counted):
    """A number of things, of which there are more: it is shown with a plus."""


def number(count: int) -> str:
    """Return a number with its thousands apart: "26,000", or "100,000+" if it is `AtLeast`."""
    grouped = number_format(int(count), force_grouping=True)
    return f"{grouped}+" if isinstance(count, AtLeast) else grouped


def said_of(name: object, text: object) -> str:
    """Return what is said of something, with its name: "Order 12: it could not be read"."""
    return gettext("%(name)s: %(text)s") % {"name": name, "text": text}
