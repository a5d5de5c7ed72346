"""An empty table to fill in: our usual columns, and what each of them holds."""

import csv
from io import BytesIO, StringIO

from properties.feeds.overlay import LOCALIZATIONS
from properties.feeds.table.columns import COLUMNS, column, holds
from properties.feeds.table.synonyms import LANGUAGE, NAMES

LANGUAGE_OF_TEXTS = "de"
# Besides the columns that others have names for: those whose cells are words of the platform.
_WORDS = (
    *("offerType", "propertyType", "propertyCategories", "availabilityState"),
    *("prices.rent.interval", "heatingType", "characteristics.hasBalcony"),
    *("characteristics.hasElevator", "characteristics.hasParking"),
)


def usual() -> list[str]:
    """Return the columns that most tables have, references first."""
    names = [name.replace(LANGUAGE, LANGUAGE_OF_TEXTS) for name in NAMES]
    return [*names[:1], *_WORDS, *names[1:]]


def as_csv() -> bytes:
    """Return a CSV file with a header alone; Excel knows its encoding by the first bytes."""
    out = StringIO()
    csv.writer(out).writerow(usual())
    return out.getvalue().encode("utf-8-sig")


def as_xlsx() -> bytes:
    """Return a workbook: a sheet to fill in, and one that says what all columns hold."""
    from openpyxl import Workbook  # noqa: PLC0415 - slow to load, as in xlsx_reader

    book = Workbook(write_only=True)
    sheet = book.create_sheet("properties")
    sheet.freeze_panes = "B2"
    sheet.append(usual())
    words = book.create_sheet("columns")
    words.column_dimensions["A"].width, words.column_dimensions["B"].width = 45, 100
    words.append(["column", "holds"])
    texts = [name for name in usual() if name.startswith(LOCALIZATIONS)]
    for name in [*COLUMNS, *texts]:
        if found := column(name):
            words.append([name, holds(found.field)])
    content = BytesIO()
    book.save(content)
    return content.getvalue()
