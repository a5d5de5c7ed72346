"""Read a table from CSV as a stream: `,`, `;` or tab between the cells, UTF-8 or Windows-1252."""

import codecs
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Record, Refusal, Truncated
from properties.feeds.table.cells import GUARDED_IN_CSV
from properties.feeds.table.columns import Table, column

DELIMITERS = ",;\t"
MAX_ROW = 1024 * 1024  # characters; a row goes on over line ends between quotes
_CHUNK = 64 * 1024
_LINE_END = re.compile(r"[\r\n]")


def read_csv(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the rows of a file; NotAFeed, or Truncated after rows, where it breaks."""
    number = 0
    encoding = _encoding(path)
    with path.open(encoding=encoding, newline="") as file:
        lines = _Lines(file, path.name)
        try:
            delimiter = _delimiter(file.readline(MAX_ROW))
            file.seek(0)
            for taken in _rows(csv.reader(lines, delimiter=delimiter, strict=True), lines):
                yield taken
                number += 1
        except csv.Error as error:
            broken = f"{path.name}: broken CSV after {number} records: {error}"
            raise (Truncated if number else NotAFeed)(broken) from error
        except UnicodeDecodeError as error:
            broken = f"{path.name}: no text after {number} records: {error.reason}"
            raise (Truncated if number else NotAFeed)(broken) from error


def names_a_column(head: bytes) -> bool:
    """Say whether a file begins like a header: with a name that we know."""
    line = _LINE_END.split(head.decode("utf-8-sig", errors="replace"), maxsplit=1)[0]
    return "\0" not in line and _known(line, _delimiter(line)) > 0


def _rows(rows: Any, lines: "_Lines") -> Iterator[Record | Refusal]:
    """Yield the rows below the header, each with the line where it begins."""
    header = next(rows)
    table = Table(header, lines.name, GUARDED_IN_CSV)
    began = rows.line_num
    for row in rows:
        lines.start_row()
        position, began = f"line {began + 1}", rows.line_num
        if len(row) < len(header) and any(row):
            if not lines.ended:
                raise Truncated(f"{lines.name}: breaks off in {position}")
            # Which cells are missing, nobody can know.
            reason = f"has {len(row)} cells, the header has {len(header)}"
            yield Refusal(position, None, [reason])
        elif (taken := table.take(row, position)) is not None:
            yield taken


def _delimiter(line: str) -> str:
    """Return what the header makes most columns with that we know."""
    return max(DELIMITERS, key=lambda delimiter: (_known(line, delimiter), line.count(delimiter)))


def _known(line: str, delimiter: str) -> int:
    try:
        names = next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
    except csv.Error:  # no header of ours; who reads the rows says why
        return 0
    return sum(column(name.strip()) is not None for name in names)


def _encoding(path: Path) -> str:
    """Return the encoding of a file: UTF-8 where all of it is, else what Excel writes in Europe.

    Raises:
        NotAFeed: it begins as UTF-8 and then is not: read as Windows-1252, every umlaut were wrong.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    beyond_ascii = False
    with path.open("rb") as file:
        if file.read(3) == codecs.BOM_UTF8:
            return "utf-8-sig"
        file.seek(0)
        done = 0
        while chunk := file.read(_CHUNK):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                read = error.object[: error.start]
                if beyond_ascii or not bytes(read).isascii():
                    where = f"at byte {done + error.start:,}"
                    raise NotAFeed(f"{path.name}: begins as UTF-8, but is none {where}") from error
                return "cp1252"
            beyond_ascii = beyond_ascii or not chunk.isascii()
            done += len(chunk)
    return "utf-8"


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
