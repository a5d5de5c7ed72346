"""manage.py audit: check that all rows are accounted for at this moment (I31)."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.integrity.audit import CheckResult, check_groups, read, snapshot
from crm_sync.management.base import SyncCommand
from crm_sync.observing.health import reports


class Command(SyncCommand):
    """Counts all rows twice and lists rows in a state that nobody ends, without changes."""

    help = (
        "Check that every received event, property, order and upload is counted once and is on its"
        " way, in sync, or with a person, and say where no worker or beat is alive. One moment of"
        " the database is looked at, also while workers run; nobody waits for it. Exit code: 0"
        " all holds, 1 something does not."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", nargs="?", help="the workspace; without it all of them")
        parser.add_argument(
            "--quick",
            action="store_true",
            help="leave out the documents of the properties, which the daily sweep goes through",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Run all checks and print the results. The names of failed checks go to stderr."""
        with snapshot():
            results = self._results(options["slug"], walks=not options["quick"])
        broken = [result for result in results if not result.holds]
        missing = [one for one in reports(timezone.now()) if one.remedy]
        document = {
            "holds": not broken,
            "groups": [_document(result) for result in results],
            "missing": [one.text for one in missing],
        }
        lines = [*_lines(results), *(f"{one.text}. {one.remedy}" for one in missing)]
        self.emit(document, lines, as_json=options["json"])
        if broken:
            names = dict.fromkeys(f"{result.workspace}: {result.title}" for result in broken)
            self.fail(f"the audit finds inconsistencies: {', '.join(names)}")

    def _results(self, slug: str | None, *, walks: bool) -> list[CheckResult]:
        now = timezone.now()
        # The checks of each workspace just before they are read: those of a thousand take longer to
        # make than PostgreSQL lets a transaction rest.
        return [
            read(group, workspace, now=now, walks=walks)
            for workspace in self.track(self.workspaces(slug), "checking")
            for group in check_groups(workspace, now)
        ]


def _document(result: CheckResult) -> dict[str, Any]:
    return {
        "workspace": result.workspace,
        "group": result.title,
        "holds": result.holds,
        "total": result.total,
        "parts": result.parts,
        "broken": [asdict(one) for one in result.broken],
    }


def _lines(results: list[CheckResult]) -> Iterator[str]:
    for result in results:
        parts = " + ".join(f"{name} {count}" for name, count in result.parts.items() if count)
        sign = "=" if result.adds_up else "≠"
        yield f"{result.workspace}: {result.title} {result.total} {sign} {parts or 0}"
        for one in result.broken:
            more = f" and {one.count - len(one.rows)} more" if one.count > len(one.rows) else ""
            yield f"    {one.count} {one.invariant}: {', '.join(one.rows)}{more}"
