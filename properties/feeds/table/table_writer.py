"""Write documents as a table that is read back unchanged, and report values it cannot express.

Pure: the caller passes the documents one by one.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from django.utils.translation import gettext, override

from crm_sync.sentence import sentence
from properties import catalog, merge
from properties.catalog import Kind, choice_name
from properties.catalog.validation import READ_ONLY_MESSAGE
from properties.feeds import limits
from properties.feeds.overlay import LOCALIZATIONS
from properties.feeds.table import table_cells as cells, table_names
from properties.feeds.table.synonyms import LANGUAGE, NAMES
from properties.feeds.table.table_columns import COLUMNS, TEXTS, column, holds, localized
from properties.feeds.table.xlsx_reader import ERRORS, MAX_ROWS

Document = dict[str, Any]
Unsaid = list[tuple[str, str]]  # path and reason for each value that a format cannot express
Written = tuple[str, Unsaid]  # the reference of a document, and its values that were left out

MAX_TEXT_XLSX = 32_767  # characters in a cell (Excel specifications and limits)
_BEYOND_XML = re.compile(
    r"[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)"
)  # also texts that would be read as an escape
_NEWER = sentence("The catalog does not know this field")
_LATER = sentence("This was not there when the export began")
_BLANK = sentence("This text holds only spaces")
LANGUAGE_OF_TEXTS = "de"
# Columns whose cells are words of the platform, so that they have no foreign names.
_WORDS = (
    *("offerType", "propertyType", "propertyCategories", "availabilityState"),
    *("prices.rent.interval", "heatingType", "characteristics.hasBalcony"),
    *("characteristics.hasElevator", "characteristics.hasParking"),
)


@dataclass
class ColumnNames:
    """The columns that some documents need: the reference, then the order of the catalog."""

    _used: set[str] = field(default_factory=lambda: {cells.REFERENCE})
    _languages: dict[str, None] = field(default_factory=dict)

    def need(self, document: Document) -> None:
        """Add the columns that a document needs."""
        for name in values(document)[0]:
            self._used.add(name)
            if name.startswith(f"{LOCALIZATIONS}."):
                self._languages.setdefault(name.split(".")[1])

    def ordered(self) -> list[str]:
        """Return the names of the columns."""
        texts = [name for language in self._languages for name in localized(language)]
        known = [cells.REFERENCE, *(n for n in COLUMNS if n != cells.REFERENCE), *texts]
        return [name for name in known if name in self._used]


def values(document: Document) -> tuple[dict[str, Any], Unsaid]:
    """Return the valid values of a document by column, and the values that no column can express.

    A value that is invalid in our catalog is left out. It comes from the platform, which may know
    newer words (A50), and would be refused when it is read back.
    """
    found: dict[str, Any] = {}
    unsaid: Unsaid = []
    for path, value in merge.leaves(document).items():
        if path == LOCALIZATIONS:
            _texts(value, found, unsaid)
        else:
            _spread(path, value, found, unsaid)
    return found, unsaid


def _spread(path: str, value: Any, found: dict[str, Any], unsaid: Unsaid) -> None:
    known = catalog.find(path)
    if catalog.is_empty(path, value):
        return
    if known is None:
        unsaid.append((path, _NEWER))
    elif known.kind in {Kind.OBJECT, Kind.MERGED} and isinstance(value, dict):
        for name, member in value.items():
            _spread(f"{path}.{name}", member, found, unsaid)
    elif path in COLUMNS and not (faults := catalog.validate(path, value)):
        found[path] = value
    elif path in COLUMNS:
        unsaid.append((path, _first(path, faults)))
    else:
        unsaid.append((path, READ_ONLY_MESSAGE if known.read_only else _NEWER))


def _texts(value: Any, found: dict[str, Any], unsaid: Unsaid) -> None:
    faults = catalog.validate(LOCALIZATIONS, value)
    if faults:
        unsaid.append((LOCALIZATIONS, _first(LOCALIZATIONS, faults)))
        return
    for item in value:
        language = item["languageCode"]
        for name, text in item.items():
            path = f"{LOCALIZATIONS}.{language}.{name}"
            if name in TEXTS and not catalog.is_empty(path, text):
                found[path] = text
            elif name != "languageCode" and text is not None and name not in TEXTS:
                unsaid.append((f"{LOCALIZATIONS}[].{name}", _NEWER))


def _first(path: str, faults: list[catalog.FieldFault]) -> str:
    """Return the first fault as text, with its path if that differs."""
    return faults[0].message if faults[0].path == path else faults[0].sentence


@dataclass
class _Rows:
    """The rows of a table with given columns."""

    _names: list[str]
    _guarded: re.Pattern[str]
    _limit: int
    _zone: tzinfo
    _language: str
    _reserved: frozenset[str] = frozenset()

    def row(self, document: Document) -> tuple[list[Any], Unsaid]:
        found, unsaid = values(document)
        row = [self._cell(name, found.pop(name, None), unsaid) for name in self._names]
        unsaid += [(name, _LATER) for name in found]
        return row, unsaid

    def _cell(self, name: str, value: Any, unsaid: Unsaid) -> Any:
        column_ = column(name)
        if value is None or column_ is None:
            return None
        named = table_names.in_words(column_.field, value, self._language)
        content = cells.say(column_.field, named, self._zone)
        if isinstance(content, str):
            content = cells.guard(content, self._guarded)
            if cells.says_nothing(content):
                unsaid.append((name, _BLANK))
            elif len(content) > self._limit:
                text = sentence("A cell has at most %(most)s characters", most=self._limit)
                unsaid.append((name, text))
                return None
            elif content in self._reserved:
                text = sentence("Excel takes %(text)s for an error", text=content)
                unsaid.append((name, text))
                return None
        return content


def write_csv(
    path: Path,
    documents: Iterable[Document],
    names: list[str],
    zone: tzinfo = UTC,
    language: str = "",
) -> Iterator[Written]:
    """Write a CSV file; after each document, yield its values that could not be written.

    Args:
        zone: the time zone in which times are written, with their offset.
        language: of the person who reads the table; "" for a program (`table_names`).
    """
    rows = _Rows(names, cells.GUARDED_IN_CSV, limits.MAX_TEXT, zone, language)
    with path.open("w", encoding="utf-8-sig", newline="") as file:  # Excel knows UTF-8 by its BOM
        writer = csv.writer(file)
        writer.writerow(table_names.titles(names, language))
        for document in documents:
            row, unsaid = rows.row(document)
            writer.writerow([cells.in_csv(content) for content in row])
            yield document[cells.REFERENCE], unsaid


def write_xlsx(
    path: Path,
    documents: Iterable[Document],
    names: list[str],
    zone: tzinfo = UTC,
    language: str = "",
) -> Iterator[Written]:
    """Write an Excel workbook; after each document, yield its values that could not be written.

    The file is only appended to, so it can be sent while it grows.

    Args:
        zone: the time zone in which times are written, with their offset.
        language: of the person who reads the table; "" for a program (`table_names`).

    Raises:
        ValueError: there are more documents than a sheet has rows.
    """
    # Slow to load, as in xlsx_reader.
    from properties.feeds.table.workbook_stream import WorkbookStream  # noqa: PLC0415

    rows = _Rows(names, cells.GUARDED_IN_XLSX, MAX_TEXT_XLSX, zone, language, ERRORS)
    with WorkbookStream(path, table_names.sheet(language)) as stream:
        stream.sheet.append(table_names.titles(names, language))
        for line, document in enumerate(documents, start=2):
            if line > MAX_ROWS:
                text = sentence("an Excel sheet has %(count)s rows: export as CSV", count=MAX_ROWS)
                raise ValueError(text)
            row, unsaid = rows.row(document)
            stream.sheet.append([_typed(stream.sheet, content) for content in row])
            yield document[cells.REFERENCE], unsaid


def _typed(sheet: Any, content: Any) -> Any:
    """Return a cell that keeps its content: a text like a formula, a number with all its digits.

    openpyxl would turn the text into a formula, and cut the number to 16 digits.
    """
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415 - slow to load, as in xlsx_reader

    kind = "n"
    if isinstance(content, str):
        content = _BEYOND_XML.sub(lambda match: f"_x{ord(match[0]):04X}_", content)
        if not cells.FORMULA.match(content):
            return content
        kind = "s"
    elif content is None or isinstance(content, bool) or float(f"{content:.16g}") == content:
        return content
    cell = WriteOnlyCell(sheet, str(content))
    cell.data_type = kind
    # So it remains a text if somebody edits it or saves the sheet in another format.
    cell.quotePrefix = kind == "s"
    return cell


def usual() -> list[str]:
    """Return the columns that most tables have, the reference first."""
    names = [name.replace(LANGUAGE, LANGUAGE_OF_TEXTS) for name in NAMES]
    return [*names[:1], *_WORDS, *names[1:]]


def as_csv(language: str) -> bytes:
    """Return a CSV file with only a header. Excel recognises the encoding by its first bytes."""
    out = StringIO()
    csv.writer(out).writerow(table_names.titles(usual(), language))
    return out.getvalue().encode("utf-8-sig")


def as_xlsx(language: str) -> bytes:
    """Return a workbook with a sheet to fill in and a sheet that describes all columns."""
    from openpyxl import Workbook  # noqa: PLC0415 - slow to load, as in xlsx_reader

    book = Workbook(write_only=True)
    sheet = book.create_sheet(table_names.sheet(language))
    sheet.freeze_panes = "B2"
    sheet.append(table_names.titles(usual(), language))
    with override(language):
        words = book.create_sheet(gettext("columns"))
        words.column_dimensions["A"].width, words.column_dimensions["B"].width = 45, 100
        words.append([gettext("column"), gettext("holds")])
        texts = [name for name in usual() if name.startswith(LOCALIZATIONS)]
        for name in [*COLUMNS, *texts]:
            if found := column(name):
                words.append([table_names.title(name, language), holds(found.field, choice_name)])
    content = BytesIO()
    book.save(content)
    return content.getvalue()
