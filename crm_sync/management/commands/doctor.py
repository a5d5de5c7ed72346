"""manage.py doctor: find problems and their remedies, without changes."""

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import IO, Any, cast

from django.core.management.base import CommandError, CommandParser
from django.db import Error
from django.utils import timezone
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from crm_sync.doctor import connection, installation
from crm_sync.doctor.checking import guarded
from crm_sync.hooks import Finding, Verdict
from crm_sync.management.base import PARTLY, SyncCommand
from crm_sync.models import Workspace
from crm_sync.text import counted, in_one_line

HERE = "this installation"
COLORS = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.FAILED: "bold red"}
Named = tuple[str, Finding]  # a workspace, or HERE


class Warnings(CommandError):
    """Nothing failed, but something needs a look."""


class Command(SyncCommand):
    """Checks this installation, and the real answers of each platform, only by GETs."""

    help = (
        "Check settings, keys, database, broker, workers, beat, and for each workspace the clock of"
        " the platform, its token, its webhook, and where its fields, values and answers differ"
        " from our assumptions. It only reads: GETs, at most"
        f" {connection.MOST} to a platform, and POST /auth/token where the workspace has a client"
        " id. Exit code: 0 all is well or could not be checked, 1 a check failed, 3 warnings alone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", nargs="?", help="the workspace; without it all of them")
        parser.add_argument(
            "--all", action="store_true", help="a line also for each check that was not possible"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Run all checks and print their results."""
        found = list(self._findings(options["slug"]))
        counts = Counter(one.verdict for _, one in found)
        document = {
            "counts": {verdict.value: counts[verdict] for verdict in Verdict},
            "checks": [{"about": about, **asdict(one)} for about, one in found],
        }
        shown = found if options["all"] else list(_folded(found))
        if options["json"] or not self.stdout.isatty():
            self.emit(document, _lines(shown), as_json=options["json"])
        else:
            Console(file=cast(IO[str], self.stdout)).print(_table(shown))
        total = counted(len(found), "check")
        if counts[Verdict.FAILED]:
            self.fail(f"{counts[Verdict.FAILED]} of {total}")
        if counts[Verdict.WARNING]:
            raise Warnings(f"{counts[Verdict.WARNING]} of {total}", returncode=PARTLY)

    def _findings(self, slug: str | None) -> Iterator[Named]:
        try:
            workspaces = self.workspaces(slug)  # first, since the slug may be wrong
        except Error:
            workspaces = None
        for one in installation.findings(timezone.now()):
            yield HERE, one
        if workspaces is None:
            yield HERE, Finding("workspaces", Verdict.NOT_CHECKED, "They are in the database.")
            return
        for workspace in self.track(workspaces, "asking the platforms"):
            look = functools.partial(connection.findings, workspace, timezone.now())
            for one in guarded("the platform", look):
                yield workspace.slug, one

    def workspace(self, slug: str) -> Workspace:
        """Return the workspace without its secrets, which perhaps no key decrypts."""
        found = Workspace.objects.defer(*Workspace.SECRETS).filter(slug=slug).first()
        return found or super().workspace(slug)


def _folded(found: list[Named]) -> Iterator[Named]:
    """Yield the findings, with one for all that were not possible for the same reason."""
    names: dict[tuple[str, str], list[str]] = {}
    for about, one in found:
        if one.verdict is Verdict.NOT_CHECKED:
            names.setdefault((about, one.found), []).append(one.name)
    for about, one in found:
        same = names[about, one.found] if one.verdict is Verdict.NOT_CHECKED else []
        if len(same) < 2:
            yield about, one
        elif same[0] == one.name:
            yield about, Finding(", ".join(same), one.verdict, one.found)


def _lines(found: list[Named]) -> Iterator[str]:
    for about, one in found:
        assumed = f" (we assume: {one.assumption})" if one.assumption else ""
        yield f"{one.verdict.value:11}  {about}: {one.name}: {one.found}{assumed}"
        if one.remedy:
            yield f"{'':11}  → {one.remedy}"


def _table(found: list[Named]) -> Table:
    table = Table("", "check", "result", "what to do", box=box.SIMPLE_HEAD)
    before = ""
    for about, one in found:
        if about != before:
            table.add_section()
            table.add_row("", f"[bold]{_cell(about)}[/bold]")
        before = about
        color = COLORS.get(one.verdict, "dim")
        verdict = f"[{color}]{one.verdict.value}[/{color}]"
        assumed = f"\n[dim]we assume: {_cell(one.assumption)}[/dim]" if one.assumption else ""
        table.add_row(verdict, _cell(one.name), _cell(one.found) + assumed, _cell(one.remedy))
    return table


def _cell(text: str) -> str:
    return escape(in_one_line(text))
