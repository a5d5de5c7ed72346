"""The parts of a workbook, counted by a parser before openpyxl builds anything of them.

Only the parser knows what is a row, and what a comment or a text that looks like one.
"""

from typing import IO, Any
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

from properties.feeds.records import NotAFeed

MAX_SHEET = 2 * 1024**3  # bytes, unpacked; it is read row by row
MAX_STRINGS = 64 * 1024**2  # the table of shared texts, which openpyxl holds in memory
MAX_OTHER = 16 * 1024**2  # each of the other parts, and what stands in a sheet beside its rows
MAX_PARTS = 1_000
MAX_ROW = 4 * 1024**2  # bytes of one row, or of one shared text
MAX_ELEMENTS = 250_000  # of one row or shared text, and beside them in a part
MAX_TOKEN = 1024**2  # bytes of one tag or comment: parsers read it anew with each piece
MAX_ROWS = 1_048_576  # the rows of a sheet (Excel specifications and limits)
_CHUNK = 64 * 1024
# What openpyxl builds one after the other, forgetting the one before.
SHEET_MAIN_NS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"  # ECMA-376 part 1
_ROW, _TEXT = f"{SHEET_MAIN_NS} row", f"{SHEET_MAIN_NS} si"
_FORGOTTEN = frozenset({_ROW, _TEXT})
_CELL, _FORMULA, _VALUE = (f"{SHEET_MAIN_NS} {tag}" for tag in ("c", "f", "v"))
_OF_A_CELL = frozenset({_CELL, _FORMULA, _VALUE})


class Workbook(ZipFile):
    """A workbook whose parts are counted while they are read; NotAFeed where one is too much."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        """Look at the list of parts. zipfile unpacks no more of each than is announced there."""
        super().__init__(file)
        self._name = name
        self._gauges: dict[str, _Gauge] = {}  # of the last reading of each part
        sizes = {part.filename: part.file_size for part in self.infolist()}
        if "xl/workbook.xml" not in sizes:
            raise NotAFeed(f"{name}: a zip file, but no Excel workbook")
        if len(sizes) > MAX_PARTS:
            raise NotAFeed(f"{name}: has more than {MAX_PARTS:,} parts")
        for part, size in sizes.items():
            limit = _limit(part)
            if size > limit:
                raise NotAFeed(f"{name}: {part} is larger than {limit:,} bytes unpacked")

    def open(self, name: Any, *args: Any, **options: Any) -> IO[bytes]:
        """Open a part for reading."""
        part = getattr(name, "filename", name)
        opened = _Part(super().open(name, *args, **options), f"{self._name}: {part}")
        self._gauges[part] = opened.gauge
        return opened  # type: ignore[return-value]

    def uncomputed(self, part: str) -> tuple[int, str]:
        """Return how many formulas of a sheet that was read have no value, and the first one."""
        gauge = self._gauges.get(part.removeprefix("/"))
        return (gauge.uncomputed, gauge.first_uncomputed) if gauge else (0, "")


def _limit(part: str) -> int:
    """Return how large a part may be."""
    if part.startswith("xl/worksheets/") and part.endswith(".xml"):
        return MAX_SHEET
    return MAX_STRINGS if part == "xl/sharedStrings.xml" else MAX_OTHER


class _Part:
    """A part that is open: what is read of it has been counted."""

    def __init__(self, file: IO[bytes], place: str) -> None:
        self._file = file
        self._place = place
        self.gauge = _Gauge(place)
        self.close = file.close

    def __enter__(self) -> "_Part":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; all of them where no size is given."""
        if size >= 0:
            return self._next(size)
        pieces = []
        while piece := self._next(_CHUNK):
            pieces.append(piece)
            if len(pieces) * _CHUNK > MAX_OTHER:
                raise NotAFeed(f"{self._place} is larger than {MAX_OTHER:,} bytes unpacked")
        return b"".join(pieces)

    def _next(self, size: int) -> bytes:
        piece = self._file.read(size)
        self.gauge.feed(piece)
        return piece


