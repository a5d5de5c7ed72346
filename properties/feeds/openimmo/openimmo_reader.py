"""Read OpenImmo files as a stream: one object in memory at a time.

A full transmission holds all objects of its sender. A partial one holds some, and says of each
whether it changes or goes.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crm_sync.sentence import sentence
from properties.feeds import limits
from properties.feeds.openimmo.record import TEXT, OpenimmoRecordReader, merged
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import FileWarning, Item, NotAFeed, Partial, in_line
from properties.feeds.xml_stream import Broken, Element, XmlFile

ROOT = "openimmo"
TRANSMISSION = [ROOT, "uebertragung"]
OBJECT = [ROOT, "anbieter", "immobilie"]
_PICTURES = frozenset({"anhanginhalt"})  # pictures as text, which nobody reads here


def read_openimmo(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the objects of a file.

    Raises:
        NotAFeed: the file cannot be read. Truncated: it breaks off after some records.
    """
    file = XmlFile(path, TRANSMISSION, OBJECT, value=_value, skipped=_PICTURES)
    records = OpenimmoRecordReader(profile)
    scope, mode, number = "", "", 0
    try:
        for line, tag, raw in file.elements():
            if tag == TRANSMISSION[-1]:
                scope, mode = _said(raw, "@umfang"), _said(raw, "@modus")
                continue
            number += 1
            position = in_line(line)
            limits.check_record(raw, path.name, position)
            yield records.take(raw, position, mode)
    except Broken as error:
        raise error.after(number, path.name) from error
    if "anbieter" not in file.outline:
        raise NotAFeed.of(path.name, sentence("OpenImmo, but it has no <anbieter>"))
    if scope != "VOLL":
        yield Partial()
    if scope not in {"VOLL", "TEIL"}:
        why = sentence("it does not say whether it is full (umfang): it is read as a part")
        yield FileWarning(why)


def _said(raw: Any, name: str) -> str:
    return str(raw.get(name, "")).strip().upper() if isinstance(raw, dict) else ""


def _value(element: Element) -> Any:
    """Return an element: its text, or an object if it has attributes or children."""
    attributes = ((f"@{name}", text) for name, text in element.attributes.items())
    value = merged((*attributes, *element.children))
    if not value:
        return element.text
    return value | ({TEXT: element.text} if element.text else {})
