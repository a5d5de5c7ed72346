"""Read SwissRETS JSON 3.x as a stream: one record in memory at a time.

`ijson.items` would be shorter. But with the checks for weight, numbers and repeated names it is
slower than building each record from the events of the parser.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ijson

from crm_sync.sentence import Sentence, sentence, sentence_of
from properties.feeds import limits
from properties.feeds.limits import BITS, written
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Truncated, as_record
from properties.feeds.swissrets.precheck import JSON, is_plain
from properties.feeds.swissrets.survey import Survey
from properties.feeds.swissrets.swissrets_record import SwissretsRecordReader

CHUNK = 64 * 1024
_BOM = b"\xef\xbb\xbf"
_CONTAINERS: dict[str, type[Any]] = {"start_map": dict, "start_array": list}
_ENDS = frozenset({"end_map", "end_array"})
Built = tuple[Any, list[str]]  # an item, and the names that are repeated within an object of it
# A word in the parser's message, and a text for people.
_ENDS_EARLY = sentence("it ends too early")
_MISTAKES = {
    "premature": _ENDS_EARLY,
    "incomplete": _ENDS_EARLY,
    "overflow": sentence("it holds a number that is too large"),
    "utf": sentence("it holds a character that is not UTF-8"),
}
_UNKNOWN = sentence("it holds what JSON does not know")
_MEMBER = 2  # a member of a property, counted from the list of properties


def read_json(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the properties of a file.

    Raises:
        NotAFeed: the file cannot be read. Truncated: it breaks off after some records.
    """
    survey = Survey(checks_units=False) if is_plain(path, JSON) else _survey(path)
    yield from survey.warnings()
    intake = SwissretsRecordReader(survey, profile)
    builder = _Builder(path.name, "properties", as_record)
    number = 0
    try:
        for number, (raw, twice) in enumerate(_items(path, builder), start=1):
            yield intake.take(raw, as_record(number), twice)
    except ijson.JSONError as error:
        said = str(error).lower()
        mistakes = (text for word, text in _MISTAKES.items() if word in said)
        broken = sentence(
            "broken JSON after record %(number)s: %(mistake)s",
            number=str(number),
            mistake=next(mistakes, _UNKNOWN),
        )
        raise (Truncated if number else NotAFeed).of(path.name, broken) from error
    names = builder.outline
    if not builder.is_there and ("properties" in names or "generator" not in names):
        why = sentence('JSON, but no SwissRETS: it has no "properties"')
        raise NotAFeed.of(path.name, why)


def _survey(path: Path) -> Survey:
    """Return the survey of a file. If the file breaks off, the reading reports it later."""
    survey = Survey()
    surveyor = _Surveyor(path.name, "projects", _as_project)
    try:
        for project, _ in _items(path, surveyor):
            survey.add_project(project)
    except ijson.JSONError:
        pass
    except NotAFeed:
        if surveyor.is_building:
            raise
    survey.references.update(surveyor.references)
    survey.checks_units = surveyor.is_there
    return survey


def _items(path: Path, builder: "_Builder") -> Iterator[Built]:
    """Yield the items of a file; raise JSONError after the items before the mistake."""
    parser = ijson.basic_parse_coro(builder)  # no floats: too large a float would break the file
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
    """Pass a piece of the file, or its end, to the parser; return the error, if any."""
    try:
        if chunk:
            parser.send(chunk)
        else:
            parser.close()
    except ijson.JSONError as error:
        return error
    except UnicodeDecodeError as error:  # an incomplete character that the library does not detect
        return ijson.JSONError(str(error))
    return None


def _number(value: int | Decimal) -> int | float | str:
    """Return a number as the catalog needs it, or as text if it fits no float."""
    if isinstance(value, int):
        return value if value.bit_length() < BITS else written(value)
    number = float(value)
    return number if math.isfinite(number) else str(value)


def _as_project(number: int) -> Sentence:
    return sentence("project %(number)s", number=str(number))


