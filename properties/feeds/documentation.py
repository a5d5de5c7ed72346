"""The tables of docs/feeds.md, written from the tables that the readers use.

`python -m properties.feeds.documentation docs/feeds.md` updates them. A test compares them.
"""

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from properties import catalog
from properties.catalog import NameSource
from properties.feeds import limits, xml_stream
from properties.feeds.idx import codes, idx_columns, line_layout
from properties.feeds.idx.idx_columns import As
from properties.feeds.openimmo import openimmo_names as openimmo
from properties.feeds.overlay import LOCALIZATIONS
from properties.feeds.swissrets import vocabulary
from properties.feeds.table import csv_reader, table_columns, xlsx_reader
from properties.feeds.table.table_columns import COLUMNS, TEXTS, holds

_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """Return a page with its tables written again."""
    return _BLOCK.sub(
        lambda block: block[1] + "\n".join(TABLES[block[2]]()) + "\n" + block[3], text
    )


def _columns() -> Iterator[str]:
    yield from ("| columns | hold |", "|---|---|")
    three = next(c.field for c in COLUMNS.values() if c.field.is_characteristic)
    shown = [(p, c.field) for p, c in COLUMNS.items() if not c.field.is_characteristic]
    shown.append(("characteristics.NAME", three))
    for name in TEXTS:
        field = catalog.FIELDS[f"{LOCALIZATIONS}[].{name}"]
        shown.append((f"{LOCALIZATIONS}.LANGUAGE.{name}", field))
    # Neighbours with the same content share a line.
    for held, group in itertools.groupby(shown, key=lambda one: holds(one[1])):
        yield f"| {', '.join(f'`{path}`' for path, _ in group)} | {held} |"


def _characteristics() -> Iterator[str]:
    names = [c.field.name for c in COLUMNS.values() if c.field.is_characteristic]
    yield ", ".join(f"`{name}`" for name in names)


def _idx() -> Iterator[str]:
    yield from ("| column | read as | field |", "|---|---|---|")
    for column in idx_columns.COLUMNS:
        if column.path:
            paths = ", ".join(f"`{path}`" for path in column.path.split(", "))
            yield f"| {column.number} `{column.name}` | {column.read} | {paths} |"


def _idx_kept() -> Iterator[str]:
    kept = [c for c in idx_columns.COLUMNS if c.read is As.KEPT]
    yield ", ".join(f"`{column.name}`" for column in kept)


def _idx_categories() -> Iterator[str]:
    yield from ("| object_category | propertyType | object_type: propertyCategories |",)
    yield "|---|---|---|"
    for category, kind in codes.PROPERTY_TYPES.items():
        types = codes.CATEGORIES[category].items()
        yield f"| {category} | {kind} | {', '.join(f'{n}: {name}' for n, name in types)} |"


def _idx_units() -> Iterator[str]:
    yield from ("| offer_type | offerType | price_unit | says |", "|---|---|---|---|")
    for offer, units in codes.PRICE_UNITS.items():
        for unit, says in units.items():
            words = ", ".join(f"{name} {value}" for name, value in says.items())
            yield f"| {offer} | {codes.OFFER_TYPES[offer]} | {unit} | {words} |"


def _idx_flags() -> Iterator[str]:
    yield from ("| a no in | counts for |", "|---|---|")
    order = list(codes.PROPERTY_TYPES)
    for one in idx_columns.COLUMNS:
        if found := one.no_counts_for:
            yield f"| `{one.name}` | {', '.join(sorted(found, key=order.index))} |"


def _swissrets() -> Iterator[str]:
    yield from ("| SwissRETS JSON 3.x | field |", "|---|---|")
    for source, target in vocabulary.MOVED:
        yield f"| `{source}` | `{target}` |"
    for source, target in vocabulary.LINKS:
        yield f"| `localizations[].attachments.{source}` | `{target}` |"
    known = sorted(
        name
        for name in vocabulary.NUMBERS
        if catalog.FIELDS[name].source is not NameSource.INFERRED
    )
    names = ", ".join(f"`{name}`" for name in known)
    yield f"| in `characteristics`: {names} | of the same name |"


