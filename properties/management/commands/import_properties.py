"""manage.py import_properties: import a feed file as edits."""

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task
from rich.text import Text

from crm_sync.management.base import FAILED, PARTLY, USAGE, SyncCommand
from crm_sync.models import Workspace
from crm_sync.work.doorbell import doorbell
from properties.feeds import NotAFeed
from properties.imports.engine import FullFeedError, import_feed
from properties.imports.feed_digest import unchanged_since
from properties.imports.packed_file import unpacked
from properties.imports.report import ImportReport
from properties.models import Sender

SHOWN = 20  # lines of each kind in the text; --json has all lines of the report
SAME = (
    "nothing has changed: the same feed was imported on {since:%Y-%m-%d %H:%M} UTC;"
    " --force reads it all the same"
)
VALUES = 5  # of one changed record
ADVICE = "if nothing is wrong with it, import it with --force: what it lacks stays as it is"


class Command(SyncCommand):
    """Imports SwissRETS XML 2.x and JSON 3.x, OpenImmo, IDX 3.01, and tables of our columns."""

    help = (
        "Import properties from SwissRETS, OpenImmo, IDX, CSV or Excel; a record sets what it"
        " holds."
    )
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("file", type=Path, help="the feed, or a ZIP or gzip file with it")
        parser.add_argument(
            "--sender", help="the name of the sender, whose settings say how to read it"
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="also import a full feed that lacks much of the last one, or is the same",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Import the file. Exit codes: 3 some records were refused, 1 nothing was imported."""
        workspace = self.workspace(options["slug"])
        sender = self._sender(workspace, options["sender"])
        try:
            with unpacked(options["file"]) as (path, beside):
                self._take(workspace, sender, path, beside, options)
        except NotAFeed as error:
            self.fail(f"{error}; nothing was imported")

    def _take(
        self,
        workspace: Workspace,
        sender: Sender | None,
        path: Path,
        beside: str,
        options: dict[str, Any],
    ) -> None:
        """Import an unpacked feed.

        Raises:
            NotAFeed: nothing was imported.
        """
        dry_run, as_json = options["dry_run"], options["json"]
        try:
            since = None if options["force"] else unchanged_since(workspace, path, sender)
            if since is not None:
                document = _document(ImportReport()) | {"unchanged_since": since.isoformat()}
                self.emit(document, [SAME.format(since=since)], as_json=as_json)
                return
            report = self._import(
                workspace,
                path,
                sender=sender,
                dry_run=dry_run,
                force=options["force"],
                beside=beside,
            )
        except FullFeedError as error:
            self.emit(_document(error.report), _missing(error.report), as_json=as_json)
            self.fail(f"{error}; nothing was imported{_advice(error.report)}")
        self.emit(_document(report), _lines(report, dry_run=dry_run), as_json=as_json)
        if report.stopped:
            self.fail(f"{path.name}: {report.stopped}; it would be refused{_advice(report)}")
        if report.refused.count:
            code = PARTLY if report.accepted else FAILED
            self.fail(f"{report.refused.count} of {report.total} records were refused", code)

    def _sender(self, workspace: Workspace, name: str | None) -> Sender | None:
        """Return the sender, or end with exit code 2 and the known names."""
        if name is None:
            return None
        here = Sender.objects.filter(workspace=workspace)
        found = here.filter(name=name).first()
        if found is None:
            known = ", ".join(here.values_list("name", flat=True)) or "none yet"
            self.fail(f"{workspace.slug} has no sender {name!r}; there is: {known}", USAGE)
        return found

    def _import(self, workspace: Workspace, path: Path, **options: Any) -> ImportReport:
        """Import the file with a progress bar, with the options of `import_feed`."""
        report = ImportReport()
        steps = import_feed(workspace, path, now=timezone.now(), **options)
        with _noticing_ctrl_c() as pressed, doorbell.bulk():
            for step in _followed(steps, path.name):
                report = step
                if pressed.is_set():
                    self.fail(_interrupted(report, dry_run=options["dry_run"]))
        return report


@contextmanager
def _noticing_ctrl_c() -> Iterator[threading.Event]:
    """Handle Ctrl-C, so that the import ends between two records. A second one ends it at once."""
    pressed = threading.Event()

    def note(*_: object) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if threading.current_thread() is not threading.main_thread():
        yield pressed  # Ctrl-C reaches only the main thread
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


class _Rate(ProgressColumn):
    """A column with the records per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:,.0f} records/s", style="progress.data.speed")