class _Builder:
    """The target of the parser: builds the items of one top-level list, within limits.

    Each value is weighed with its path when it is added.
    """

    def __init__(self, file_name: str, wanted: str, what: Callable[[int], Sentence]) -> None:
        self._file_name = file_name
        self._wanted = wanted
        self._what = what
        self.is_there = False  # whether the file has the list
        self._depth = 0
        self._name = ""
        self._in_root = self._in_list = False
        # Of the current item: the container of the next value, the length of the path to it, and
        # the same for all open containers around it.
        self._holder: Any = None
        self._path = 0
        self._open: list[tuple[Any, int]] = []
        self._weight = 0
        self._number = 0
        self._silence = 0
        self._ready: deque[Built] = deque()
        self._twice: list[str] = []
        self.outline: set[str] = set()  # the names of the root

    @property
    def is_building(self) -> bool:
        """Whether an item is incomplete."""
        return bool(self._open)

    def send(self, event: tuple[str, Any]) -> None:
        """Handle an event: a name, a value, or the beginning or end of an object or list."""
        kind, value = event
        self._silence = 0
        if kind == "map_key":
            if len(value) > limits.MAX_NAME:
                raise self._refusal(limits.NAME)
            self._name = value
            if self._depth == 1 and self._in_root:
                self.outline.add(value)
        elif kind in _ENDS:
            self._end()
        elif kind in _CONTAINERS:
            self._start(kind, _CONTAINERS[kind]())
        elif self._in_list:
            value = _number(value) if kind == "number" else value
            self._put(value, len(value) if isinstance(value, str) else 0)

    def watch(self, size: int) -> None:
        """Count the bytes without an event, so that one giant text cannot fill the memory."""
        self._silence += size
        if self._silence > limits.MAX_RECORD:
            raise self._refusal(limits.RECORD)

    def taken(self) -> Iterator[Built]:
        """Yield and remove the finished items."""
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
                self._ready.append((item, self._twice))
        else:
            self._in_list = False

    def _put(self, value: Any, size: int) -> int:
        """Add a value to its container; return the length of its path."""
        path = self._path + 1
        if not self._open:
            self._number += 1
            self._weight = 0
            self._twice = []
            if not isinstance(value, dict | list):  # no record: the reader refuses it
                self._ready.append((value, []))
        elif isinstance(self._holder, dict):
            if self._name in self._holder:
                self._twice.append(self._name)
            self._holder[self._name] = value
            path += len(self._name)
        else:
            self._holder.append(value)
        self._weight += path + size + limits.VALUE
        if self._weight > limits.MAX_RECORD:
            raise self._refusal(limits.RECORD)
        return path

    def _refusal(self, why: Sentence) -> NotAFeed:
        if self._open:
            why = sentence_of(self._what(self._number), why)
        return NotAFeed.of(self._file_name, why)


class _Surveyor(_Builder):
    """Builds the projects, and counts the references of the properties."""

    def __init__(self, file_name: str, wanted: str, what: Callable[[int], Sentence]) -> None:
        super().__init__(file_name, wanted, what)
        self.references: Counter[str] = Counter()
        self._level = 0  # depth within the properties; 1 is their list

    def send(self, event: tuple[str, Any]) -> None:
        """Handle an event; pass events outside the properties on."""
        kind, value = event
        if self._level == 0:
            is_list = kind == "start_array" and self._depth == 1 and self._in_root
            if is_list and self._name == "properties":
                self._level = 1
            else:
                super().send(event)
            return
        self._silence = 0
        if kind in _CONTAINERS:
            self._level += 1
        elif kind in _ENDS:
            self._level -= 1
        elif self._level == _MEMBER:
            self._note(kind, value)

    def _note(self, kind: str, value: Any) -> None:
        if kind == "map_key":
            self._name = value
        elif self._name == "referenceId" and value is not None:
            self.references[str(value).strip()] += 1
