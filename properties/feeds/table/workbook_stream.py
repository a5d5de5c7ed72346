"""An Excel workbook that is written from its first byte to its last, as its rows come.

openpyxl writes a workbook of one piece at its end. Here its rows go straight into the ZIP, which
says the size of a part behind it. So whoever reads the file while it grows reads what stays.
"""

from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook
from openpyxl.worksheet._writer import WorksheetWriter
from openpyxl.writer.excel import ExcelWriter


class _Forwards:
    """A file in which nobody goes back."""

    def __init__(self, file: BinaryIO) -> None:
        self.write, self.flush, self.close = file.write, file.flush, file.close


class _Writer(ExcelWriter):  # type: ignore[misc]  # openpyxl has no types
    """Writes all parts but the rows of the sheet, which are in the ZIP already."""

    def write_worksheet(self, ws: Any) -> None:
        """Name the sheet in the table of contents."""
        ws._drawing, ws._rels = None, ws._writer._rels
        self.manifest.append(ws)


class WorkbookStream:
    """A workbook of one sheet; `sheet.append` writes a row. It ends with its block."""

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
        """Write the other parts; without them, where it broke off, it is no workbook."""
        with self._file:
            self.sheet.close()
            self._part.close()
            if error is None:
                _Writer(self._book, self._archive).write_data()
            self._archive.close()
