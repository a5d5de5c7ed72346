"""A row of a table to a record."""

import math
import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from crm_sync.text import clean
from properties import catalog
from properties.catalog.numbers import FRANCS, MONEY, Unreadable
from properties.feeds import limits
from properties.feeds.contacts import odd_contacts, street
from properties.feeds.overlay import Part, nested
from properties.feeds.profile import Profile
from properties.feeds.records import NotAFeed, Record, Refusal
from properties.feeds.table import table_cells as cells
from properties.feeds.table.header import Header
from properties.feeds.table.table_cells import REFERENCE, CellError, Formatted
from properties.feeds.table.table_columns import COLUMNS, Column


class Table:
    """The rows of one file below its header: knows which references came before."""

    def __init__(
        self,
        header: Header,
        file_name: str,
        guarded: re.Pattern[str],
        profile: Profile,
    ) -> None:
        """Take the header.

        Args:
            guarded: which texts have an apostrophe before them in this format.

        Raises:
            NotAFeed: there is no column of references.
        """
        if fault := header.fault():
            raise NotAFeed(f"{file_name}: {fault}")
        self._columns = list(zip(header.titles, header.columns, strict=True))
        self._with_number = _streets_with_number(header)
        self._currency = header.place(MONEY)
        self._guarded = guarded
        self._lenient = profile.lenient
        self._zone = profile.tzinfo
        self._seen: set[str] = set()

    def take(self, row: Sequence[object], position: str) -> Record | Refusal | None:
        """Return the record of a row, or why it is refused; None for an empty row."""
        taken = _Row()
        currency = self._currency_of(row)
        for (title, column), content in zip(self._columns, row, strict=False):
            if cells.says_nothing(content):
                continue
            if column is None:
                taken.leftover[title] = _kept(content)
                continue
            try:
                value, removed = clean(self._value(column, content, currency))
                reasons = _faults(title, column, value)
            except Unreadable as error:
                reasons, value, removed = [f"{_named(title, column)}: {error}"], None, False
            if reasons:
                taken.refuse(title, column, reasons, content)
                continue
            number = self._with_number.get(title)
            if number is not None and isinstance(value, str):
                value, found = street(value)
                if found:
                    taken.good.append((title, number, found))
            taken.good.append((title, column, value))
            if removed:
                taken.leftover["(cleaned)"] = "characters that no database can keep were removed"
        extra = [c for c in row[len(self._columns) :] if not cells.says_nothing(c)]
        if extra:
            taken.reasons.append(f"has {len(extra)} cells more than the header")
        return self._record(taken, position) if taken else None

    def _currency_of(self, row: Sequence[object]) -> str:
        """Return the currency of the amounts of a row; francs where it names none."""
        at = self._currency
        content = row[at] if at is not None and at < len(row) else None
        code = content.strip().upper() if isinstance(content, str) else ""
        return code if code and not catalog.validate(MONEY, code) else FRANCS

    def _value(self, column: Column, content: object, currency: str) -> Any:
        """Return the value of a cell; None when it clears."""
        if isinstance(content, str):
            if len(content) > limits.MAX_TEXT:
                raise Unreadable(f"Use at most {limits.MAX_TEXT:,} characters")
            if cells.clears(content):
                return None
            content = cells.unguard(content, self._guarded)
        return cells.read(column.field, content, self._zone, currency)

    def _record(self, taken: "_Row", position: str) -> Record | Refusal:
        """Return the record that the cells make, unless its reference is wrong."""
        if self._lenient:
            taken.drop_orphans()
        parts = taken.parts
        document = nested(parts)
        reference = document.get(REFERENCE) or taken.bad_reference
        reasons = taken.reasons if self._lenient else [*taken.reasons, *taken.warnings]
        if not reference:
            reasons = [f"{REFERENCE}: This value is missing", *reasons]
        elif reference in self._seen:
            duplicate = f'{REFERENCE} "{reference}" is a duplicate: an earlier record has it'
            reasons = [duplicate, *reasons]
        if reasons or not isinstance(reference, str):
            return Refusal(position, reference, limits.first_reasons(reasons))
        self._seen.add(reference)
        warnings = tuple(limits.first_reasons([*taken.warnings, *odd_contacts(document)]))
        return Record(reference, document, taken.leftover, position, parts, warnings)


class _Row:
    """What the cells of one row hold so far."""

    def __init__(self) -> None:
        self.good: list[tuple[str, Column, Any]] = []
        self.leftover: dict[str, Any] = {}
        self.warnings: list[str] = []  # why a value is bad
        self.reasons: list[str] = []  # why the whole row is
        self.bad_reference: str | None = None
        self._bad: list[Column] = []

    def __bool__(self) -> bool:
        return bool(self.good or self.leftover or self.reasons)

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(column.part(value) for _, column, value in self.good)

    def refuse(self, title: str, column: Column, reasons: list[str], content: object) -> None:
        """Note a bad value; without a good reference the row is useless."""
        if column.name == REFERENCE:
            self.bad_reference = str(_kept(content))
            self.reasons += reasons
            return
        self.warnings += reasons
        self.leftover[title] = _kept(content)
        if column.field.required:
            self._bad.append(column)

    def drop_orphans(self) -> None:
        """Set aside what needs a bad value: a longitude without its latitude."""
        for bad in self._bad:
            parent = bad.field.parent
            for title, column, value in [g for g in self.good if g[1].field.parent == parent]:
                self.good.remove((title, column, value))
                self.leftover[title] = value
                self.warnings.append(f"{_named(title, column)} cannot stand without {bad.name}")


def _streets_with_number(header: Header) -> dict[str, Column]:
    """Return the titles of streets that include their number, with the column for the number.

    So it is in a table of others that has no column for the number; our own name means the street.
    """
    names = {found.name for found in header.columns if found}
    pairs = zip(header.titles, header.columns, strict=True)
    streets = [(t, c.name) for t, c in pairs if c and c.field.name == "street" and t != c.name]
    return {
        title: COLUMNS[f"{name}Number"] for title, name in streets if f"{name}Number" not in names
    }


def _faults(title: str, column: Column, value: Any) -> list[str]:
    """Return what is wrong with a value, under the name of its column.

    A member that an object lacks is not missed here: the row may be laid over one that has it, and
    `edit` looks at the whole.
    """
    path = column.field.path
    faults = catalog.validate(path, value)
    return [
        f"{_named(title, column)}{fault.path.removeprefix(path)}: {fault.message}"
        for fault in faults
    ]


def _named(title: str, column: Column) -> str:
    return title if title == column.name else f"{title} ({column.name})"


def _kept(content: object) -> Any:
    """Return the content of a cell as JSON can hold it."""
    match content:
        case Formatted():
            return _kept(content.number)
        case float() if not math.isfinite(content):
            return str(content)  # no JSON holds it
        case CellError():
            return content.error
        case bool() | int() | float():
            return content
        case date():
            return content.isoformat()
    return clean(str(content)[: limits.MAX_TEXT])[0]
