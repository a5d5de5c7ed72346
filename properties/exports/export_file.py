"""Exports of the desired properties to a file in one of the formats."""

from collections.abc import Iterator
from pathlib import Path

from django.db.models import QuerySet
from django.utils import timezone

from properties.feeds.openimmo.writer import write_openimmo
from properties.feeds.swissrets.json_writer import write_json
from properties.feeds.table.table_writer import (
    ColumnNames,
    Document,
    Written,
    write_csv,
    write_xlsx,
)
from properties.models import Property

FORMATS = (".csv", ".json", ".xlsx", ".xml")
CHUNK = 500  # rows in memory


def written(path: Path, properties: QuerySet[Property], language: str = "") -> Iterator[Written]:
    """Write properties that have a reference, in the format of the file's suffix.

    The list of properties is fixed at the start, however long the writing takes.

    Args:
        language: of the person who reads a table; without it, a table has the platform's words.

    Returns:
        for each property, as it is written: its reference, and what the format could not hold.

    Raises:
        ValueError: more properties than the format can hold.
    """
    keys = keys_of(properties)
    if path.suffix.lower() == ".json":
        return write_json(path, _documents(keys), now=timezone.now())
    if path.suffix.lower() == ".xml":
        return write_openimmo(path, _documents(keys), now=timezone.now())
    names = ColumnNames()
    for document in _documents(keys):
        names.need(document)
    write = write_csv if path.suffix.lower() == ".csv" else write_xlsx
    zone = timezone.get_default_timezone()  # as the form of a property
    return write(path, _documents(keys), names.ordered(), zone, language)


def keys_of(properties: QuerySet[Property]) -> list[int]:
    """Return the primary keys of properties in their order, which stays while they are written."""
    return list(properties.order_by("pk").values_list("pk", flat=True))


def documents(keys: list[int], most: int) -> Iterator[dict[int, Document]]:
    """Yield what we want of each property by its primary key, at most so many at once.

    Each query ends before the first of its rows is written, so that a slow download keeps no
    cursor and no snapshot of the database open.
    """
    for start in range(0, len(keys), most):
        rows = Property.objects.filter(pk__in=keys[start : start + most]).order_by("pk")
        columns = rows.values_list("pk", "object_reference_id", "desired")
        yield {
            key: {**desired, "objectReferenceId": reference} for key, reference, desired in columns
        }


def _documents(keys: list[int]) -> Iterator[Document]:
    for some in documents(keys, CHUNK):
        yield from some.values()
