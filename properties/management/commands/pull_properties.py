"""manage.py pull_properties: read the properties of the platform."""

import sys
import time
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.progress import Progress

from crm_sync.management.base import PARTLY, SyncCommand
from crm_sync.models import Workspace
from crm_sync.platform.errors import SyncError
from crm_sync.work import turn
from crm_sync.work.leases import Tally
from properties.models import Walk
from properties.pull.walk import pull
from properties.push.plan import PushOutcome
from properties.push.queue import PROPERTIES

SLICE = 5.0  # seconds between two updates of the progress bar
WHILE_BUSY = 0.5  # seconds between two checks whether a worker still reads
GOOD = {PushOutcome.CREATED, PushOutcome.PUSHED, PushOutcome.IN_SYNC}
STOPPED = "the pull stopped, and the next one goes on at the same page"


class Command(SyncCommand):
    """Walks the list, and reads new, due and missing properties in full."""

    help = "Walk the platform's list of properties and read in full what is new or has changed."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument(
            "--list-only", action="store_true", help="leave the full reads to the workers"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Finish an older walk that was stopped, then walk the whole list."""
        workspace = self.workspace(options["slug"])
        older = Walk.objects.filter(workspace=workspace, finished_at=None).first()
        try:
            if older is not None:  # its first pages are old, so another walk follows
                older = self._walk(workspace)
            walk = self._walk(workspace)
        except SyncError as error:
            self.fail_because(error, about=f"{workspace}: {STOPPED}")
        asked = walk.asked + walk.missing + (older.asked + older.missing if older else 0)
        tally = Tally() if options["list_only"] else self._read(workspace, asked)
        document = {
            "listed": walk.listed,
            "new": walk.added,
            "to read": walk.asked,
            "missing": walk.missing,
            "done": tally.counts,
        }
        lines = [f"{name}: {value}" for name, value in document.items() if name != "done"]
        if older is not None:
            began_at = older.started_at.isoformat()
            document["ended first"] = {"begun": began_at, "listed": older.listed}
            began = f"{older.started_at:%Y-%m-%d %H:%M} UTC"
            lines.insert(0, f"a walk of {began} was unfinished: ended first, {older.listed} listed")
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

    def _read(self, workspace: Workspace, total: int) -> Tally:
        """Run turns of the queue of properties, with a progress bar on a terminal."""
        tally = Tally()
        quiet = not sys.stderr.isatty()
        end = time.monotonic() + max(60.0, total)
        with Progress(console=Console(stderr=True), transient=True, disable=quiet) as progress:
            bar = progress.add_task("reading", total=total or None)
            while time.monotonic() < end:
                done = turn.take(PROPERTIES, workspace.pk, seconds=SLICE)
                for outcome, count in done.counts.items():
                    tally.counts[outcome] = tally.counts.get(outcome, 0) + count
                progress.update(bar, completed=tally.total)
                if done.busy:
                    time.sleep(WHILE_BUSY)  # a worker reads them
                elif not done.total:
                    break
        return tally
