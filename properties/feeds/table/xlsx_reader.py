"""Read a table from a sheet of an Excel workbook as a stream, within bounds.

openpyxl reads the rows, of parts that `workbook` counts before. It takes entities for an attack,
since defusedxml is installed.
"""

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from properties.feeds import damage
from properties.feeds.limits import BITS, written
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import FileWarning, Item, NotAFeed, Record, Refusal, Truncated
from properties.feeds.table import header, sheets
from properties.feeds.table.cells import GUARDED_IN_XLSX, CellError
from properties.feeds.table.columns import MAX_COLUMNS
from properties.feeds.table.formatted import Formatted
from properties.feeds.table.header import Row
from properties.feeds.table.rows import Table
from properties.feeds.table.workbook import MAX_ROWS, Workbook

HEADER_WITHIN = 1_000  # rows; below them nobody looks for a header

# What Excel shows for a formula that failed (ECMA-376 part 1, 18.17.3).
ERRORS = frozenset({"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"})

# ECMA-376 part 1, 22.9.2.19 (ST_Xstring): what XML cannot hold is written _xHHHH_.
_ESCAPED = re.compile(r"_x(00[01][0-9A-Fa-f]|005[Ff]|[Ff]{3}[EeFf])_")

# What openpyxl and the libraries below it raise for a workbook that is none, or broken; those of
# XML raise a SyntaxError.
_BROKEN = (
    *(BadZipFile, zlib.error, SyntaxError, OSError, EOFError, RuntimeError),
    *(KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError),
)


def read_xlsx(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the rows of a file; NotAFeed, or Truncated after rows, where it breaks."""
    number = 0
    try:
        for item in _rows(path, profile):
            yield item
            number += isinstance(item, Record | Refusal)
    except _BROKEN as error:
        broken = f"{path.name}: broken workbook after {number} records: {damage.of_workbook(error)}"
        raise (Truncated if number else NotAFeed)(broken) from error


def _rows(path: Path, profile: Profile) -> Iterator[Item]:
    """Yield what is above the records, and the records; numbers are those that Excel shows."""
    # It takes longer to load than all else that reads a feed, and few feeds are workbooks.
    from openpyxl.reader.excel import ExcelReader  # noqa: PLC0415

    with path.open("rb") as file:
        # A formula is read as the value that Excel computed last; links to other files stay unread.
        reader = ExcelReader(file, read_only=True, data_only=True, keep_links=False)
        book = reader.archive = Workbook(file, path.name)
        reader.read()
        all_sheets = reader.wb.worksheets
        sheet, first = sheets.choose(all_sheets, profile, path.name, _first_rows)
        index = header.find(first, profile, path.name)
        if index is None:
            raise NotAFeed(f"{path.name}: no sheet of it has a table")
        found = header.read(first[index], profile, path.name)
        if heading := found.heading(sheet.title):
            yield heading
        yield from sheets.warnings(all_sheets, sheet, profile)
        yield from found.warnings()
        table = Table(
            found, path.name, GUARDED_IN_XLSX, lenient=profile.lenient, zone=profile.tzinfo
        )
        for number, contents in _numbered(sheet, found.row + 1, MAX_ROWS):
            if (taken := table.take(contents, f"row {number}")) is not None:
                yield taken
        yield from _uncomputed(*book.uncomputed(sheet._worksheet_path))


def _uncomputed(count: int, first: str) -> Iterator[FileWarning]:
    """Yield what a program left for Excel to compute; their cells are empty until then."""
    if count:
        what = f"{count:,} formulas have" if count > 1 else "one formula has"
        place = f", first in {first}" if first else ""
        yield FileWarning(f"{what} no value yet{place}: open the file in Excel and save it")


def _first_rows(sheet: Any, profile: Profile) -> list[Row]:
    """Return the first rows that are not empty, with one cell more than a header may have."""
    rows: list[Row] = []
    with suppress(*_BROKEN):  # who reads the rows says why
        for row in islice(
            _numbered(sheet, 1, HEADER_WITHIN, MAX_COLUMNS + 1), header.searched(profile)
        ):
            rows.append(row)
    return rows


def _numbered(sheet: Any, first: int, last: int, width: int = MAX_COLUMNS) -> Iterator[Row]:
    """Yield the rows that are not empty, with their numbers.

    Bounds for both, or a cell at XFD1048576 would make openpyxl fill up all before it.
    """
    from openpyxl.cell.read_only import EMPTY_CELL  # noqa: PLC0415 - see `_rows`

    empty = [None] * width
    for number, row in enumerate(sheet.iter_rows(first, last, 1, width), start=first):
        contents = [None if cell is EMPTY_CELL else _content(cell) for cell in row]
        if contents != empty:  # a million of them is no rarity in sheets that were formatted
            yield number, contents


def _content(cell: Any) -> Any:
    """Return what a cell holds; a number with its format where that says more."""
    value = cell.value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and value.bit_length() >= BITS:
        return written(value)
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
        return CellError(value)
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value) if "_x" in value else value
