"""manage.py import_properties: a feed file becomes edits."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import Progress

from crm_sync.commands import PARTLY, SyncCommand
from crm_sync.models import Workspace
from properties.feeds import NotAFeed
from properties.imports import Report, import_feed, read_whole

OF_THE_RECORD = {"id", "created", "modified"}  # kept, but nobody misses them on the platform
SHOWN = 20  # lines of each kind that a person reads; --json has them all


class Command(SyncCommand):
    """Imports SwissRETS XML 2.x and JSON 3.x, IDX 3.01, and tables (CSV, Excel) of our columns."""

    help = "Import properties from SwissRETS, IDX, CSV or Excel; a record sets what it holds."
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the workspace and the file."""
        super().add_arguments(parser)
        parser.add_argument("slug")
        parser.add_argument("file", type=Path)

    def handle(self, *_: Any, **options: Any) -> None:
        """Import the file; exit code 3 when some records were refused, 1 when nothing was taken."""
        workspace, path, dry_run = (
            self.workspace(options["slug"]),
            options["file"],
            options["dry_run"],
        )
        try:
            total = read_whole(path)
            report = self._import(workspace, path, total, dry_run=dry_run)
        except NotAFeed as error:
            self.fail(f"{error}; nothing was imported")
        self.emit(_document(report), _lines(report, dry_run=dry_run), as_json=options["json"])
        if report.refused:
            code = PARTLY if report.accepted else 1
            self.fail(f"{len(report.refused)} of {total} records were refused", code)

    def _import(self, workspace: Workspace, path: Path, total: int, *, dry_run: bool) -> Report:
        report = Report()
        steps = import_feed(workspace, path, now=timezone.now(), dry_run=dry_run)
        quiet = not sys.stderr.isatty()
        with Progress(console=Console(stderr=True), transient=True, disable=quiet) as progress:
            bar = progress.add_task(path.name, total=total)
            for step in steps:
                report = step
                progress.advance(bar)
        return report


def _document(report: Report) -> dict[str, Any]:
    return {
        "new": report.new,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "refused": [
            {"position": r.position, "reference": r.reference, "reasons": r.reasons}
            for r in report.refused
        ],
        "leftover": report.leftover,
    }


def _lines(report: Report, *, dry_run: bool) -> list[str]:
    lines = [f"new       {reference}" for reference in report.new[:SHOWN]]
    for reference, fields in list(report.changed.items())[:SHOWN]:
        lines.append(f"changed   {reference}: {', '.join(fields)}")
    for refusal in report.refused[:SHOWN]:
        reasons = "; ".join(refusal.reasons)
        lines.append(
            f"refused   {refusal.position}, {refusal.reference or 'no reference'}: {reasons}"
        )
    for reference, rest in list(report.leftover.items())[:SHOWN]:
        names = sorted(rest.keys() - OF_THE_RECORD)
        lines += [f"set aside {reference}: {', '.join(names)}"] if names else []
    would = "would be " if dry_run else ""
    lines.append(
        f"{would}imported: {len(report.new)} new, {len(report.changed)} changed,"
        f" {len(report.unchanged)} unchanged, {len(report.refused)} refused"
    )
    return lines
