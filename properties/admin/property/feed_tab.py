"""The values of the last feed that have no field: addresses as links, others as text.

The addresses are a section of the pictures and documents, the other values a section of the data.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from crm_sync.admin.ui.cells import is_web_address, outside_link, two_lines
from crm_sync.hooks import PropertyTab, Section
from properties.admin.words import in_one_line, worded
from properties.catalog import label, last_label
from properties.models import Property

MOST = 100  # of each kind: the page stays short, whatever a feed says
LONGEST = 300  # characters of one text
_NUMBERS = re.compile(r"(\d+)")
_DIGITS = 20
_FLAGS = "characteristics."

Said = tuple[str, Any]  # the path in the feed, and the value there


class FromFeed(NamedTuple):
    """The addresses and other values to show, and the numbers of those that are not shown."""

    addresses: list[SafeString]
    more_addresses: int
    values: list[tuple[str, str]]
    more_values: int


def from_feed_sections(row: Property) -> list[Section]:
    """Return the sections with the values of the feed that have no field, if there are any."""
    if not row.leftover:
        return []
    shown = from_feed(row.leftover)
    values = len(shown.values) + shown.more_values
    links = len(shown.addresses) + shown.more_addresses
    return [
        Section(
            *(slug, gettext("From the feed"), count),
            render_to_string(f"properties/from_feed_{kind}.html", {"feed": shown}),
            *("properties.view_property", tab),
        )
        for slug, kind, count, tab in (
            ("feed", "values", values, PropertyTab.DATA),
            ("feed-links", "links", links, PropertyTab.PICTURES),
        )
        if count
    ]


def from_feed(leftover: dict[str, Any]) -> FromFeed:
    """Return the values of a feed to show. No address is loaded.

    A value that begins with http:// or https:// is an address (S18). All others are text.
    """
    addresses: list[Said] = []
    values: list[Said] = []
    for path in sorted(leftover, key=_natural):
        for said in _parts(path, leftover[path]):
            (addresses if _address(said[1]) else values).append(said)
    return FromFeed(
        [_linked(path, value) for path, value in addresses[:MOST]],
        max(len(addresses) - MOST, 0),
        [(label(path.removeprefix(_FLAGS)), _cut(worded(path, v))) for path, v in values[:MOST]],
        max(len(values) - MOST, 0),
    )


def _natural(path: str) -> list[str]:
    """Sort `picture_10` behind `picture_9`."""
    return [part.zfill(_DIGITS) if part.isdecimal() else part for part in _NUMBERS.split(path)]


def _parts(path: str, value: Any) -> Iterator[Said]:
    """Yield the items of a value, as deep as it has lists and addresses."""
    if isinstance(value, list) and any(_holds(item) for item in value):
        for index, item in enumerate(value):
            yield from _parts(f"{path}[{index}]", item)
    elif isinstance(value, dict) and not _address(value) and any(map(_holds, value.values())):
        for name, member in value.items():
            yield from _parts(f"{path}.{name}", member)
    else:
        yield path, value


def _holds(value: Any) -> bool:
    return isinstance(value, dict | list) or bool(_address(value))


def _address(value: Any) -> str:
    """Return the address that a value is, or has as its url; "" if there is none."""
    text = value.get("url") if isinstance(value, dict) else value
    return text if isinstance(text, str) and is_web_address(text) else ""


def _linked(path: str, value: Any) -> SafeString:
    """Return a link with its title and the other facts about it."""
    address, name = _address(value), last_label(path)
    others = dict(value) if isinstance(value, dict) else {}
    others.pop("url", None)
    title = others.pop("title", None)
    about = [in_one_line(f"{path}.{key}", other) for key, other in others.items() if other]
    text = title if isinstance(title, str) and title.strip() else name
    quiet = [_cut(part) for part in ([name] if text != name else []) + about]
    return two_lines(outside_link(address, _cut(text)), " · ".join([*quiet, _cut(address)]))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
