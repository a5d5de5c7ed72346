"""Split the lines of an IDX file into columns, by a layout that is decided for the whole file.

A `#` in a text moves every later column by one, and a single line cannot show that. So a first pass
counts the columns of all lines. A line with another number of columns than its file is refused.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from crm_sync.sentence import Sentence, counted_sentence, sentence
from crm_sync.text import quoted
from properties.feeds.idx.codes import CATEGORIES, OFFER_TYPES, PRICE_UNITS
from properties.feeds.idx.idx_columns import COLUMNS
from properties.feeds.records import NotAFeed

VERSION = "IDX3.01"
MAX_LINE = 256 * 1024  # bytes; all columns filled to the limits of the field list take 60,000
WIDTH = len(COLUMNS)
_AGENCY = 68
_BEGINS = VERSION.encode()[:3]
# Some programs write the names of the columns first, in the order of the field list.
HEADER = b"version#sender_id#object_category#object_type#offer_type#ref_property#ref_house#"
_BOM = b"\xef\xbb\xbf"
_NOTHING = b" \t\r\n\x00\x1a"  # bytes of a line without a record; DOS ends a file with 1A
# The # of &#39; is no separator: no column begins with a number and a semicolon.
_NUMERIC = r"(?:\d{1,7}|[xX][0-9a-fA-F]{1,6});"
_SEPARATOR = re.compile(rf"(?<!&)#|(?<=&)#(?!{_NUMERIC})")
_SEPARATOR_BYTES = re.compile(_SEPARATOR.pattern.encode())

Numbered = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of all lines of a file.

    Attributes:
        is_ended: whether a `#` ends each column, also the last one of a line.
        has_agencies: whether the objects belong to several agencies.
    """

    is_ended: bool = False
    has_agencies: bool = False

    def fault(self, cells: list[str]) -> Sentence | None:
        """Return why a line does not fit its file: its number of columns, or moved columns."""
        is_ended = self.is_ended and not cells[-1].strip()
        count = len(cells) - is_ended
        if count > WIDTH:
            return sentence(
                "has %(count)s columns instead of %(width)s: a # in a text, or behind all,"
                " ends one",
                count=count,
                width=WIDTH,
            )
        if count < WIDTH:
            return counted_sentence(
                "has %(count)s column instead of %(width)s: it lacks columns, or breaks off",
                "has %(count)s columns instead of %(width)s: it lacks columns, or breaks off",
                count=count,
                width=WIDTH,
            )
        if self.is_ended and not is_ended:
            return sentence("does not end with a # as the lines of this file do")
        for number, looks in _MARKS:
            if fault := _moved(cells, number, looks):
                return fault
        return None


def lines(file: BinaryIO, name: str) -> Iterator[Numbered]:
    """Yield the bytes of each record, with the number of its first line.

    A text can contain a line break. So a line that does not begin like a record continues the
    record before it, if that still lacks columns.

    Raises:
        NotAFeed: a record is longer than MAX_LINE.
    """
    begun, parts, size, columns = 0, list[bytes](), 0, 0
    for number, line in _physical_lines(file, name):
        if parts and not line.startswith(_BEGINS):
            columns = columns or width(parts[0])
            if columns < WIDTH:
                parts.append(line)
                columns += width(line) - 1
                size += len(line)
                if size > MAX_LINE:
                    raise _too_long(name, begun)
                continue
        if parts:
            yield begun, b"".join(parts)
        begun, parts, size, columns = number, [line], len(line), 0
    if parts:
        yield begun, b"".join(parts)


def _physical_lines(file: BinaryIO, name: str) -> Iterator[Numbered]:
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise _too_long(name, number)
        line = line.removeprefix(_BOM)
        if line.strip(_NOTHING) and not (number == 1 and line.startswith(HEADER)):
            yield number, line


def _too_long(name: str, number: int) -> NotAFeed:
    line = str(number)  # as the position of a record
    why = sentence("line %(line)s is longer than %(most)s bytes", line=line, most=MAX_LINE)
    return NotAFeed.of(name, why)


def width(record: bytes) -> int:
    """Return the number of columns of a record."""
    if b"&#" in record:
        return 1 + len(_SEPARATOR_BYTES.findall(record))
    return 1 + record.count(b"#")


