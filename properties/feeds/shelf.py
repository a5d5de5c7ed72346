"""Records of a feed on disk, for as long as nobody knows whether the feed is whole."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

from properties.feeds.overlay import Part
from properties.feeds.records import Record, Refusal


@dataclass(frozen=True)
class Same:
    """A record that is as it was in the last feed."""

    reference: str
    leftover: dict[str, Any]


Item = Record | Refusal | Same


@contextmanager
def open_shelf() -> Iterator["Shelf"]:
    """Open a shelf in a file that has no name; the file goes with it.

    What was read and found good is what is imported, even when the feed is replaced meanwhile; and
    nothing is read twice. The file is in TMPDIR, about as large as the feed.
    """
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        yield Shelf(file)


class Shelf:
    """Holds what was read in a file, one item a line."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def put(self, item: Item) -> None:
        """Add an item behind the others."""
        self._file.write(json.dumps(_fields(item), separators=(",", ":")) + "\n")

    def chunks(self, size: int) -> Iterator[list[Item]]:
        """Yield all items in their order, at most `size` at a time."""
        self._file.seek(0)
        while lines := list(islice(self._file, size)):
            yield [_item(*json.loads(line)) for line in lines]


def _fields(item: Item) -> tuple[Any, ...]:
    match item:
        case Same():
            return ("same", item.reference, item.leftover)
        case Refusal():
            return ("refused", item.position, item.reference, item.reasons)
        case Record():
            fields = (item.reference, item.document, item.leftover, item.position, item.parts)
            return ("record", *fields)


def _item(kind: str, *fields: Any) -> Item:
    if kind == "same":
        return Same(*fields)
    if kind == "refused":
        return Refusal(*fields)
    reference, document, leftover, position, parts = fields
    places: tuple[Part, ...] = tuple((leaf, tuple(way), value) for leaf, way, value in parts)
    return Record(reference, document, leftover, position, places)
