"""manage.py export_properties: write the desired documents of properties to a file."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from crm_sync import hooks
from crm_sync.management.base import PARTLY, USAGE, SyncCommand
from crm_sync.zip_stream import BrokenOff
from properties.exports.export_file import FORMATS, written
from properties.exports.export_report import ExportReport
from properties.exports.export_zip import WRITERS, packed
from properties.models import Property

ZIPS = [f"{suffix}.zip" for suffix in WRITERS]


class Command(SyncCommand):
    """Exports to CSV, Excel, SwissRETS JSON or OpenImmo XML, by the suffix of the file."""

    help = (
        "Export properties to .csv or .xlsx (all that our columns can hold), SwissRETS .json or"
        " OpenImmo .xml; with --pictures to .json.zip or .xml.zip."
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
        parser.add_argument(
            "--pictures",
            action="store_true",
            help="write a ZIP that also has the delivered files that are stored here",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Write the file. The exit code is 3 if some properties or files are not in it."""
        path, wanted = options["file"], options["reference"]
        endings = ZIPS if options["pictures"] else FORMATS
        if not path.name.lower().endswith(tuple(endings)):
            with_pictures = " with --pictures" if options["pictures"] else ""
            names = ", ".join(endings)
            self.fail(f"{path.name}: the name must end with {names}{with_pictures}", USAGE)
        properties = self._properties(options["slug"], wanted)
        report = ExportReport()
        try:
            _write(path, properties, report, _pack if options["pictures"] else _export)
        except OSError as error:
            self.fail(f"{path}: cannot be written: {error.strerror}; nothing was exported")
        except (ValueError, BrokenOff) as error:
            self.fail(f"{path.name}: {error}; nothing was exported")
        self.emit(report.document(path), report.lines(path), as_json=options["json"])
        if report.left_out:
            total = report.exported + len(report.left_out)
            self.fail(f"{len(report.left_out)} of {total} properties were left out", PARTLY)
        if report.lacking:
            total = report.files + report.lacking
            self.fail(f"{report.lacking} of {total} files are not included", PARTLY)

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


def _write(
    path: Path,
    properties: QuerySet[Property],
    report: ExportReport,
    export: Callable[[Path, str, QuerySet[Property], ExportReport], None],
) -> None:
    """Write to a temporary file and replace the target at the end: there is never half a file.

    `mkstemp` makes it readable only for this user (S5).
    """
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    os.close(handle)
    draft = Path(name)
    try:
        export(draft, path.stem, properties, report)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _export(draft: Path, _: str, properties: QuerySet[Property], report: ExportReport) -> None:
    for reference, unsaid in written(draft, report.named(properties)):
        report.add(reference, unsaid)


def _pack(draft: Path, name: str, properties: QuerySet[Property], report: ExportReport) -> None:
    feed = Path(name).with_suffix(Path(name).suffix.lower()).name
    sources = hooks.plugged().property_files
    with draft.open("wb") as file:
        for piece in packed(feed, report.named(properties), sources, report):
            file.write(piece)
