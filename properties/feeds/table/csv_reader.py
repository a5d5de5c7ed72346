"""Read a table from CSV as a stream: `,`, `;` or tab between the cells."""

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, TextIO

from properties.feeds import damage
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Record, Refusal, Truncated
from properties.feeds.table import header
from properties.feeds.table.cells import GUARDED_IN_CSV
from properties.feeds.table.columns import column
from properties.feeds.table.encoding import SAMPLE, encoding_of
from properties.feeds.table.rows import Table

DELIMITERS = ",;\t"
MAX_ROW = 1024 * 1024  # characters; a row goes on over line ends between quotes
_SEPARATOR = re.compile(r'"?sep=([,;\t])"?[,;\t]*\r*\n?')  # what Excel obeys in a first line
_LINE_END = re.compile(r"\r*\n|\r")


def is_like_csv(text: str) -> bool:
    """Say whether a file that begins so may be a table."""
    name = header.plain(text.replace("\r", "\n").partition("\n")[0].strip(' "'))
    return any(delimiter in text for delimiter in DELIMITERS) or column(name) is not None


def read_csv(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the rows of a file; NotAFeed, or Truncated after rows, where it breaks."""
    number = 0
    encoding = encoding_of(path)
    try:
        with path.open(encoding=encoding, newline="") as file:
            start = _start(file.read(SAMPLE), profile, path.name)
        with path.open(encoding=encoding, newline=start.newline) as file:
            for item in _items(_Lines(file, path.name), start, profile):
                yield item
                number += isinstance(item, Record | Refusal)
    except csv.Error as error:
        broken = f"{path.name}: broken CSV after {number} records: {damage.of_csv(error)}"
        raise (Truncated if number else NotAFeed)(broken) from error
    except UnicodeDecodeError as error:
        broken = f"{path.name}: no text after {number} records: {damage.of_encoding(error)}"
        raise (Truncated if number else NotAFeed)(broken) from error


@dataclass(frozen=True, slots=True)
class _Start:
    """How a file is written: between cells, at the end of a line, and the line of its header."""

    delimiter: str
    newline: str
    line: int


def _start(sample: str, profile: Profile, name: str) -> _Start:
    """Return how a file is written that begins with a sample; NotAFeed where it has no header."""
    # A lone CR ends a line only in a file in which it ends the first one.
    end = _LINE_END.search(sample)
    newline = "\n" if end and end[0].endswith("\n") else ""
    separator = _SEPARATOR.match(sample)
    wanted = header.searched(profile)
    delimiters = separator[1] if separator else DELIMITERS

    def quality(delimiter: str) -> tuple[tuple[bool, int], int]:
        rows = _first_rows(sample, newline, delimiter, wanted)
        ranks = (header.rank(cells, profile) for _, cells in rows)
        widths = (len(cells) for _, cells in rows)
        return max(ranks, default=(False, 0)), max(widths, default=0)

    best = max(delimiters, key=quality)
    rows = _first_rows(sample, newline, best, wanted)[bool(separator) :]
    index = header.find(rows, profile, name)
    if index is None:
        raise NotAFeed(f"{name}: neither SwissRETS (XML, JSON) nor IDX nor a table of ours")
    return _Start(best, newline, rows[index][0])


def _first_rows(sample: str, newline: str, delimiter: str, wanted: int) -> list[header.Row]:
    """Return the first rows that are not empty; what is broken in them shows when they are read."""
    reader = csv.reader(StringIO(sample, newline=newline), delimiter=delimiter)
    rows: list[header.Row] = []
    began = 0
    with suppress(csv.Error):
        for row in reader:
            line, began = began + 1, reader.line_num
            rows += [(line, row)] if any(row) else []
            if len(rows) > wanted:
                break
    return rows


def _items(lines: "_Lines", start: _Start, profile: Profile) -> Iterator[Item]:
    """Yield what is above the records, and the records."""
    rows = csv.reader(lines, delimiter=start.delimiter, strict=True)
    cells, began = _header(rows, lines, start.line)
    found = header.read((start.line, cells), profile, lines.name)
    if heading := found.heading():
        yield heading
    yield from found.warnings()
    table = Table(found, lines.name, GUARDED_IN_CSV, profile)
    for row in rows:
        lines.start_row()
        position, began = f"line {began + 1}", rows.line_num
        if len(row) < len(cells) and any(row):
            if not lines.ended:
                raise Truncated(f"{lines.name}: breaks off in {position}")
            # Which cells are missing, nobody can know.
            yield Refusal(position, None, [f"has {len(row)} cells, the header has {len(cells)}"])
        elif (taken := table.take(row, position)) is not None:
            yield taken


def _header(rows: Any, lines: "_Lines", line: int) -> tuple[list[str], int]:
    """Read on to the header; return it and the number of its last line."""
    began = 0
    for cells in rows:
        lines.start_row()
        if began + 1 == line:
            return cells, rows.line_num
        began = rows.line_num
    raise NotAFeed(f"{lines.name}: the quotes above its header, line {line}, are not in order")


class _Lines:
    """The lines of a file, as many as a row may have; knows whether the last one had an end."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._file = file
        self.name = name
        self.ended = True
        self._size = 0

    def start_row(self) -> None:
        """Begin to count anew: a row has been read."""
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._file.readline(MAX_ROW + 1):
            self._size += len(line)
            if self._size > MAX_ROW:
                raise NotAFeed(f"{self.name}: a row is longer than {MAX_ROW:,} characters")
            self.ended = line[-1] in "\r\n"
            yield line
