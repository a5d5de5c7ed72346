"""An Excel workbook that is written row by row, from the first byte to the last.

openpyxl writes the whole workbook at the end. Here the rows go directly into the ZIP, which has the
size of a part after the part. So the file can be read while it grows: written bytes never change.
"""

from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook
from openpyxl.worksheet._writer import WorksheetWriter
from openpyxl.writer.excel import ExcelWriter


class _Forwards:
    """A file without seeking."""

    def __init__(self, file: BinaryIO) -> None:
        self.write, self.flush, self.close = file.write, file.flush, file.close


class _Writer(ExcelWriter):  # type: ignore[misc]  # openpyxl has no types
    """Writes all parts except the rows of the sheet, which are already in the ZIP."""

    def write_worksheet(self, ws: Any) -> None:
        """Add the sheet to the table of contents."""
        ws._drawing, ws._rels = None, ws._writer._rels
        self.manifest.append(ws)


class WorkbookStream:
    """A workbook of one sheet, finished by its `with` block. `sheet.append` adds a row."""

    def __init__(self, path: Path, title: str) -> None:
        """Begin the file."""
        self._file = path.open("wb")
        self._archive = ZipFile(_Forwards(self._file), "w", ZIP_DEFLATED)
        self._book = Workbook(write_only=True)
        self.sheet = self._book.create_sheet(title)
        self.sheet.freeze_panes = "B2"
        self._part = self._archive.open("xl/worksheets/sheet1.xml", "w")
        self.sheet._writer = WorksheetWriter(self.sheet, out=self._part)
        self.sheet._writer.write_top()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write the other parts. After an error they are omitted, so the file is no workbook."""
        with self._file:
            self.sheet.close()
            self._part.close()
            if error is None:
                _Writer(self._book, self._archive).write_data()
            self._archive.close()