def _openimmo() -> Iterator[str]:
    yield from ("| OpenImmo | field |", "|---|---|")
    for source, target in openimmo.MOVED:
        yield f"| `{source}` | `{target}` |"
    for one in openimmo.WORDS:
        # A list of all countries would say nothing more.
        words = {} if one.words is openimmo.COUNTRIES else one.words
        says = ", ".join(f"{word} {value}" for word, value in words.items())
        yield f"| `{one.source}` | `{one.target}`{': ' if says else ''}{says} |"
    for one in openimmo.FLAGS:
        says = ", ".join(f"{word} {value}" for word, value in one.words.items())
        yield f"| attributes of `{one.source}` | `{one.target}`: {says} |"
    for source, states in ((openimmo.STATE, openimmo.STATES), (openimmo.AGE, openimmo.AGES)):
        says = ", ".join(f"{word} {target} {value}" for word, (target, value) in states.items())
        yield f"| `{source}` | {says} |"
    for source, name in openimmo.TEXTS:
        yield f"| `{source}` | `localizations[].{name}` |"
    for element, kind in openimmo.PARKING.items():
        yield f"| `preise.{element}` | `parkingLots[]`: {kind} |"
    for element, payers in openimmo.COMMISSIONS.items():
        yield f"| `preise.{element}` | `commissions[]`: {' or '.join(payers.values())} |"
    for group, field in openimmo.LINKS.items():
        yield f"| `anhaenge.anhang` of the group {group}, with an address | `{field}` |"


def _openimmo_kinds() -> Iterator[str]:
    yield from ("| objektart | propertyType | words: propertyCategories |", "|---|---|---|")
    for name, kind in openimmo.KINDS.items():
        words = ", ".join(f"{word}: {category}" for word, category in kind.categories.items())
        yield f"| {name} | {kind.type} | {words} |"


_LIMITS = (
    ("any", "a text", f"{limits.MAX_TEXT:,} characters", "the record; in CSV the file"),
    ("any", "reasons of one refusal", f"{limits.MAX_REASONS}", "the others are counted"),
    ("any", "one record", f"{limits.MAX_SECONDS} s of the processor", "the file"),
    ("any", "the process that reads", f"{limits.MAX_MEMORY:,} bytes of data", "the file"),
    (
        "SwissRETS, OpenImmo",
        "a record",
        f"{limits.MAX_RECORD:,} characters (see below)",
        "the file",
    ),
    ("SwissRETS, OpenImmo", "a name", f"{limits.MAX_NAME} characters", "the file"),
    ("SwissRETS, OpenImmo", "what is open at a time", f"{limits.MAX_DEPTH} levels", "the file"),
    ("SwissRETS XML, OpenImmo", "a tag or comment", f"{xml_stream.MAX_TOKEN:,} bytes", "the file"),
    ("IDX", "a line", f"{line_layout.MAX_LINE:,} bytes", "the file"),
    ("CSV", "a row", f"{csv_reader.MAX_ROW:,} characters", "the file"),
    ("CSV, Excel", "columns", f"{table_columns.MAX_COLUMNS}", "the file"),
    ("Excel", "rows", f"{xlsx_reader.MAX_ROWS:,}", "what is behind them"),
    ("Excel", "a row", f"{xlsx_reader.MAX_OTHER:,} bytes", "the file"),
    ("Excel", "a sheet, unpacked", f"{xlsx_reader.MAX_SHEET:,} bytes", "the file"),
    ("Excel", "all shared texts, unpacked", f"{xlsx_reader.MAX_STRINGS:,} bytes", "the file"),
    ("Excel", "another part", f"{xlsx_reader.MAX_OTHER:,} bytes", "the file"),
    ("Excel", "parts", f"{xlsx_reader.MAX_PARTS:,}", "the file"),
)


def _limits() -> Iterator[str]:
    yield from ("| format | what | at most | refused beyond it |", "|---|---|---|---|")
    for row in _LIMITS:
        yield f"| {' | '.join(row)} |"


TABLES = {
    "limits": _limits,
    "columns": _columns,
    "characteristics": _characteristics,
    "idx": _idx,
    "idx_kept": _idx_kept,
    "idx_categories": _idx_categories,
    "idx_units": _idx_units,
    "idx_flags": _idx_flags,
    "openimmo": _openimmo,
    "openimmo_kinds": _openimmo_kinds,
    "swissrets": _swissrets,
}

if __name__ == "__main__":
    settings.configure(USE_I18N=False)
    page = Path(sys.argv[1])
    page.write_text(filled(page.read_text("utf-8")), "utf-8")
