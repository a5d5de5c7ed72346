"""Read a table from a sheet of an Excel workbook as a stream, within limits.

openpyxl parses the sheet once, row by row. Our archive limits the bytes that it reads. Because
defusedxml is installed, it refuses entities as an attack. It loads slowly, and few feeds are
workbooks, so it is imported only when it is needed.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

from defusedxml.common import DefusedXmlException

from crm_sync.sentence import Sentence, counted_sentence, sentence
from properties.feeds.limits import BITS, DECLARES, written
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import (
    FileWarning,
    Item,
    NotAFeed,
    Record,
    Refusal,
    Truncated,
    in_row,
)
from properties.feeds.table import header
from properties.feeds.table.header import Row
from properties.feeds.table.table_cells import GUARDED_IN_XLSX, CellError, Formatted
from properties.feeds.table.table_columns import MAX_COLUMNS
from properties.feeds.table.table_row import Table

MAX_SHEET = 2 * 1024**3  # bytes, unpacked; it is read row by row
MAX_STRINGS = 64 * 1024**2  # bytes of the table of shared texts, which openpyxl holds in memory
MAX_OTHER = 16 * 1024**2  # bytes of each other part, and of one row of a sheet
MAX_PARTS = 1_000
MAX_ROWS = 1_048_576  # the rows of a sheet (Excel specifications and limits)
HEADER_WITHIN = 1_000  # rows that are searched for a header
MAX_PEEKED = 20  # sheets that are searched for a header
_NAMED = 10  # sheets that a warning names

# The errors that Excel shows for a formula (ECMA-376 part 1, 18.17.3).
ERRORS = frozenset({"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"})

# ECMA-376 part 1, 22.9.2.19 (ST_Xstring): a character that XML cannot hold is written _xHHHH_.
_ESCAPED = re.compile(r"_x(00[01][0-9A-Fa-f]|005[Ff]|[Ff]{3}[EeFf])_")

# The errors of openpyxl and its libraries for a file that is no workbook, or a broken one. The XML
# libraries raise a SyntaxError.
_BROKEN = (
    *(BadZipFile, zlib.error, SyntaxError, OSError, EOFError, RuntimeError),
    *(KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError),
)


def read_xlsx(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the rows of a file.

    Raises:
        NotAFeed: the file cannot be read. Truncated: it breaks off after some rows.
    """
    number = 0
    try:
        with path.open("rb") as file:
            for item in _Workbook(file, path.name).items(profile):
                yield item
                number += isinstance(item, Record | Refusal)
    except _BROKEN as error:
        broken = sentence(
            "broken workbook after %(number)s records: %(mistake)s",
            number=number,
            mistake=_mistake(error),
        )
        raise (Truncated if number else NotAFeed).of(path.name, broken) from error


def _mistake(error: BaseException) -> Sentence:
    while error.__context__ is not None:  # openpyxl wraps the first cause
        error = error.__context__
    if isinstance(error, DefusedXmlException):
        return DECLARES
    return sentence("a part of it is damaged: open it in Excel and save it again")


