"""What was read as one line of text, and back: for the spool and between processes.

A line says in its head what an import must know of each item; its body is read only where somebody
needs it, and is in canonical form, so equal bodies are equal contents.
"""

import json
from dataclasses import dataclass
from typing import Literal

from properties.feeds.overlay import Part
from properties.feeds.records import FileWarning, Heading, Item, Record, Refusal

# What every record has, and nobody misses on the platform: kept, but not listed as set aside.
OF_THE_RECORD = frozenset({"id", "created", "modified"})
_PLAIN = json.JSONEncoder(separators=(",", ":"))
_READ = json.JSONDecoder()
_CANONICAL = json.JSONEncoder(separators=(",", ":"), sort_keys=True)


Kind = Literal["record", "refusal", "warning", "heading"]
OF_THE_FILE = frozenset({"warning", "heading"})  # they are no record and refuse none


@dataclass(frozen=True, slots=True)
class Line:
    """One item as it travels; `aside` names what of a record has no home in the property model,
    and `warnings` say which of its values are bad."""

    kind: Kind
    reference: str | None
    position: str
    aside: list[str]
    body: bytes
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> bytes:
        """The line itself, with its end."""
        head = _PLAIN.encode([self.kind, self.reference, self.position, self.aside, self.warnings])
        return b"%b\t%b\n" % (head.encode("ascii"), self.body)

    def item(self) -> Item:
        """Return what was read."""
        if self.kind == "warning":
            return FileWarning(*self.warnings)
        if self.kind == "heading":
            sheet, row, columns = json.loads(self.body)
            return Heading(sheet, row, tuple((name, ours, may) for name, ours, may in columns))
        if self.kind == "refusal":
            return Refusal(self.position, self.reference, json.loads(self.body))
        document, leftover, parts = _READ.decode(self.body.decode("ascii"))
        places: tuple[Part, ...] = tuple((leaf, tuple(way), value) for leaf, way, value in parts)
        return Record(str(self.reference), document, leftover, self.position, places, self.warnings)


def of(item: Item) -> Line:
    """Return the line of an item."""
    if isinstance(item, FileWarning):
        return Line("warning", None, "", [], b"", (item.text,))
    if isinstance(item, Heading):
        body = _PLAIN.encode([item.sheet, item.row, item.columns]).encode("ascii")
        return Line("heading", None, "", [], body)
    if isinstance(item, Refusal):
        body = _PLAIN.encode(item.reasons).encode("ascii")
        return Line("refusal", item.reference, item.position, [], body)
    aside = sorted(item.leftover.keys() - OF_THE_RECORD)
    body = _CANONICAL.encode([item.document, item.leftover, item.parts]).encode("ascii")
    return Line("record", item.reference, item.position, aside, body, item.warnings)


def read(text: bytes) -> Line:
    """Return a line of the given text."""
    head, _, body = text.rstrip(b"\n").partition(b"\t")  # JSON holds a tab in its escapes only
    kind, reference, position, aside, warnings = _READ.decode(head.decode("ascii"))
    return Line(kind, reference, position, aside, body, tuple(warnings))