def _followed(steps: Iterator[ImportReport], name: str) -> Iterator[ImportReport]:
    """Yield the steps with a progress bar on stderr, if that is a terminal."""
    columns = (*Progress.get_default_columns(), _Rate())
    quiet = not sys.stderr.isatty()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        bar = progress.add_task(f"{name}: reading", total=None)
        is_read = False
        for report in steps:
            if report.total is None:
                progress.advance(bar)
            elif not is_read:
                is_read = True
                progress.reset(bar, total=report.total, description=name)
            if is_read:
                progress.update(bar, completed=report.handled)
            yield report


def _interrupted(report: ImportReport, *, dry_run: bool) -> str:
    """Return the message for a person who pressed Ctrl-C."""
    written = report.new.count + report.changed.count
    if dry_run or not written:
        return "interrupted: nothing was written; run it again when you like"
    counts = f"{report.new.count:,} new and {report.changed.count:,} changed"
    return (
        f"interrupted after {report.handled:,} of {report.total:,} records: {counts} were written"
        " and stay; run it again, and it goes on"
    )


def _advice(report: ImportReport) -> str:
    """Return how to import the feed anyway, unless that would duplicate its properties."""
    return "" if report.renamed else f"; {ADVICE}"


def _document(report: ImportReport) -> dict[str, Any]:
    names = ("new", "changed", "unchanged", "refused", "aside", "warned", "doubles")
    counts = {name: getattr(report, name).count for name in names}
    return {
        "counts": counts | {"missing": len(report.missing)},
        "new": report.new.first,
        "changed": dict(report.changed.first),
        "differences": {
            one.reference: {d.path: [d.old, d.new] for d in one.first}
            for one in report.differences.first
        },
        "unchanged": report.unchanged.first,
        "refused": [
            {"position": r.position, "reference": r.reference, "reasons": r.reasons}
            for r in report.refused.first
        ],
        "missing": report.missing,
        "missing_state": report.missing_state,
        "exempt": report.exempt,
        "stopped": report.stopped,
        "unchanged_since": None,
        "aside": dict(report.aside.first),
        "warned": dict(report.warned.first),
        "doubles": dict(report.doubles.first),
        "warnings": report.warnings,
    }


def _lines(report: ImportReport, *, dry_run: bool) -> list[str]:
    lines = [f"new       {reference}" for reference in report.new.first[:SHOWN]]
    lines += _changed(report)
    for refusal in report.refused.first[:SHOWN]:
        reasons = "; ".join(refusal.reasons)
        lines.append(
            f"refused   {refusal.position}, {refusal.reference or 'no reference'}: {reasons}"
        )
    lines += _missing(report)
    for reference, values in report.aside.first[:SHOWN]:
        said = (f"{name} {_said(value)}" for name, value in values.items())
        lines.append(f"set aside {reference}: {', '.join(said)}")
    for reference, other in report.doubles.first[:SHOWN]:
        lines.append(f"to match  {reference}: like {other}, which the platform has already")
    for reference, texts in report.warned.first[:SHOWN]:
        lines.append(f"warning   {reference}: {'; '.join(texts)}")
    lines += [f"warning   {text}" for text in report.warnings[:SHOWN]]
    would = "would be " if dry_run else ""
    missing = f", {len(report.missing)} missing" if report.missing else ""
    lines.append(
        f"{would}imported: {report.new.count} new, {report.changed.count} changed,"
        f" {report.unchanged.count} unchanged, {report.refused.count} refused{missing}"
    )
    return lines


def _changed(report: ImportReport) -> list[str]:
    """Return a line for each changed record, with its first old and new values."""
    lines = []
    for one in report.differences.first[:SHOWN]:
        said = [f"{d.path} {_said(d.old)} → {_said(d.new)}" for d in one.first[:VALUES]]
        if one.count > len(said):
            said.append(f"and {one.count - len(said)} more")
        lines.append(f"changed   {one.reference}: {'; '.join(said)}")
    return lines


def _said(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)


def _missing(report: ImportReport) -> list[str]:
    """Return a line for each property that was in the last feed and is not in this one."""
    state, exempt = report.missing_state, set(report.exempt)
    return [
        f"missing   {reference}: not in the feed any more; "
        + (
            f"its state becomes {state}"
            if state and reference not in exempt
            else "it stays as it is"
        )
        for reference in report.missing[:SHOWN]
    ]
