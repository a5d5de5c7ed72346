"""Read a table from the first sheet of an Excel workbook as a stream, within bounds.

openpyxl reads the rows; what it would build before anyone can look at it is measured beforehand.
It takes entities for an attack, since defusedxml is installed.
"""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

from openpyxl import load_workbook
from openpyxl.cell.cell import ERROR_CODES

from properties.feeds.cells import GUARDED_IN_XLSX, Broken
from properties.feeds.records import NotAFeed, Record, Refusal, Truncated
from properties.feeds.table import MAX_COLUMNS, Table

MAX_SHEET = 2 * 1024**3  # bytes, unpacked; it is read row by row
MAX_STRINGS = 64 * 1024**2  # the table of shared texts, which openpyxl holds in memory
MAX_OTHER = 16 * 1024**2  # each of the other parts
MAX_PARTS = 1_000
MAX_ROW = 4 * 1024**2  # bytes of one row
MAX_ROWS = 1_048_576  # the rows of a sheet (Excel specifications and limits)
ERRORS = frozenset(ERROR_CODES)
_CHUNK = 256 * 1024
_ROW = re.compile(rb"<(?:\w+:)?row[\s>/]")

# ECMA-376 part 1, 22.9.2.19 (ST_Xstring): what XML cannot hold is written _xHHHH_.
_ESCAPED = re.compile(r"_x(00[01][0-9A-Fa-f]|005[Ff]|[Ff]{3}[EeFf])_")

# What openpyxl and the library below it raise for a workbook that is none, or broken.
_BROKEN = (
    *(BadZipFile, zlib.error, ParseError, OSError, EOFError, RuntimeError),
    *(KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError),
)


def read_xlsx(path: Path) -> Iterator[Record | Refusal]:
    """Yield the rows of a file; NotAFeed, or Truncated after rows, where it breaks."""
    number = 0
    try:
        _measure(path)
        for taken in _rows(path):
            yield taken
            number += 1
    except _BROKEN as error:
        broken = f"{path.name}: broken workbook after {number} records: {_root(error)}"
        raise (Truncated if number else NotAFeed)(broken) from error


def _rows(path: Path) -> Iterator[Record | Refusal]:
    """Yield the rows below the header; numbers are those that Excel shows."""
    # A formula is read as the value that Excel computed last; links to other files stay unread.
    book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
    try:
        sheet = book.worksheets[0]
        header = next(sheet.iter_rows(1, 1, 1, MAX_COLUMNS, values_only=True), ())
        table = Table(map(_text, header), path.name, GUARDED_IN_XLSX)
        # Bounds for both, or a cell at XFD1048576 would make openpyxl fill up all before it.
        rows = sheet.iter_rows(2, MAX_ROWS, 1, MAX_COLUMNS, values_only=True)
        empty = (None,) * MAX_COLUMNS
        for number, row in enumerate(rows, start=2):
            if row == empty:  # a million of them is no rarity in sheets that were formatted
                continue
            if (taken := table.take(list(map(_text, row)), f"row {number}")) is not None:
                yield taken
    finally:
        book.close()


def _root(error: BaseException) -> str:
    """Return the first cause in one line; openpyxl wraps it into words about its own insides."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error).partition("\n")[0] or type(error).__name__


def _text(value: Any) -> Any:
    """Return a text with the characters put back that XML cannot hold; errors as what they are."""
    if not isinstance(value, str):
        return value
    if value in ERRORS:
        return Broken(value)
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value) if "_x" in value else value


def _measure(path: Path) -> None:
    """Refuse what is no workbook, or would fill the memory.

    zipfile unpacks no more than a part's entry announces, so the announced sizes are bounds.
    """
    with ZipFile(path) as archive:
        sizes = {part.filename: part.file_size for part in archive.infolist()}
        if "xl/workbook.xml" not in sizes:
            raise NotAFeed(f"{path.name}: a zip file, but no Excel workbook")
        if len(sizes) > MAX_PARTS:
            raise NotAFeed(f"{path.name}: has more than {MAX_PARTS:,} parts")
        for name, size in sizes.items():
            limit = _limit(name)
            if size > limit:
                raise NotAFeed(f"{path.name}: {name} is larger than {limit:,} bytes unpacked")
        for name in filter(_is_sheet, sizes):
            _measure_rows(archive, name, path.name)


def _limit(name: str) -> int:
    """Return how large a part may be: any part, since the workbook itself says which is which."""
    if _is_sheet(name):
        return MAX_SHEET
    return MAX_STRINGS if name == "xl/sharedStrings.xml" else MAX_OTHER


def _is_sheet(name: str) -> bool:
    return name.startswith("xl/worksheets/") and name.endswith(".xml")


def _measure_rows(archive: ZipFile, name: str, file_name: str) -> None:
    """Refuse a sheet with a giant row or cell: it is built whole before it can be looked at."""
    since = 0
    tail = b""
    with archive.open(name) as sheet:
        while chunk := sheet.read(_CHUNK):
            window = tail + chunk
            starts = [match.start() for match in _ROW.finditer(window)]
            since = len(window) - starts[-1] if starts else since + len(chunk)
            tail = window[-16:]
            if since > MAX_ROW:
                raise NotAFeed(f"{file_name}: a row is larger than {MAX_ROW:,} bytes")
