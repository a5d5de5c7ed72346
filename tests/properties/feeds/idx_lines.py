"""Lines of IDX for tests, from the texts of single columns."""

from properties.feeds.idx.idx_columns import COLUMNS

NUMBER = {column.name: column.number for column in COLUMNS}
SMALLEST = {
    "version": "IDX3.01",
    "object_category": "APPT",
    "object_type": "1",
    "offer_type": "RENT",
    "ref_object": "R-1",
    "object_title": "Wohnung",
}


def line(**texts: str) -> str:
    """Return the smallest line that is taken, with other columns."""
    cells = [""] * len(COLUMNS)
    for name, text in {**SMALLEST, **texts}.items():
        cells[NUMBER[name]] = text
    return "#".join(cells)


def raw_of(text: str | bytes) -> bytes:
    """Return a line in the encoding of the format; bytes stay as they are."""
    return text if isinstance(text, bytes) else text.encode("latin-1")
