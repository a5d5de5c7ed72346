"""Read SwissRETS JSON 3.x as a stream: one record in memory at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import ijson

from properties.feeds.intake import Intake
from properties.feeds.records import NotAFeed, Record, Refusal, Truncated
from properties.feeds.swissrets import Units, units_of

PROPERTIES, PROJECTS = "properties.item", "projects.item"
CHUNK = 64 * 1024
MAX_RECORD = 16 * 1024 * 1024  # bytes of one record, and of what stands between two
MAX_DEPTH = 1_000  # brackets that may be open at a time
_BOM = b"\xef\xbb\xbf"


def read_json(path: Path) -> Iterator[Record | Refusal]:
    """Yield the properties of a file; NotAFeed, or Truncated after records, where it breaks."""
    intake = Intake(lambda: _find_units(path))
    number = 0
    try:
        for raw in _items(path, PROPERTIES):
            number += 1
            yield intake.take(raw, f"record {number}")
    except ijson.JSONError as error:
        broken = f"{path.name}: broken JSON after record {number}: {_first_line(error)}"
        raise (Truncated if number else NotAFeed)(broken) from error
    if not number and not _has_properties(path):
        raise NotAFeed(f'{path.name}: JSON, but no SwissRETS: it has no "properties"')


def _items(path: Path, prefix: str) -> Iterator[Any]:
    """Yield the values at a prefix, each within the bounds of a record.

    Properties and projects are both built, whichever is asked for: the bounds are those of one
    item, and a file may have any number of the others before, between and behind.
    """
    found = {name: ijson.sendable_list() for name in (PROPERTIES, PROJECTS)}
    parsers = [ijson.items_coro(items, name, use_float=True) for name, items in found.items()]
    with _open(path) as source:
        chunk = b"-"
        while chunk:
            chunk = source.read(CHUNK)
            failure = _feed(parsers, chunk)
            if any(found.values()):
                source.start_record()
            yield from found[prefix]
            if failure is not None:
                raise failure
            for items in found.values():
                items.clear()


def _feed(parsers: list[Any], chunk: bytes) -> ijson.JSONError | None:
    """Give the parsers a piece of the file, or its end; return what is wrong with it."""
    try:
        for parser in parsers:
            if chunk:
                parser.send(chunk)
            else:
                parser.close()
    except ijson.JSONError as error:
        return error
    return None


def _find_units(path: Path) -> Units:
    """Return the units of all projects in the file."""
    units: Units = {}
    for project in _items(path, PROJECTS):
        units |= units_of(project)
    return units


def _has_properties(path: Path) -> bool:
    """Say whether a file without records is at least an empty list of them."""
    with _open(path) as source:
        events = ijson.parse(source)
        return any((prefix, event) == ("properties", "start_array") for prefix, event, _ in events)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


@contextmanager
def _open(path: Path) -> Iterator["_Bounded"]:
    with path.open("rb") as file:
        if file.read(len(_BOM)) != _BOM:
            file.seek(0)
        yield _Bounded(file, path.name)


class _Bounded:
    """A file that stops a record from filling the memory, by its size or by its nesting.

    The parser builds what it reads before anyone can look at it, so the bounds stand in front of
    it. Brackets are counted without a look at texts: a text that holds a few does no harm.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._size = 0
        self._depth = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes of the file; NotAFeed when a record outgrows its bounds."""
        chunk = self._file.read(size)
        self._size += len(chunk)
        self._depth += sum(map(chunk.count, (b"[", b"{"))) - sum(map(chunk.count, (b"]", b"}")))
        if self._size > MAX_RECORD:
            raise NotAFeed(f"{self._name}: a record is larger than {MAX_RECORD:,} bytes")
        if self._depth > MAX_DEPTH:
            raise NotAFeed(f"{self._name}: nested deeper than {MAX_DEPTH:,} levels")
        return chunk

    def start_record(self) -> None:
        """Begin to count anew: a record has been read."""
        self._size = self._depth = 0