def split(text: str) -> list[str]:
    """Return the columns of a record."""
    return _SEPARATOR.split(text) if "&#" in text else text.split("#")


def survey(path: Path, *, with_agencies: bool) -> Layout:
    """Read a file once and return its layout.

    The majority of the lines decides the number of columns. On a tie it is the number of the field
    list: a line with one more column is then refused, which is better than moved columns.

    Raises:
        NotAFeed: see `lines`.
    """
    counts: Counter[bool] = Counter()
    agencies = {is_ended: _Agencies(Layout(is_ended)) for is_ended in (False, True)}
    with path.open("rb") as file:
        for _, record in lines(file, path.name):
            columns = width(record)
            is_ended = columns == WIDTH + 1 and record.rstrip(_NOTHING).endswith(b"#")
            if not is_ended and columns != WIDTH:
                continue
            counts[is_ended] += 1
            if with_agencies:
                agencies[is_ended].meet(record)
    is_ended = counts[True] > counts[False]
    return Layout(is_ended, agencies[is_ended].are_several)


class _Agencies:
    """Finds out whether the objects of a file belong to several agencies."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._first: str | None = None
        self.are_several = False

    def meet(self, record: bytes) -> None:
        """Count the agency of one more record, unless its columns are moved."""
        if self.are_several:
            return
        cells = (
            _SEPARATOR_BYTES.split(record, _AGENCY + 1)
            if b"&#" in record
            else record.split(b"#", _AGENCY + 1)
        )
        agency = reference(decode(cells[_AGENCY])).casefold()
        if not agency or agency == self._first:
            return
        if self._layout.fault(split(decode(record).rstrip("\r\n"))) is None:
            self.are_several = self._first is not None
            self._first = agency


def reference(cell: str) -> str:
    """Return a reference; "" for the word null, as in the field list."""
    text = cell.strip()
    return "" if text.lower() == "null" else text


def decode(line: bytes) -> str:
    """Return a line as text.

    The format requires ISO-8859-1, but senders write ISO-8859-15, Windows-1252 and UTF-8 too. A
    line that is valid UTF-8 is hardly ever in another encoding. Windows-1252 has all printable
    characters of ISO-8859-1. Of the characters of ISO-8859-15 only the euro is recognised: nobody
    uses the sign that ISO-8859-1 has in its place. The others are read as ISO-8859-1, because the
    half in "4½ Zimmer" is much more frequent.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        # Five bytes are undefined in Windows-1252. They are control characters, and are dropped.
        return line.decode("cp1252", errors="ignore").replace("\u00a4", "€")


# Columns whose values differ from those of their neighbours, and a test for such a value.
_EMAIL = re.compile(r"[^@\s/]+@[^@\s/]+\.(?!png|jpe?g|gif|svg|webp)[a-z]{2,}", re.IGNORECASE)
_DAY = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}\b.*")
_UNITS = frozenset().union(*PRICE_UNITS.values())
_CURRENCIES = frozenset({"CHF", "EUR", "USD", "GBP"})
_MARKS: tuple[tuple[int, Callable[[str], object]], ...] = (
    (2, lambda text: text.upper() in CATEGORIES),
    (4, lambda text: text.upper() in OFFER_TYPES),
    (21, lambda text: text.upper() in _UNITS),
    (22, lambda text: text.upper() in _CURRENCIES),
    (79, _EMAIL.fullmatch),
    (177, _DAY.fullmatch),
)


def _moved(cells: list[str], number: int, looks: Callable[[str], object]) -> Sentence | None:
    """Return a message if the value of a column is in a neighbouring column, else None."""
    before, own, after = cells[number - 1 : number + 2]
    if not (before or after) or (own and looks(own.strip())):
        return None
    name = COLUMNS[number].name
    if looks(after.strip()):
        return sentence(
            "%(name)s %(value)s stands in column %(place)s instead of %(number)s: a # in a text"
            " ends a column before it",
            **_place(name, after, number + 1, number),
        )
    if looks(before.strip()):
        return sentence(
            "%(name)s %(value)s stands in column %(place)s instead of %(number)s: one is missing"
            " before it",
            **_place(name, before, number - 1, number),
        )
    return None


def _place(name: str, text: str, place: int, number: int) -> dict[str, str | int]:
    return {"name": name, "value": quoted(text.strip()), "place": place, "number": number}
