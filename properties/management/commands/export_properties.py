"""manage.py export_properties: what our people want of their properties, as a file."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet
from django.utils import timezone

from crm_sync.commands import PARTLY, USAGE, SyncCommand
from properties.feeds.swissrets_writing import WHOLE, write_json
from properties.feeds.writing import Document, Names, Unsaid, Written, write_csv, write_xlsx
from properties.models import Property

FORMATS = (".csv", ".json", ".xlsx")
SHOWN = 20  # references that are named for each thing that could not be said
CHUNK = 500  # rows in memory


class Command(SyncCommand):
    """Exports to CSV, Excel or SwissRETS JSON 3.x, by the end of the file's name."""

    help = "Export properties to .csv or .xlsx (all that our columns can say) or SwissRETS .json."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the workspace, the file and the selection."""
        super().add_arguments(parser)
        parser.add_argument("slug")
        parser.add_argument("file", type=Path)
        parser.add_argument("--reference", action="append", default=[], help="only this one")

    def handle(self, *_: Any, **options: Any) -> None:
        """Write the file; exit code 3 when the format has no way to hold some properties."""
        path, wanted = options["file"], options["reference"]
        if path.suffix.lower() not in FORMATS:
            self.fail(f"{path.name}: the name must end with {', '.join(FORMATS)}", USAGE)
        properties = self._properties(options["slug"], wanted)
        report = Report()
        try:
            _write(path, properties, report)
        except (OSError, ValueError) as error:
            self.fail(f"{path.name}: {error}; nothing was exported")
        self.emit(report.document(path), report.lines(path), as_json=options["json"])
        if report.left_out:
            total = report.exported + len(report.left_out)
            self.fail(f"{len(report.left_out)} of {total} properties were left out", PARTLY)

    def _properties(self, slug: str, wanted: list[str]) -> QuerySet[Property]:
        """Return the selection, or end with what is not there."""
        properties = Property.objects.filter(workspace=self.workspace(slug)).order_by("pk")
        if wanted:
            properties = properties.filter(object_reference_id__in=wanted)
            known = set(properties.values_list("object_reference_id", flat=True))
            missing = [reference for reference in wanted if reference not in known]
            if missing:
                self.fail(f"no property {', '.join(missing)} in {slug}", USAGE)
        if not properties.exists():  # an empty file would read like an empty stock
            self.fail(f"no properties in {slug}; nothing was exported")
        return properties


class Report:
    """What an export wrote, and what it could not say; bounded, however many there are."""

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

    def document(self, path: Path) -> dict[str, Any]:
        """Return the report for machines."""
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
        """Yield the report for people."""
        for reference, reasons in list(self.left_out.items())[:SHOWN]:
            yield f"left out  {reference}: {'; '.join(reasons)}"
        for (field, reason), (count, references) in sorted(self.unsaid.items()):
            more = f" and {count - len(references)} more" if count > len(references) else ""
            yield f"not said  {field} {_shortened(field, reason)} ({', '.join(references)}{more})"
        yield f"exported: {self.exported} properties to {path.name}"


def _shortened(field: str, reason: str) -> str:
    return reason.removeprefix(field).strip()


def _write(path: Path, properties: QuerySet[Property], report: Report) -> None:
    """Write to a file beside the target and put it in place at the end: never half a file."""
    for platform_id in properties.filter(object_reference_id=None).values_list(
        "platform_id", flat=True
    ):
        report.add(f"platform id {platform_id}", [(WHOLE, "it has no reference of ours")])
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    os.close(handle)
    draft = Path(name)
    try:
        for reference, unsaid in _written(draft, properties.exclude(object_reference_id=None)):
            report.add(reference, unsaid)
        draft.chmod(0o644)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _written(path: Path, properties: QuerySet[Property]) -> Iterator[Written]:
    """Write the documents of the properties in the format that the name asks for."""
    if path.suffix.lower() == ".json":
        return write_json(path, _documents(properties), now=timezone.now())
    names = Names()
    for document in _documents(properties):
        names.need(document)
    write = write_csv if path.suffix.lower() == ".csv" else write_xlsx
    return write(path, _documents(properties), names.ordered())


def _documents(properties: QuerySet[Property]) -> Iterator[Document]:
    """Yield what we want of each property, from the database as a stream."""
    rows = properties.values_list("object_reference_id", "desired").iterator(CHUNK)
    for reference, desired in rows:
        yield {**desired, "objectReferenceId": reference}
