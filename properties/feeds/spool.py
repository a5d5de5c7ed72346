"""Records of a feed as lines of text: between two processes, and on disk until they are imported.

The head of a line says what an import must know of each item. Its body is read only where it is
needed, and is in canonical form, so equal bodies are equal contents.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Literal, Self

from properties.feeds.overlay import Part
from properties.feeds.records import FileWarning, Heading, Item, Record, Refusal

# Members of every record that nobody misses on the platform: stored, but not listed.
OF_THE_RECORD = frozenset({"id", "created", "modified"})
_PLAIN = json.JSONEncoder(separators=(",", ":"))
_READ = json.JSONDecoder()
_CANONICAL = json.JSONEncoder(separators=(",", ":"), sort_keys=True)


Kind = Literal["record", "refusal", "warning", "heading"]
OF_THE_FILE = frozenset({"warning", "heading"})  # they are no record and refuse none
CHARACTERS = 8 * 1024 * 1024  # of the lines of one chunk, or a single line that is longer
EVERY = 1_000  # lines from one place that is noted to the next


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

    @classmethod
    def of(cls, item: Item) -> Self:
        """Return the line of an item."""
        if isinstance(item, FileWarning):
            return cls("warning", None, "", [], b"", (item.text,))
        if isinstance(item, Heading):
            body = _PLAIN.encode([item.sheet, item.row, item.columns]).encode("ascii")
            return cls("heading", None, "", [], body)
        if isinstance(item, Refusal):
            body = _PLAIN.encode(item.reasons).encode("ascii")
            return cls("refusal", item.reference, item.position, [], body)
        aside = sorted(item.leftover.keys() - OF_THE_RECORD)
        body = _CANONICAL.encode([item.document, item.leftover, item.parts]).encode("ascii")
        return cls("record", item.reference, item.position, aside, body, item.warnings)

    @classmethod
    def read(cls, text: bytes) -> Self:
        """Return a line of the given text."""
        head, _, body = text.rstrip(b"\n").partition(b"\t")  # JSON holds a tab in its escapes only
        kind, reference, position, aside, warnings = _READ.decode(head.decode("ascii"))
        return cls(kind, reference, position, aside, body, tuple(warnings))


class Spool:
    """Holds what was read in a file, one item a line.

    What was read is imported, even if the feed is replaced in the meantime, and
    nothing is read twice. It is about as large as the feed.

    Attributes:
        count: the number of lines.
        places: where in the file each `EVERY`-th of them begins.
    """

    def __init__(self, file: IO[bytes], *, count: int = 0, places: Sequence[int] = ()) -> None:
        self._file = file
        self.count = count
        self.places = list(places)

    def put(self, line: Line) -> None:
        """Add a line behind the others."""
        if not self.count % EVERY:
            self.places.append(self._file.tell())
        self.count += 1
        self._file.write(line.text)

    def chunks(self, size: int, *, skip: int = 0) -> Iterator[list[Line]]:
        """Yield the lines behind the first `skip`, at most `size` and about CHARACTERS at a time.

        Of the skipped ones fewer than `EVERY` are passed over, whatever their number.
        """
        found: list[Line] = []
        room = CHARACTERS
        for text in self._texts(skip):
            if found and (len(found) == size or len(text) > room):
                yield found
                found, room = [], CHARACTERS
            found.append(Line.read(text))
            room -= len(text)
        if found:
            yield found

    def _texts(self, skip: int) -> Iterator[bytes]:
        if skip >= self.count:
            return
        self._file.seek(self.places[skip // EVERY])
        yield from islice(self._file, skip % EVERY, None)