class _Archive(ZipFile):
    """The parts of a workbook, with limits for their sizes.

    zipfile unpacks at most the announced size of a part. `unread` counts the bytes of a sheet since
    its last row, so that no row can fill the memory.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        super().__init__(file)
        self._name = name
        self.unread = 0
        sizes = {part.filename: part.file_size for part in self.infolist()}
        if "xl/workbook.xml" not in sizes:
            raise NotAFeed.of(name, sentence("a zip file, but no Excel workbook"))
        if len(sizes) > MAX_PARTS:
            raise NotAFeed.of(name, sentence("has more than %(most)s parts", most=MAX_PARTS))
        for part, size in sizes.items():
            limit = MAX_STRINGS if part == "xl/sharedStrings.xml" else MAX_OTHER
            limit = MAX_SHEET if _is_sheet(part) else limit
            if size > limit:
                why = sentence(
                    "%(part)s is larger than %(most)s bytes unpacked", part=part, most=limit
                )
                raise NotAFeed.of(name, why)

    def open(self, name: Any, *args: Any, **options: Any) -> IO[bytes]:
        """Open a part for reading."""
        opened = super().open(name, *args, **options)
        part, read = getattr(name, "filename", name), opened.read
        self.unread = 0

        def watched(size: int = -1) -> bytes:
            piece = read(size)
            self.unread += len(piece)
            if self.unread > MAX_OTHER:
                why = sentence(
                    "one row of %(part)s is larger than %(most)s bytes", part=part, most=MAX_OTHER
                )
                raise NotAFeed.of(self._name, why)
            return piece

        if _is_sheet(part):
            opened.read = watched  # type: ignore[method-assign]
        return opened


def _is_sheet(part: str) -> bool:
    return part.startswith("xl/worksheets/") and part.endswith(".xml")


class _Workbook:
    """A workbook whose sheets are read row by row."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        from openpyxl.reader.excel import ExcelReader  # noqa: PLC0415 - see the head

        # A formula is read as the value that Excel computed last. Links to other files are ignored.
        reader = ExcelReader(file, read_only=True, data_only=True, keep_links=False)
        self._name = name
        self._archive = reader.archive = _Archive(file, name)
        reader.read()
        self._book = reader.wb
        self._uncomputed: list[str] = []  # the cells of formulas that have no value yet

    def items(self, profile: Profile) -> Iterator[Item]:
        """Yield the heading, the warnings and the records, with Excel's row numbers."""
        sheet, first = self._choose(profile)
        index = header.find(first, profile, self._name)
        if index is None:
            raise NotAFeed.of(self._name, sentence("no sheet of it has a table"))
        found = header.read(first[index], profile, self._name)
        if heading := found.heading(sheet.title):
            yield heading
        others = [one for one in self._book.worksheets if one is not sheet]
        if others and not profile.sheet:
            text = sentence(
                'the sheet "%(sheet)s" is read, and not: %(others)s',
                sheet=sheet.title,
                others=_named(others),
            )
            yield FileWarning(text)
        yield from found.warnings()
        table = Table(found, self._name, GUARDED_IN_XLSX, profile)
        for number, contents in self._rows(sheet):
            if number > found.row and (taken := table.take(contents, in_row(number))) is not None:
                yield taken
        if self._uncomputed:
            yield FileWarning(_no_value(len(self._uncomputed), self._uncomputed[0]))

    def _choose(self, profile: Profile) -> tuple[Any, list[Row]]:
        """Return the sheet to read, and its first rows.

        It is the sheet of the profile, else the sheet with the best header: a cover sheet has none.
        A hidden sheet is read only if the profile names it.
        """
        sheets = self._book.worksheets
        if profile.sheet:
            wanted = profile.sheet.casefold()
            chosen = [one for one in sheets if one.title.strip().casefold() == wanted]
            if not chosen:
                why = sentence(
                    'no sheet is called "%(sheet)s"; there is: %(sheets)s',
                    sheet=profile.sheet,
                    sheets=_named(sheets),
                )
                raise NotAFeed.of(self._name, why)
            return chosen[0], self._first_rows(chosen[0], profile)
        visible = [one for one in sheets if one.sheet_state == "visible"]
        if not visible:
            why = sentence("has no sheet that is shown: choose one for the sender")
            raise NotAFeed.of(self._name, why)
        best: tuple[tuple[bool, int], Any, list[Row]] | None = None
        for sheet in visible[:MAX_PEEKED]:
            rows = self._first_rows(sheet, profile)
            rank = max((header.rank(cells, profile) for _, cells in rows), default=(False, 0))
            if best is None or rank > best[0]:
                best = rank, sheet, rows
            if rank[0]:
                break
        return best[1:]  # type: ignore[index]  # at least one sheet is visible

    def _first_rows(self, sheet: Any, profile: Profile) -> list[Row]:
        """Return the first rows that are not empty, with one cell more than a header may have.

        So `header.read` can detect that there are too many columns.
        """
        rows: list[Row] = []
        with suppress(*_BROKEN):  # the error is reported when the rows are read
            found = self._rows(sheet, HEADER_WITHIN, MAX_COLUMNS + 1)
            rows.extend(islice(found, header.searched(profile)))
        return rows

    def _rows(self, sheet: Any, last: int = MAX_ROWS, width: int = MAX_COLUMNS) -> Iterator[Row]:
        """Yield the rows that are not empty, with their numbers; list formulas without a value."""
        from openpyxl.worksheet._reader import (  # noqa: PLC0415 - see the head
            FORMULA_TAG,
            VALUE_TAG,
            WorkSheetParser,
        )

        book = self._book
        self._uncomputed = uncomputed = []

        class Parser(WorkSheetParser):  # type: ignore[misc]  # openpyxl has no types
            def parse_cell(self, element: Any) -> Any:
                is_text = element.get("t") == "str"  # its value may be empty
                if not is_text and element.find(FORMULA_TAG) is not None:
                    uncomputed.extend([] if element.findtext(VALUE_TAG) else [element.get("r", "")])
                return super().parse_cell(element)

        with sheet._get_source() as source:
            parser = Parser(
                source,
                sheet._shared_strings,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
            )
            for number, cells in parser.parse():
                self._archive.unread = 0
                if number > last:
                    break
                contents: list[object] = [None] * width
                is_empty = True
                for cell in cells:
                    if cell["value"] is not None and 0 < cell["column"] <= width:
                        contents[cell["column"] - 1] = _content(sheet, cell)
                        is_empty = False
                if not is_empty:  # sheets with formats often have a million empty rows
                    yield number, contents


def _no_value(count: int, place: str) -> Sentence:
    """Return the warning about formulas without a value, the first of which is in a cell."""
    if not place:
        return counted_sentence(
            "one formula has no value yet: open the file in Excel and save it",
            "%(count)s formulas have no value yet: open the file in Excel and save it",
            count=count,
        )
    return counted_sentence(
        "one formula has no value yet, first in %(place)s: open the file in Excel and save it",
        "%(count)s formulas have no value yet, first in %(place)s: open the file in Excel and save"
        " it",
        count=count,
        place=place,
    )


def _named(sheets: Sequence[Any]) -> list[str]:
    """Return the names of the first sheets, and the number of the others."""
    names = [
        one.title
        if one.sheet_state == "visible"
        else sentence("%(sheet)s (hidden)", sheet=one.title)
        for one in sheets[:_NAMED]
    ]
    more = len(sheets) - _NAMED
    return names if more <= 0 else [*names, sentence("and %(count)s more", count=more)]


def _content(sheet: Any, cell: dict[str, Any]) -> object:
    """Return the content of a cell, for a number with its format if that matters."""
    value = cell["value"]
    if isinstance(value, str):
        if value in ERRORS:
            return CellError(value)
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value) if "_x" in value else value
    if isinstance(value, int) and value.bit_length() >= BITS:
        return written(value)
    if isinstance(value, int | float) and cell["style_id"] and not isinstance(value, bool):
        from openpyxl.cell.read_only import ReadOnlyCell  # noqa: PLC0415 - see the head

        with suppress(IndexError):  # the list of formats may lack it
            formatted = Formatted(value, str(ReadOnlyCell(sheet, **cell).number_format))
            return value if formatted.is_plain else formatted
    return value