class _Gauge:
    """Counts the bytes and elements of each row and shared text, and of all beside them."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._parser: Any = ParserCreate(namespace_separator=" ")
        self._parser.ordered_attributes = True  # a list is quicker to make
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._stop
        self._is_broken = False
        self._bytes = self._elements = 0  # up to here
        self._since = (0, 0)  # the same where a row began, or where the last one ended
        self._beside = (0, 0)  # bytes and elements beside rows
        self._open = self._ended = 0  # rows; a file that wants to do harm has rows in rows
        self._texts = 0  # bytes of all shared texts: they are kept
        self._cell: list[str] = []  # the attributes of the cell that is open
        self._has_formula = self._has_value = False
        self.uncomputed, self.first_uncomputed = 0, ""

    def feed(self, piece: bytes) -> None:
        """Count what is in the next piece, before the parser of who reads it sees it.

        Raises:
            NotAFeed: it is too much.
        """
        if self._is_broken:
            return
        try:
            self._parser.Parse(piece)
        except ExpatError:  # the other parser stops there as well, and says why
            self._is_broken = True
        self._bytes += len(piece)
        if self._bytes - self._parser.CurrentByteIndex > MAX_TOKEN:
            raise NotAFeed(f"{self._place}: a tag or comment is larger than {MAX_TOKEN:,} bytes")
        self._check(self._bytes)

    def _stop(self, *_: Any) -> None:
        raise ExpatError("the other parser takes no entities")

    def _start(self, tag: str, attributes: list[str]) -> None:
        self._elements += 1
        if tag in _OF_A_CELL:
            self._start_in_cell(tag, attributes)
        elif tag in _FORGOTTEN:
            if not self._open:
                self._beside = self._turn()
            self._open += 1

    def _start_in_cell(self, tag: str, attributes: list[str]) -> None:
        """Note a formula; its value has a character, or is an empty text."""
        if tag == _CELL:
            self._cell, self._has_formula, self._has_value = attributes, False, False
        elif tag == _FORMULA:
            self._has_formula = True
        elif self._has_formula:
            self._parser.CharacterDataHandler = self._found_value

    def _found_value(self, _: str) -> None:
        self._has_value = True

    def _end_in_cell(self, tag: str) -> None:
        if tag == _VALUE:
            self._parser.CharacterDataHandler = None
        elif tag == _CELL and self._has_formula and not self._has_value:
            said = dict(zip(self._cell[::2], self._cell[1::2], strict=True))
            if said.get("t") != "str":
                self.uncomputed += 1
                self.first_uncomputed = self.first_uncomputed or said.get("r", "")

    def _end(self, tag: str) -> None:
        if tag in _OF_A_CELL:
            self._end_in_cell(tag)
        if tag not in _FORGOTTEN:
            return
        if self._open == 1:
            size, _ = self._turn()
            self._ended += 1
            self._texts += size if tag == _TEXT else 0
            if self._ended > MAX_ROWS or self._texts > MAX_STRINGS:
                raise NotAFeed(f"{self._place} has more rows or texts than a sheet can hold")
        self._open -= 1

    def _turn(self) -> tuple[int, int]:
        """Return what was counted of the row, or beside rows, and begin to count anew."""
        position = self._parser.CurrentByteIndex
        counted = self._check(position)
        self._since = (position, self._elements)
        return counted

    def _check(self, position: int) -> tuple[int, int]:
        """Return the bytes and elements of the row, or beside rows, up to a byte of the part."""
        if self._open:
            what, known, limit = f"row or text {self._ended + 1}", (0, 0), MAX_ROW
        else:
            what, known, limit = "what stands beside rows", self._beside, MAX_OTHER
        size = known[0] + position - self._since[0]
        count = known[1] + self._elements - self._since[1]
        if size > limit:
            raise NotAFeed(f"{self._place}: {what} is larger than {limit:,} bytes")
        if count > MAX_ELEMENTS:
            raise NotAFeed(f"{self._place}: {what} has more than {MAX_ELEMENTS:,} elements")
        return size, count
