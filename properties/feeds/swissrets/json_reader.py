"""Read SwissRETS JSON 3.x as a stream: one record in memory at a time."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ijson

from properties.feeds import limits
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Truncated
from properties.feeds.swissrets.record import RecordReader
from properties.feeds.swissrets.vocabulary import Units, units_of

CHUNK = 64 * 1024
_BOM = b"\xef\xbb\xbf"
_CONTAINERS: dict[str, type[Any]] = {"start_map": dict, "start_array": list}
_ENDS = frozenset({"end_map", "end_array"})


def read_json(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the properties of a file; NotAFeed, or Truncated after records, where it breaks."""
    intake = RecordReader(lambda: _find_units(path))
    builder = _Builder(path.name, "properties", "record")
    number = 0
    try:
        for number, raw in enumerate(_items(path, builder), start=1):
            yield intake.take(raw, f"record {number}")
    except ijson.JSONError as error:
        broken = f"{path.name}: broken JSON after record {number}: {_first_line(error)}"
        raise (Truncated if number else NotAFeed)(broken) from error
    if not builder.is_there:
        raise NotAFeed(f'{path.name}: JSON, but no SwissRETS: it has no "properties"')


def _find_units(path: Path) -> Units:
    """Return the units of all projects in the file."""
    units: Units = {}
    for project in _items(path, _Builder(path.name, "projects", "project")):
        units |= units_of(project)
    return units


def _items(path: Path, builder: "_Builder") -> Iterator[Any]:
    """Yield what a builder builds of a file; JSONError behind the items before it."""
    parser = ijson.basic_parse_coro(builder, use_float=True)
    with path.open("rb") as file:
        if file.read(len(_BOM)) != _BOM:
            file.seek(0)
        chunk = b"-"
        while chunk:
            chunk = file.read(CHUNK)
            failure = _feed(parser, chunk)
            yield from builder.taken()
            if failure is not None:
                raise failure
            builder.watch(len(chunk))


def _feed(parser: Any, chunk: bytes) -> ijson.JSONError | None:
    """Give the parser a piece of the file, or its end; return what is wrong with it."""
    try:
        if chunk:
            parser.send(chunk)
        else:
            parser.close()
    except ijson.JSONError as error:
        return error
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


class _Builder:
    """The target of the parser: builds the items of one top-level list, within bounds.

    What is built is weighed while it grows, with its path: no longer path is made of it later.
    """

    def __init__(self, file_name: str, wanted: str, what: str) -> None:
        self._file_name = file_name
        self._wanted = wanted
        self._what = what
        self.is_there = False  # the list, empty or not
        self._depth = 0
        self._name = ""
        self._in_root = self._in_list = False
        # Of the item under way: what holds the next value, how long the path to that is, and the
        # same of all that is open around it.
        self._holder: Any = None
        self._path = 0
        self._open: list[tuple[Any, int]] = []
        self._weight = 0
        self._number = 0
        self._silence = 0
        self._ready: deque[Any] = deque()

    def send(self, event: tuple[str, Any]) -> None:
        """Take an event: a name, a value, or the begin or end of an object or list."""
        kind, value = event
        self._silence = 0
        if kind == "map_key":
            if len(value) > limits.MAX_NAME:
                raise self._refusal(limits.NAME)
            self._name = value
        elif kind in _ENDS:
            self._end()
        elif kind in _CONTAINERS:
            self._start(kind, _CONTAINERS[kind]())
        elif self._in_list:
            self._put(value, len(value) if kind == "string" else 0)

    def watch(self, size: int) -> None:
        """Count the bytes that led to nothing, before one giant text fills the memory."""
        self._silence += size
        if self._silence > limits.MAX_RECORD:
            raise self._refusal(limits.RECORD)

    def taken(self) -> Iterator[Any]:
        """Yield the items that are ready, and forget them."""
        while self._ready:
            yield self._ready.popleft()

    def _start(self, kind: str, container: Any) -> None:
        if self._depth >= limits.MAX_DEPTH:
            raise self._refusal(limits.DEPTH)
        if self._in_list:
            path = self._put(container, 0)
            self._open.append((self._holder, self._path))
            self._holder, self._path = container, path
        elif self._depth == 0:
            self._in_root = kind == "start_map"
        elif self._depth == 1 and self._in_root and kind == "start_array":
            self._in_list = self._name == self._wanted
            self.is_there = self.is_there or self._in_list
        self._depth += 1

    def _end(self) -> None:
        self._depth -= 1
        if self._open:
            item = self._holder
            self._holder, self._path = self._open.pop()
            if not self._open:
                self._ready.append(item)
        else:
            self._in_list = False

    def _put(self, value: Any, size: int) -> int:
        """Put a value where it belongs; returns how long the path to it is."""
        path = self._path + 1
        if not self._open:
            self._number += 1
            self._weight = 0
            if not isinstance(value, dict | list):  # no record, but the reader says so
                self._ready.append(value)
        elif isinstance(self._holder, dict):
            self._holder[self._name] = value
            path += len(self._name)
        else:
            self._holder.append(value)
        self._weight += path + size + limits.VALUE
        if self._weight > limits.MAX_RECORD:
            raise self._refusal(limits.RECORD)
        return path

    def _refusal(self, reason: str) -> NotAFeed:
        what = f"{self._what} {self._number}" if self._open else "the file"
        return NotAFeed(f"{self._file_name}: {what} {reason}")
