"""manage.py export_properties: write the desired documents of properties to a file."""

import os
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from crm_sync.management.base import PARTLY, USAGE, SyncCommand
from properties.exports import FORMATS, ExportReport, written
from properties.models import Property


class Command(SyncCommand):
    """Exports to CSV, Excel, SwissRETS JSON or OpenImmo XML, by the suffix of the file."""

    help = (
        "Export properties to .csv or .xlsx (all that our columns can hold), SwissRETS .json or"
        " OpenImmo .xml."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("file", type=Path, help="the file to write")
        parser.add_argument(
            "--reference",
            action="append",
            default=[],
            metavar="R",
            help="only this property; may be given again",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Write the file. The exit code is 3 if the format cannot hold some properties."""
        path, wanted = options["file"], options["reference"]
        if path.suffix.lower() not in FORMATS:
            self.fail(f"{path.name}: the name must end with {', '.join(FORMATS)}", USAGE)
        properties = self._properties(options["slug"], wanted)
        report = ExportReport()
        try:
            _write(path, properties, report)
        except OSError as error:
            self.fail(f"{path}: cannot be written: {error.strerror}; nothing was exported")
        except ValueError as error:
            self.fail(f"{path.name}: {error}; nothing was exported")
        self.emit(report.document(path), report.lines(path), as_json=options["json"])
        if report.left_out:
            total = report.exported + len(report.left_out)
            self.fail(f"{len(report.left_out)} of {total} properties were left out", PARTLY)

    def _properties(self, slug: str, wanted: list[str]) -> QuerySet[Property]:
        """Return the selected properties, or end with the missing references."""
        properties = Property.objects.filter(workspace=self.workspace(slug)).order_by("pk")
        if wanted:
            properties = properties.filter(object_reference_id__in=wanted)
            known = set(properties.values_list("object_reference_id", flat=True))
            missing = [reference for reference in wanted if reference not in known]
            if missing:
                self.fail(f"no property {', '.join(missing)} in {slug}", USAGE)
        if not properties.exists():  # an empty file could mean that there are no properties
            self.fail(f"no properties in {slug}; nothing was exported")
        return properties


def _write(path: Path, properties: QuerySet[Property], report: ExportReport) -> None:
    """Write to a temporary file and replace the target at the end: there is never half a file.

    `mkstemp` makes it readable only for this user (S5).
    """
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    os.close(handle)
    draft = Path(name)
    try:
        for reference, unsaid in written(draft, report.named(properties)):
            report.add(reference, unsaid)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
