"""A table of properties in the platform's own names: which column is what, and a row to a record.

A column is named after the path of its field, such as `prices.rent.gross`; texts by language are
`localizations.de.title`. Lists of enum values are joined by `|`, other lists and customFields are
JSON. A table changes the fields that it has columns for, and no others; an empty cell says
nothing, `<empty>` clears.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from crm_sync.text import clean
from properties import catalog
from properties.catalog import Field, Kind
from properties.feeds import limits
from properties.feeds.coerce import is_odd_phone
from properties.feeds.overlay import LOCALIZATIONS, Part, nested
from properties.feeds.records import NotAFeed, Record, Refusal
from properties.feeds.table import cells
from properties.feeds.table.cells import REFERENCE, Unreadable
from properties.merge import MERGED

MAX_COLUMNS = 500  # the catalog has about 220, and six for each language
_LANGUAGE = re.compile(r"localizations\.([a-z]{2})\.(\w+)")
_CONTAINERS = {Kind.OBJECT, Kind.MERGED}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name in the header, and where its value goes."""

    name: str
    field: Field
    leaf: str
    way: tuple[str, ...]

    def part(self, value: Any) -> Part:
        """Return a value with its place."""
        return self.leaf, self.way, value


def _fixed(field: Field) -> Column:
    """Return the column of a field outside lists."""
    first, *rest = field.path.split(".")
    if first in MERGED:
        return Column(field.path, field, f"{first}.{rest[0]}", tuple(rest[1:]))
    return Column(field.path, field, first, tuple(rest))


COLUMNS = {
    path: _fixed(field)
    for path, field in catalog.FIELDS.items()
    if "[]" not in path
    and not field.read_only
    and field.kind not in _CONTAINERS
    and path != LOCALIZATIONS
}
TEXTS = tuple(f.name for f in catalog.children(LOCALIZATIONS) if f.name != "languageCode")


def column(name: str) -> Column | None:
    """Return the column of a name, or None where there is none."""
    by_language = _LANGUAGE.fullmatch(name)
    if by_language and by_language[2] in TEXTS:
        field = catalog.FIELDS[f"{LOCALIZATIONS}[].{by_language[2]}"]
        return Column(name, field, LOCALIZATIONS, by_language.groups())
    return COLUMNS.get(name)


class Table:
    """The rows of one file below its header: knows which references came before."""

    def __init__(self, names: Iterable[object], file_name: str, guarded: re.Pattern[str]) -> None:
        """Read the header.

        Args:
            guarded: which texts have an apostrophe before them in this format.

        Raises:
            NotAFeed: there is no column of references, or one that nobody knows or that is double.
        """
        self._columns = _header(names, file_name)
        self._guarded = guarded
        self._seen: set[str] = set()

    def take(self, row: Sequence[object], position: str) -> Record | Refusal | None:
        """Return the record of a row, or why it is refused; None for an empty row."""
        parts: list[Part] = []
        reasons: list[str] = []
        leftover: dict[str, Any] = {}
        for column_, content in zip(self._columns, row, strict=False):
            if cells.says_nothing(content):
                continue
            try:
                value, removed = clean(self._value(column_, content))
            except Unreadable as error:
                reasons.append(f"{column_.name} {error}")
                continue
            reasons += _faults(column_, value)
            parts.append(column_.part(value))
            if is_odd_phone(column_.name, value):
                leftover[column_.name] = value
            if removed:
                leftover["(cleaned)"] = "characters that no database can keep were removed"
        extra = [c for c in row[len(self._columns) :] if not cells.says_nothing(c)]
        if extra:
            reasons.append(f"has {len(extra)} cells more than the header")
        if not parts and not reasons:
            return None
        return self._record(parts, reasons, leftover, position)

    def _value(self, column_: Column, content: object) -> Any:
        """Return the value of a cell; None when it clears."""
        if isinstance(content, str):
            if len(content) > limits.MAX_TEXT:
                raise Unreadable(f"is longer than {limits.MAX_TEXT:,} characters")
            if cells.clears(content):
                return None
            content = cells.unguard(content, self._guarded)
        return cells.read(column_.field, content)

    def _record(
        self, parts: list[Part], reasons: list[str], leftover: dict[str, Any], position: str
    ) -> Record | Refusal:
        """Return the record that the cells make, unless its reference or a cell is wrong."""
        document = nested(parts)
        reference = document.get(REFERENCE)
        if not reference:
            reasons = [f"{REFERENCE} is missing", *reasons]
        elif reference in self._seen:
            reasons = [
                f'{REFERENCE} "{reference}" is a duplicate: an earlier record has it',
                *reasons,
            ]
        self._seen.add(str(reference))
        if reasons or not isinstance(reference, str):
            return Refusal(position, reference, limits.first_reasons(reasons))
        return Record(reference, document, leftover, position, tuple(parts))


def _faults(column_: Column, value: Any) -> list[str]:
    """Return what is wrong with a value, under the name of its column.

    A member that an object lacks is not missed here: the row may be laid over one that has it, and
    `edit` looks at the whole.
    """
    path = column_.field.path
    faults = catalog.validate(path, value)
    return [column_.name + fault.message.removeprefix(path) for fault in faults]


def _header(names: Iterable[object], file_name: str) -> list[Column]:
    """Return the columns that a header names."""
    titles = ["" if name is None else str(name).strip() for name in names]
    while titles and not titles[-1]:
        titles.pop()
    columns: dict[str, Column] = {}
    for title in titles:
        found = column(title)
        if found is None:
            raise NotAFeed(f"{file_name}: {_unknown(title)}")
        if title in columns:
            raise NotAFeed(f'{file_name}: the column "{title}" is there twice')
        columns[title] = found
    if len(columns) > MAX_COLUMNS:
        raise NotAFeed(f"{file_name}: has more than {MAX_COLUMNS} columns")
    if REFERENCE not in columns:
        raise NotAFeed(f"{file_name}: a table without the column {REFERENCE}")
    return list(columns.values())


def _unknown(title: str) -> str:
    """Return the complaint about a column that nobody knows, with the names that are nearest."""
    if not title:
        return "a column without a name"
    field = catalog.find(title)
    if field is not None and field.read_only:
        return f'the column "{title}" is read-only: the platform sets it'
    language = title.split(".")[1] if re.match(r"localizations\.[a-z]{2}\.", title) else "de"
    names = {name.lower(): name for name in (*COLUMNS, *localized(language))}
    nearest = [names[name] for name in get_close_matches(title.lower(), names, n=3, cutoff=0.6)]
    hint = f"; the nearest: {', '.join(nearest)}" if nearest else ""
    return f'no column is called "{title[:80]}"{hint}'


def localized(language: str) -> list[str]:
    """Return the names of the columns of a language."""
    return [f"{LOCALIZATIONS}.{language}.{name}" for name in TEXTS]
