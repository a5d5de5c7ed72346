"""Read SwissRETS JSON 3.x as a stream: one record in memory at a time."""

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ijson

from properties.feeds import limits
from properties.feeds.limits import BITS, written
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Truncated
from properties.feeds.swissrets.precheck import JSON, is_plain
from properties.feeds.swissrets.survey import Survey
from properties.feeds.swissrets.swissrets_record import SwissretsRecordReader

CHUNK = 64 * 1024
_BOM = b"\xef\xbb\xbf"
# A word in the parser's message, and what a person can understand.
_MISTAKES = {
    "premature": limits.ENDS_EARLY,
    "incomplete": limits.ENDS_EARLY,
    "overflow": "it holds a number that is too large",
    "utf": "it holds a character that is not UTF-8",
}


def read_json(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the properties of a file; NotAFeed, or Truncated after records, where it breaks."""
    survey = Survey(checks_units=False) if is_plain(path, JSON) else _survey(path)
    yield from survey.warnings()
    records = SwissretsRecordReader(survey, profile)
    number = 0
    try:
        for number, raw in enumerate(_items(path, "properties.item"), start=1):
            limits.check_record(raw, f"{path.name}: record {number}")
            twice: list[str] = []
            yield records.take(_converted(raw, twice), f"record {number}", twice)
        if not number and not _is_empty_feed(path):
            raise NotAFeed(f'{path.name}: JSON, but no SwissRETS: it has no "properties"')
    except ijson.JSONError as error:
        said = str(error).lower()
        mistakes = (text for word, text in _MISTAKES.items() if word in said)
        mistake = next(mistakes, "it holds what JSON does not know")
        broken = f"{path.name}: broken JSON after record {number}: {mistake}"
        raise (Truncated if number else NotAFeed)(broken) from error


def _survey(path: Path) -> Survey:
    """Return the survey of a file; if it breaks off, the reading reports that."""
    survey = Survey(checks_units=False)
    try:
        for reference in _items(path, "properties.item.referenceId"):
            survey.add_reference(reference)
        for projects in _items(path, "projects"):
            survey.checks_units = isinstance(projects, list)
            for project in projects if isinstance(projects, list) else []:
                survey.add_project(project)
    except ijson.JSONError:
        pass
    return survey


def _is_empty_feed(path: Path) -> bool:
    """Return whether a file without a record is a feed: it has an empty list, or a generator."""
    names = set()
    with path.open("rb") as file:
        for place, event, value in ijson.parse(file):
            if (place, event) == ("properties", "start_array"):
                return True
            if (place, event) == ("", "map_key"):
                names.add(value)
    return "generator" in names and "properties" not in names


class _Object(dict[str, Any]):
    """An object that remembers which names it has twice."""

    twice: tuple[str, ...] = ()

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self:
            self.twice += (name,)
        super().__setitem__(name, value)


def _items(path: Path, prefix: str) -> Iterator[Any]:
    """Yield all that is at a place of a file; JSONError behind the items before it."""
    ready = ijson.sendable_list()
    # Numbers come as Decimals: as floats, one that is too large would break the file.
    parser = ijson.items_coro(ready, prefix, map_type=_Object)
    silence = 0
    with path.open("rb") as file:
        if file.read(len(_BOM)) != _BOM:
            file.seek(0)
        chunk = b"-"
        while chunk:
            chunk = file.read(CHUNK)
            silence += len(chunk)
            failure = None
            try:
                parser.send(chunk) if chunk else parser.close()
            except ijson.JSONError as error:
                failure = error
            except UnicodeDecodeError as error:  # half a character that the library lets through
                failure = ijson.JSONError(str(error))
            silence = 0 if ready else silence
            yield from ready
            ready.clear()
            if failure is not None:
                raise failure
            if prefix == "properties.item" and silence > limits.MAX_BYTES:
                raise NotAFeed(f"{path.name}: a record {limits.RECORD}")


def _converted(value: Any, twice: list[str]) -> Any:
    """Return a value with numbers as the catalog has them; add the names that are there twice."""
    if isinstance(value, str):
        return value
    if isinstance(value, _Object):
        twice += value.twice
        return {name: _converted(member, twice) for name, member in value.items()}
    if isinstance(value, list):
        return [_converted(item, twice) for item in value]
    if isinstance(value, Decimal):
        number = float(value)
        return number if math.isfinite(number) else str(value)
    if isinstance(value, int) and value.bit_length() >= BITS:  # no float holds it
        return written(value)
    return value
