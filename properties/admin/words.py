"""Values in words for a cell, with the labels and units of the catalog instead of codes."""

import json
from collections.abc import Iterator
from datetime import time
from typing import Any

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.ui.cells import EMPTY
from crm_sync.platform.errors import Problem
from crm_sync.platform.problems import explain
from crm_sync.translated import day_in_words, minute_in_words, number, said_of
from properties.catalog import Field, Kind, choice_name, equal, find, inner_label, last_label
from properties.catalog.instants import read_datetime
from properties.catalog.numbers import MONEY, whole
from properties.domain.headline import grouped
from properties.forms.input_values import unit
from properties.members import below
from properties.models.property import ProblemKind

ROOMS = "numberOfRooms"
NOT_THERE = _("(not there)")  # a member that only the other value has

Member = tuple[str, str]  # label ("" for the value itself) and text


def worded(path: str, value: Any) -> str:
    """Return a value in words, each member of an object or a list on a line of its own."""
    return _joined(list(_members(path, value, ""))) or EMPTY


def in_one_line(path: str, value: Any) -> str:
    """Return a value in words, in one line."""
    return worded(path, value).replace("\n", ", ")


def worded_change(path: str, old: Any, new: Any) -> tuple[str, str]:
    """Return two values in words; if both have members, only the members that differ."""
    if equal(path, old, new) or None in (old, new):
        return worded(path, old), worded(path, new)
    before, after = list(_members(path, old, "")), list(_members(path, new, ""))
    return (
        _joined([member for member in before if member not in after]) or str(NOT_THERE),
        _joined([member for member in after if member not in before]) or str(NOT_THERE),
    )


def and_more(names: str, more: int) -> str:
    """Return the first names, and how many more there are."""
    if more <= 0:
        return names
    return gettext("%(names)s and %(count)s more") % {"names": names, "count": number(more)}


def rooms_in_words(value: object) -> str:
    """Return a number of rooms as "3½ rooms"; "" for none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if not value:
        return ""
    text = ngettext("%(count)s room", "%(count)s rooms", 1 if value == 1 else 2)
    return text % {"count": _with_half(value)}


def _with_half(value: float) -> str:
    """Return a number of rooms as the market writes it: "3½"."""
    rooms, half = divmod(value, 1)
    if half != 0.5 or rooms < 0:
        return number_format(whole(value))
    return f"{number_format(int(rooms)) if rooms else ''}½"


def problem_in_words(kind: str, problem: Problem) -> str:
    """Return why a field waits for a person; the platform's own words are marked as such."""
    found = explain(problem)
    if found.details or kind != ProblemKind.REFUSED:
        return str(found)
    return gettext("The platform refused it: %(words)s") % {"words": found.sentence}


def _joined(members: list[Member]) -> str:
    return "\n".join(said_of(name, text) if name else text for name, text in members)


def _members(path: str, value: Any, name: str) -> Iterator[Member]:
    """Yield the members of a value that are not empty, at any depth, with their labels."""
    field = find(path)
    if value in (None, "", [], {}):
        return
    if isinstance(value, dict):
        is_map = field is not None and field.kind is Kind.MAP
        in_words = inner_label if name else last_label
        for member, inner in value.items():
            inside = member if is_map else in_words(f"{path}.{member}")
            yield from _members(f"{path}.{member}", inner, below(name, inside))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for index, item in enumerate(value):
            yield from _members(f"{path}[{index}]", item, below(name, _item(item, index)))
    elif isinstance(value, list):
        yield name, ", ".join(_scalar(field, item) for item in value)
    else:
        yield name, _scalar(field, value)


def _item(item: Any, index: int) -> str:
    """Return the language of a text, else the number of the item, counted from 1."""
    language = item.get("languageCode") if isinstance(item, dict) else None
    return language if isinstance(language, str) and language else str(index + 1)


def _scalar(field: Field | None, value: Any) -> str:
    """Return a single value in words; a value that does not fit its field is unchanged."""
    if isinstance(value, bool):
        return gettext("Yes") if value else gettext("No")
    if isinstance(value, int | float):
        return _number(field, value)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if field is None:
        return value
    if value in field.enum:
        return choice_name(value)
    return _moment(value) if field.kind in (Kind.DATE, Kind.DATETIME) else value


def _number(field: Field | None, value: float) -> str:
    if field is not None and field.unit == MONEY:
        return grouped(whole(value))
    is_rooms = field is not None and field.name == ROOMS
    # The thousands of an area stand apart, those of a year or an id do not.
    is_amount = field is not None and bool(unit(field.unit, ""))
    amount = number_format(whole(value), force_grouping=is_amount)
    return f"{_with_half(value) if is_rooms else amount} {_unit(field)}".strip()


def _moment(text: str) -> str:
    """Return a day, or a time in the zone of the installation, as in the form and in tables.

    Midnight in UTC is shown as a day, since the platform writes a day so (A52).
    """
    instant = read_datetime(text)
    if instant is None:
        return text
    if instant.time() == time():
        return day_in_words(instant)
    return minute_in_words(instant.astimezone(timezone.get_default_timezone()))


def _unit(field: Field | None) -> str:
    return "" if field is None else unit(field.unit, "")
