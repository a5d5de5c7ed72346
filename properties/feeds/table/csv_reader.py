"""Read a table from CSV as a stream: `,`, `;` or tab between the cells."""

import codecs
import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, TextIO

from crm_sync.sentence import Sentence, counted_sentence, sentence
from properties.feeds import limits
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import (
    NO_FORMAT,
    Item,
    NotAFeed,
    Record,
    Refusal,
    Truncated,
    breaks_off,
    in_line,
)
from properties.feeds.table import header
from properties.feeds.table.table_cells import GUARDED_IN_CSV
from properties.feeds.table.table_columns import column
from properties.feeds.table.table_names import language_of
from properties.feeds.table.table_row import Table

SAMPLE = 64 * 1024
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SHORT = 200  # bytes that are checked for UTF-16 without a mark: ...
MOST, FEW = 0.6, 0.2  # ... every second byte is mostly zero, the others seldom
# Unprintable characters for layout, and those that programs write into names (see `header.plain`).
_LAYOUT = "\t\r\n\f\v\u00a0\u2007\u202f\u200b\u200c\u200d\u2060\ufeff\u00ad"
DELIMITERS = ",;\t"
MAX_ROW = 1024 * 1024  # characters; a row can have line ends between quotes
_SEPARATOR = re.compile(r'"?sep=([,;\t])"?[,;\t]*\r*\n?')  # a first line that Excel obeys
_LINE_END = re.compile(r"\r*\n|\r")
# A word in the parser's message, and a text for people.
_MISTAKES = {
    "new-line": sentence("a line end (CR) in a cell without quotes"),
    "unexpected end": sentence("its last cell has no closing quote"),
    "expected after": sentence("text follows the closing quote of a cell"),
    "field larger": sentence("a cell has more than %(most)s characters", most=limits.MAX_TEXT),
}
_QUOTES = sentence("its quotes are not in order")


def encoding_of(path: Path) -> str:
    """Return the encoding of a file: UTF-16 or UTF-8 if it fits, else Windows-1252.

    Excel in Europe writes Windows-1252.

    Raises:
        NotAFeed: only the beginning is UTF-8. As Windows-1252, its umlauts would be wrong.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    beyond_ascii = False
    with path.open("rb") as file:
        head = file.read(SAMPLE)
        if marked := _marked(head):
            return marked
        file.seek(0)
        done = 0
        chunk = b"-"
        while chunk:
            chunk = file.read(SAMPLE)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                read = error.object[: error.start]
                if beyond_ascii or not bytes(read).isascii():
                    place = done + len(chunk) - len(error.object) + error.start
                    why = sentence("begins as UTF-8, but is none at byte %(place)s", place=place)
                    raise NotAFeed.of(path.name, why) from error
                return "cp1252"
            beyond_ascii = beyond_ascii or not text.isascii()
            done += len(chunk)
    return "utf-8"


def text_of(head: bytes) -> str | None:
    """Return the first bytes of a file as text, without leading blanks; None if it is no text."""
    text = head.decode(_marked(head) or "utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    line = text.replace("\r", "\n").partition("\n")[0]
    return text if all(c.isprintable() or c in _LAYOUT for c in line) else None


def _marked(head: bytes) -> str:
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if head.startswith(_UTF16):
        return "utf-16"
    odd, even = (_zeros(head[start:SHORT:2]) for start in (1, 0))
    if odd > MOST and even < FEW:
        return "utf-16-le"
    return "utf-16-be" if even > MOST and odd < FEW else ""


def _zeros(some: bytes) -> float:
    """Return the share of zeros: nearly all characters of a header are ASCII."""
    return some.count(0) / len(some) if some else 0.0


def is_like_csv(text: str) -> bool:
    """Return whether a file that begins with this text may be a table."""
    name = header.plain(text.replace("\r", "\n").partition("\n")[0].strip(' "'))
    is_ours = column(name) is not None or language_of([name]) != ""
    return any(delimiter in text for delimiter in DELIMITERS) or is_ours


def read_csv(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the rows of a file.

    Raises:
        NotAFeed: the file cannot be read. Truncated: it breaks off after some rows.
    """
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
        mistakes = (text for word, text in _MISTAKES.items() if word in str(error).lower())
        broken = sentence(
            "broken CSV after %(number)s records: %(mistake)s",
            number=number,
            mistake=next(mistakes, _QUOTES),
        )
        raise (Truncated if number else NotAFeed).of(path.name, broken) from error
    except UnicodeDecodeError as error:
        byte = f"{error.object[error.start]:02X}"
        broken = sentence(
            "no text after %(number)s records: the byte %(byte)s is no character: save the file as"
            " UTF-8",
            number=number,
            byte=byte,
        )
        raise (Truncated if number else NotAFeed).of(path.name, broken) from error


@dataclass(frozen=True, slots=True)
class _Start:
    """The delimiter of cells, the line end, and the line of the header of a file."""

    delimiter: str
    newline: str
    line: int


def _start(sample: str, profile: Profile, name: str) -> _Start:
    """Return the layout of a file that begins with a sample; raise NotAFeed without a header."""
    # A lone CR ends lines only if it ends the first line.
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
        raise NotAFeed.of(name, NO_FORMAT)
    return _Start(best, newline, rows[index][0])


def _first_rows(sample: str, newline: str, delimiter: str, wanted: int) -> list[header.Row]:
    """Return the first rows that are not empty. Errors in them are reported by the reading."""
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
    rows = csv.reader(lines, delimiter=start.delimiter, strict=True)
    cells, began = _header(rows, lines, start.line)
    found = header.read((start.line, cells), profile, lines.name)
    if heading := found.heading():
        yield heading
    yield from found.warnings()
    table = Table(found, lines.name, GUARDED_IN_CSV, profile)
    for row in rows:
        lines.start_row()
        position, began = in_line(began + 1), rows.line_num
        if len(row) < len(cells) and any(row):
            if not lines.ended:
                raise Truncated.of(lines.name, breaks_off(position))
            # Nobody can know which cells are missing.
            yield Refusal(position, None, [_too_few(len(row), len(cells))])
        elif (taken := table.take(row, position)) is not None:
            yield taken


def _header(rows: Any, lines: "_Lines", line: int) -> tuple[list[str], int]:
    """Skip the rows before the header; return the header and the number of its last line."""
    began = 0
    for cells in rows:
        lines.start_row()
        if began + 1 == line:
            return cells, rows.line_num
        began = rows.line_num
    why = sentence("the quotes above its header, line %(line)s, are not in order", line=str(line))
    raise NotAFeed.of(lines.name, why)


def _too_few(count: int, wanted: int) -> Sentence:
    return counted_sentence(
        "has %(count)s cell, the header has %(wanted)s",
        "has %(count)s cells, the header has %(wanted)s",
        count=count,
        wanted=wanted,
    )


class _Lines:
    """The lines of a file, with a limit for each row.

    Attributes:
        ended: whether the last line had a line end.
    """

    def __init__(self, file: TextIO, name: str) -> None:
        self._file = file
        self.name = name
        self.ended = True
        self._size = 0

    def start_row(self) -> None:
        """Start a new count after a row."""
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._file.readline(MAX_ROW + 1):
            self._size += len(line)
            if self._size > MAX_ROW:
                why = sentence("a row is longer than %(most)s characters", most=MAX_ROW)
                raise NotAFeed.of(self.name, why)
            self.ended = line[-1] in "\r\n"
            yield line
