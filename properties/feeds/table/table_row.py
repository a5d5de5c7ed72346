"""Convert a row of a table to a record."""

import math
import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from crm_sync.sentence import Sentence, counted_sentence, sentence, sentence_of
from crm_sync.text import clean
from properties import catalog
from properties.catalog.numbers import FRANCS, MONEY, Unreadable
from properties.feeds import limits
from properties.feeds.contacts import odd_contacts, street
from properties.feeds.overlay import Part, nested
from properties.feeds.profile import Profile
from properties.feeds.records import NotAFeed, Record, Refusal, duplicate
from properties.feeds.table import table_cells as cells, table_names
from properties.feeds.table.header import Header
from properties.feeds.table.table_cells import REFERENCE, CellError, Formatted
from properties.feeds.table.table_columns import COLUMNS, Column


class Table:
    """Converts the rows of one file below its header, and remembers their references."""

    def __init__(
        self,
        header: Header,
        file_name: str,
        guarded: re.Pattern[str],
        profile: Profile,
    ) -> None:
        """Prepare to read the rows below a header.

        Args:
            guarded: the texts that have an apostrophe before them in this format.

        Raises:
            NotAFeed: there is no column with references.
        """
        if fault := header.fault():
            raise NotAFeed.of(file_name, fault)
        self._columns = list(zip(header.titles, header.columns, strict=True))
        self._with_number = _streets_with_number(header)
        self._currency = header.place(MONEY)
        self._guarded = guarded
        self._language = header.language
        self._lenient = profile.lenient
        self._zone = profile.tzinfo
        # A header that is there again, as in joined files, names no property.
        self._seen = {title for title, one in self._columns if one and one.name == REFERENCE}

    def take(self, row: Sequence[object], position: Sentence) -> Record | Refusal | None:
        """Return the record of a row or its refusal; None for an empty row."""
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
                reasons, value, removed = (
                    [sentence_of(_named(title, column), error.why)],
                    None,
                    False,
                )
            if reasons:
                taken.refuse(title, column, reasons, content)
                continue
            number = self._with_number.get(title)
            if number is not None:
                value, found = street(value) if isinstance(value, str) else (value, "")
                taken.good.append((title, number, found or None))
            taken.good.append((title, column, value))
            if removed:
                taken.leftover["(cleaned)"] = "characters that no database can keep were removed"
        extra = [c for c in row[len(self._columns) :] if not cells.says_nothing(c)]
        if extra:
            text = counted_sentence(
                "has %(count)s cell more than the header",
                "has %(count)s cells more than the header",
                count=len(extra),
            )
            taken.reasons.append(text)
        return self._record(taken, position) if taken else None

    def _currency_of(self, row: Sequence[object]) -> str:
        """Return the currency of the amounts of a row; francs if it names none."""
        at = self._currency
        content = row[at] if at is not None and at < len(row) else None
        code = content.strip().upper() if isinstance(content, str) else ""
        return code if code and not catalog.validate(MONEY, code) else FRANCS

    def _value(self, column: Column, content: object, currency: str) -> Any:
        """Return the value of a cell; None if it clears."""
        if isinstance(content, str):
            if len(content) > limits.MAX_TEXT:
                raise Unreadable(sentence("Use at most %(most)s characters", most=limits.MAX_TEXT))
            if cells.clears(content):
                return None
            content = cells.unguard(content, self._guarded)
        value = cells.read(column.field, content, self._zone, currency)
        return table_names.of_words(column.field, value, self._language)

    def _record(self, taken: "_Row", position: Sentence) -> Record | Refusal:
        """Return the record of the cells, or a refusal."""
        if self._lenient:
            taken.drop_orphans()
        parts = taken.parts
        document = nested(parts)
        reference = document.get(REFERENCE) or taken.bad_reference
        reasons = taken.reasons if self._lenient else [*taken.reasons, *taken.warnings]
        if not reference:
            reasons = [sentence_of(REFERENCE, sentence("This value is missing")), *reasons]
        elif reference in self._seen:
            reasons = [duplicate(REFERENCE, str(reference)), *reasons]
        if reasons or not isinstance(reference, str):
            return Refusal(position, reference, limits.first_reasons(reasons))
        self._seen.add(reference)
        warnings = tuple(limits.first_reasons([*taken.warnings, *odd_contacts(document)]))
        return Record(reference, document, taken.leftover, position, parts, warnings)


class _Row:
    """The values of one row so far."""

    def __init__(self) -> None:
        self.good: list[tuple[str, Column, Any]] = []
        self.leftover: dict[str, Any] = {}
        self.warnings: list[Sentence] = []  # about single values
        self.reasons: list[Sentence] = []  # to refuse the row
        self.bad_reference: str | None = None
        self._bad: list[Column] = []

    def __bool__(self) -> bool:
        return bool(self.good or self.leftover or self.reasons)

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(column.part(value) for _, column, value in self.good)

    def refuse(self, title: str, column: Column, reasons: list[Sentence], content: object) -> None:
        """Set an invalid value aside; an invalid reference refuses the row."""
        if column.name == REFERENCE:
            self.bad_reference = str(_kept(content))
            self.reasons += reasons
            return
        self.warnings += reasons
        self.leftover[title] = _kept(content)
        if column.field.required:
            self._bad.append(column)

    def drop_orphans(self) -> None:
        """Set aside values that need an invalid value, such as a longitude without its latitude."""
        for bad in self._bad:
            parent = bad.field.parent
            for title, column, value in [g for g in self.good if g[1].field.parent == parent]:
                self.good.remove((title, column, value))
                self.leftover[title] = value
                text = sentence(
                    "%(name)s cannot stand without %(other)s",
                    name=_named(title, column),
                    other=bad.name,
                )
                self.warnings.append(text)


def _streets_with_number(header: Header) -> dict[str, Column]:
    """Return the titles of streets that include their number, with the column for the number.

    In a foreign table without a column for the number, the street includes it. A column with our
    own name holds only the street.
    """
    names = {found.name for found in header.columns if found}
    pairs = zip(header.titles, header.columns, strict=True)
    streets = [
        (title, found.name)
        for title, found in pairs
        if found
        and found.field.name == "street"
        and table_names.column_of(title, header.language) != found
    ]
    return {
        title: COLUMNS[f"{name}Number"] for title, name in streets if f"{name}Number" not in names
    }


def _faults(title: str, column: Column, value: Any) -> list[Sentence]:
    """Return the faults of a value, with the name of its column.

    A missing member of an object is no fault here: the property may have it already, and `edit`
    checks the merged object.
    """
    path = column.field.path
    faults = catalog.validate(path, value)
    return [
        sentence_of(f"{_named(title, column)}{fault.path.removeprefix(path)}", fault.message)
        for fault in faults
    ]


def _named(title: str, column: Column) -> str:
    return title if title == column.name else f"{title} ({column.name})"


def _kept(content: object) -> Any:
    """Return the content of a cell as a JSON value."""
    match content:
        case Formatted():
            return _kept(content.number)
        case float() if not math.isfinite(content):
            return str(content)  # JSON has no such number
        case CellError():
            return content.error
        case bool() | int() | float():
            return content
        case date():
            return content.isoformat()
    return clean(str(content)[: limits.MAX_TEXT])[0]
