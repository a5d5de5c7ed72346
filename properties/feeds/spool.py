"""Records of a feed as lines of text: between two processes, and on disk until they are imported.

The head of a line has the data that an import needs of each item. The body is parsed only when it
is needed. It is in canonical form, so that equal bodies mean equal contents.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Literal, Self

from crm_sync.sentence import Sentence
from properties.feeds.overlay import Part
from properties.feeds.records import FileWarning, Gone, Heading, Item, Partial, Record, Refusal

# Members that every record has and the platform does not need: stored, but not listed.
OF_THE_RECORD = frozenset(
    (
        *("id", "created", "modified"),
        *("verwaltung_techn.objektnr_intern", "verwaltung_techn.openimmo_obid"),
        *("verwaltung_techn.stand_vom", "verwaltung_techn.kennung_ursprung"),
        *("objektkategorie.nutzungsart.@WOHNEN", "objektkategorie.nutzungsart.@GEWERBE"),
    )
)
_PLAIN = json.JSONEncoder(separators=(",", ":"))
_READ = json.JSONDecoder()
_CANONICAL = json.JSONEncoder(separators=(",", ":"), sort_keys=True)


Kind = Literal["record", "refusal", "warning", "heading", "partial", "gone"]
# They are no records and refuse none.
OF_THE_FILE = frozenset({"warning", "heading", "partial", "gone"})
CHARACTERS = 8 * 1024 * 1024  # the most in one chunk, except for a single longer line
EVERY = 1_000  # lines between two recorded places


@dataclass(frozen=True, slots=True)
class Line:
    """One item as a line. `aside` lists the paths of a record that the property model lacks.
    `warnings` describe its invalid values."""

    kind: Kind
    reference: str | None
    position: Sentence
    aside: list[str]
    body: bytes
    warnings: tuple[Sentence, ...] = ()

    @property
    def text(self) -> bytes:
        """The text of the line, with its line end."""
        told = [one.stored for one in self.warnings]
        head = _PLAIN.encode([self.kind, self.reference, self.position.stored, self.aside, told])
        return b"%b\t%b\n" % (head.encode("ascii"), self.body)

    def item(self) -> Item:
        """Return the item of the line."""
        if self.kind == "warning":
            return FileWarning(*self.warnings)
        if self.kind == "heading":
            sheet, row, columns = json.loads(self.body)
            return Heading(sheet, row, tuple((name, ours, may) for name, ours, may in columns))
        if self.kind == "partial":
            return Partial()
        if self.kind == "gone":
            return Gone(str(self.reference))
        if self.kind == "refusal":
            reasons = [Sentence.of(one) for one in json.loads(self.body)]
            return Refusal(self.position, self.reference, reasons)
        document, leftover, parts = _READ.decode(self.body.decode("ascii"))
        places: tuple[Part, ...] = tuple((leaf, tuple(way), value) for leaf, way, value in parts)
        return Record(str(self.reference), document, leftover, self.position, places, self.warnings)

    @classmethod
    def of(cls, item: Item) -> Self:
        """Return the line of an item."""
        if isinstance(item, FileWarning):
            return cls("warning", None, Sentence(), [], b"", (item.text,))
        if isinstance(item, Heading):
            body = _PLAIN.encode([item.sheet, item.row, item.columns]).encode("ascii")
            return cls("heading", None, Sentence(), [], body)
        if isinstance(item, Partial):
            return cls("partial", None, Sentence(), [], b"")
        if isinstance(item, Gone):
            return cls("gone", item.reference, Sentence(), [], b"")
        if isinstance(item, Refusal):
            body = _PLAIN.encode([one.stored for one in item.reasons]).encode("ascii")
            return cls("refusal", item.reference, item.position, [], body)
        aside = sorted(item.leftover.keys() - OF_THE_RECORD)
        body = _CANONICAL.encode([item.document, item.leftover, item.parts]).encode("ascii")
        return cls("record", item.reference, item.position, aside, body, item.warnings)

    @classmethod
    def read(cls, text: bytes) -> Self:
        """Return the line of a text."""
        head, _, body = text.rstrip(b"\n").partition(b"\t")  # JSON escapes its tabs
        kind, reference, position, aside, warnings = _READ.decode(head.decode("ascii"))
        told = tuple(map(Sentence.of, warnings))
        return cls(kind, reference, Sentence.of(position), aside, body, told)


class Spool:
    """A file with the items of a feed, one item a line.

    It is imported even if the feed is replaced after it was read, and the feed is read only once.
    The spool is about as large as the feed.

    Attributes:
        count: the number of lines.
        places: the offset in the file of each `EVERY`-th line.
    """

    def __init__(self, file: IO[bytes], *, count: int = 0, places: Sequence[int] = ()) -> None:
        self._file = file
        self.count = count
        self.places = list(places)

    def put(self, line: Line) -> None:
        """Append a line."""
        if not self.count % EVERY:
            self.places.append(self._file.tell())
        self.count += 1
        self._file.write(line.text)

    def chunks(self, size: int, *, skip: int = 0) -> Iterator[list[Line]]:
        """Yield chunks of the lines after the first `skip`.

        A chunk has at most `size` lines and about CHARACTERS. However many lines are skipped, fewer
        than `EVERY` of them are read.
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
