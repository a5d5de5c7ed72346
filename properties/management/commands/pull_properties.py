"""manage.py pull_properties: what the platform holds comes to us."""

import sys
import time
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.progress import Progress

from crm_sync.commands import PARTLY, SyncCommand
from crm_sync.due import Tally
from crm_sync.errors import SyncError
from crm_sync.models import Workspace
from properties.models import Walk
from properties.pull import pull
from properties.queues import drain

SLICE = 5.0  # seconds between two looks at the progress bar
GOOD = {"created", "pushed", "in sync"}


class Command(SyncCommand):
    """Walks the list, and reads in full what is new, due or missing."""

    help = "Walk the platform's list of properties and read in full what is new or has changed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the workspace."""
        super().add_arguments(parser)
        parser.add_argument("slug")
        parser.add_argument(
            "--list-only", action="store_true", help="leave the full reads to the workers"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Pull; a stop in the middle is taken up by the next call."""
        workspace = self.workspace(options["slug"])
        try:
            walk = self._walk(workspace)
        except SyncError as error:
            self.fail(f"{workspace}: {error}; the next pull goes on at the same page")
        tally = Tally() if options["list_only"] else self._read(workspace, walk)
        document = {
            "listed": walk.listed,
            "new": walk.added,
            "to read": walk.asked,
            "missing": walk.missing,
            "done": tally.counts,
        }
        lines = [f"{name}: {value}" for name, value in document.items() if name != "done"]
        lines += [f"{outcome}: {count}" for outcome, count in sorted(tally.counts.items())]
        self.emit(document, lines, as_json=options["json"])
        bad = sum(count for outcome, count in tally.counts.items() if outcome not in GOOD)
        if bad:
            self.fail(f"{bad} of {tally.total} properties need a look", PARTLY)

    def _walk(self, workspace: Workspace) -> Walk:
        for step in pull(workspace):
            walk = step
            if sys.stderr.isatty():
                self.stderr.write(f"page {walk.page}: {walk.listed} listed", ending="\r")
        return walk

    def _read(self, workspace: Workspace, walk: Walk) -> Tally:
        """Drain the queue of properties here, with a bar where somebody looks."""
        total, tally = walk.asked + walk.missing, Tally()
        quiet = not sys.stderr.isatty()
        end = time.monotonic() + max(60.0, total)
        with Progress(console=Console(stderr=True), transient=True, disable=quiet) as progress:
            bar = progress.add_task("reading", total=total or None)
            while time.monotonic() < end:
                done = drain(workspace.pk, SLICE)
                for outcome, count in done.counts.items():
                    tally.counts[outcome] = tally.counts.get(outcome, 0) + count
                progress.update(bar, completed=tally.total)
                if not done.total:
                    break
        return tally
