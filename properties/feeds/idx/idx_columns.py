"""The 183 columns of IDX 3.01, and the fields that they set.

`idx_columns.csv` follows the published field list of the format (idx-format-v3.01). A column
without a path has no field in the property model: its value is stored with the record under the
name of the column. Some columns are not obvious. `ref_property` is a group of houses, and
projectReferenceId is the nearest field. `gross_premium` is a range such as 4-5, but grossPremium is
one number. `agency_email` is the address of the agency, and inquiries about the record go there
too. `minergie_general` means built like Minergie, without the label. Several programs write a
virtual tour into `sparefield_2`.

`no_counts_for` lists the categories in which the no of a flag counts. Programs write an N into
every flag of every line, but no person has decided that a parking space has no chimney. A yes
counts for every category. The field list names no categories for a flag: this is our reading.
"""

import csv
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class As(StrEnum):
    """How a column is read."""

    TEXT = "text"
    LINES = "text of several lines"
    ROOMS = "number"
    METRES = "number, m"
    AREA = "number, m2"
    VOLUME = "number, m3"
    LOAD = "number, kg"
    COUNT = "whole number"
    YEAR = "year"
    FLOOR = "number, 0 is the ground floor"
    DATE = "date"
    FLAG = "flag"
    LABEL = "flag: the label MINERGIE"
    YES_NO = "yes or no"
    LINK = "address of the web"
    STREET = "street with its number"
    PERSON = "whole name"
    COUNTRY = "country"
    CURRENCY = "currency"
    RULE = "see the rules"
    KEPT = "kept"


class IdxColumn(NamedTuple):
    """One column, counted from 0 as the field list does."""

    number: int
    name: str
    read: As = As.KEPT
    path: str = ""
    no_counts_for: frozenset[str] = frozenset()


def _columns() -> Iterator[IdxColumn]:
    """Yield the rows of the table, which separates the paths of a column by blanks."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            path = ", ".join(row["path"].split())
            counts = frozenset(row["no_counts_for"].split())
            yield IdxColumn(int(row["number"]), row["name"], As[row["read"]], path, counts)


COLUMNS = tuple(_columns())
