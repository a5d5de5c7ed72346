"""Exports of the desired properties to a file, for the command and the admin."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from properties.feeds.openimmo.writer import write_openimmo
from properties.feeds.swissrets.json_writer import WHOLE, write_json
from properties.feeds.table.table_writer import (
    ColumnNames,
    Document,
    Unsaid,
    Written,
    write_csv,
    write_xlsx,
)
from properties.models import Property

FORMATS = (".csv", ".json", ".xlsx", ".xml")
SHOWN = 20  # references that are named for each value that the format could not hold
CHUNK = 500  # rows in memory


class ExportReport:
    """What an export wrote, and what the format could not hold; of bounded size."""

    def __init__(self) -> None:
        self.exported = 0
        self.left_out: dict[str, list[str]] = {}
        self.unsaid: dict[tuple[str, str], tuple[int, list[str]]] = {}

    def add(self, reference: str, unsaid: Unsaid) -> None:
        """Count one property."""
        reasons = [reason for path, reason in unsaid if path == WHOLE]
        if reasons:
            self.left_out[reference] = reasons
            return
        self.exported += 1
        for complaint in unsaid:
            count, references = self.unsaid.get(complaint, (0, []))
            self.unsaid[complaint] = count + 1, [*references, reference][:SHOWN]

    def named(self, properties: QuerySet[Property]) -> QuerySet[Property]:
        """Leave out properties that have no reference of ours; return the others."""
        nameless = properties.filter(object_reference_id=None)
        name, reason = gettext("platform id %(id)s"), gettext("it has no reference of ours")
        for platform_id in nameless.values_list("platform_id", flat=True):
            self.add(name % {"id": platform_id}, [(WHOLE, reason)])
        return properties.exclude(object_reference_id=None)

    def document(self, path: Path) -> dict[str, Any]:
        """Return the report as JSON."""
        unsaid = [
            {"path": field, "reason": reason, "count": count, "references": references}
            for (field, reason), (count, references) in sorted(self.unsaid.items())
        ]
        return {
            "file": str(path),
            "exported": self.exported,
            "left_out": self.left_out,
            "unsaid": unsaid,
        }

    def lines(self, path: Path) -> Iterator[str]:
        """Yield the lines of the report for people."""
        for reference, reasons in list(self.left_out.items())[:SHOWN]:
            yield f"left out  {reference}: {'; '.join(reasons)}"
        for (field, reason), (count, references) in sorted(self.unsaid.items()):
            more = f" and {count - len(references)} more" if count > len(references) else ""
            yield f"not said  {field}: {reason} ({', '.join(references)}{more})"
        yield f"exported: {self.exported} properties to {path.name}"


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
    keys = list(properties.order_by("pk").values_list("pk", flat=True))
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


def _documents(keys: list[int]) -> Iterator[Document]:
    """Yield what we want of each property.

    Each query ends before the first of its rows is written, so that a slow download keeps no
    cursor and no snapshot of the database open.
    """
    for start in range(0, len(keys), CHUNK):
        rows = Property.objects.filter(pk__in=keys[start : start + CHUNK]).order_by("pk")
        for reference, desired in list(rows.values_list("object_reference_id", "desired")):
            yield {**desired, "objectReferenceId": reference}
