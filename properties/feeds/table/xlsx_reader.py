"""Read a table from the first sheet of an Excel workbook as a stream, within bounds.

openpyxl reads the rows, of parts that `workbook` counts before. It takes entities for an attack,
since defusedxml is installed.
"""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, Record, Refusal, Truncated
from properties.feeds.table.cells import GUARDED_IN_XLSX, Broken
from properties.feeds.table.columns import MAX_COLUMNS, Table
from properties.feeds.table.numbers import Formatted
from properties.feeds.table.workbook import MAX_ROWS, Workbook

# What Excel shows for a formula that failed (ECMA-376 part 1, 18.17.3).
ERRORS = frozenset({"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"})

# ECMA-376 part 1, 22.9.2.19 (ST_Xstring): what XML cannot hold is written _xHHHH_.
_ESCAPED = re.compile(r"_x(00[01][0-9A-Fa-f]|005[Ff]|[Ff]{3}[EeFf])_")

# What openpyxl and the library below it raise for a workbook that is none, or broken.
_BROKEN = (
    *(BadZipFile, zlib.error, ParseError, OSError, EOFError, RuntimeError),
    *(KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError),
)


def read_xlsx(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the rows of a file; NotAFeed, or Truncated after rows, where it breaks."""
    number = 0
    try:
        for taken in _rows(path):
            yield taken
            number += 1
    except _BROKEN as error:
        broken = f"{path.name}: broken workbook after {number} records: {_root(error)}"
        raise (Truncated if number else NotAFeed)(broken) from error


def _rows(path: Path) -> Iterator[Record | Refusal]:
    """Yield the rows below the header; numbers are those that Excel shows."""
    # It takes longer to load than all else that reads a feed, and few feeds are workbooks.
    from openpyxl.cell.read_only import EMPTY_CELL  # noqa: PLC0415
    from openpyxl.reader.excel import ExcelReader  # noqa: PLC0415

    with path.open("rb") as file:
        book = Workbook(file, path.name)
        # A formula is read as the value that Excel computed last; links to other files stay unread.
        reader = ExcelReader(file, read_only=True, data_only=True, keep_links=False)
        reader.archive = book
        reader.read()
        sheet = reader.wb.worksheets[0]
        header = next(sheet.iter_rows(1, 1, 1, MAX_COLUMNS + 1, values_only=True), ())
        table = Table(map(_text, header), path.name, GUARDED_IN_XLSX)
        # Bounds for both, or a cell at XFD1048576 would make openpyxl fill up all before it.
        rows = sheet.iter_rows(2, MAX_ROWS, 1, MAX_COLUMNS)
        empty = [None] * MAX_COLUMNS
        for number, row in enumerate(rows, start=2):
            contents = [None if cell is EMPTY_CELL else _content(cell) for cell in row]
            if contents == empty:  # a million of them is no rarity in sheets that were formatted
                continue
            if (taken := table.take(contents, f"row {number}")) is not None:
                yield taken


def _root(error: BaseException) -> str:
    """Return the first cause in one line; openpyxl wraps it into words about its own insides."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error).partition("\n")[0] or type(error).__name__


def _content(cell: Any) -> Any:
    """Return what a cell holds; a number with its format where that says more."""
    value = cell.value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float) and cell.has_style and not isinstance(value, bool):
        formatted = Formatted(value, _format(cell))
        return value if formatted.is_plain else formatted
    return value


def _format(cell: Any) -> str:
    """Return the number format of a cell; the plain one where the list of formats lacks it."""
    try:
        return str(cell.number_format)
    except IndexError:
        return "General"


def _text(value: Any) -> Any:
    """Return a text with the characters put back that XML cannot hold; errors as what they are."""
    if not isinstance(value, str):
        return value
    if value in ERRORS:
        return Broken(value)
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value) if "_x" in value else value
