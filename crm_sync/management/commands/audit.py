"""manage.py audit: do the books add up, at this instant (I31)."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.health import reports
from crm_sync.integrity.audit import Page, books, read, snapshot
from crm_sync.management.base import SyncCommand
from crm_sync.models import Workspace


class Command(SyncCommand):
    """Counts every row twice and names those that nobody comes to; changes nothing."""

    help = (
        "Check that every delivery, property, order and upload is counted once and is on its way,"
        " in step, or with a person, and say where no worker or beat is alive. One moment of the"
        " database is looked at, also while workers run; nobody waits for it. Exit code: 0 all"
        " holds, 1 something does not."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the workspace, and the quick look."""
        super().add_arguments(parser)
        parser.add_argument("slug", nargs="?", help="one workspace; without it all of them")
        parser.add_argument(
            "--quick",
            action="store_true",
            help="leave out the documents of the properties, which the daily sweep goes through",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Add up all books and print them; what does not hold comes last, on stderr a sum."""
        with snapshot():
            pages = self._pages(options["slug"], walks=not options["quick"])
        broken = [page for page in pages if not page.holds]
        missing = [one for one in reports(timezone.now()) if one.remedy]
        document = {
            "holds": not broken,
            "books": [_document(page) for page in pages],
            "missing": [one.text for one in missing],
        }
        lines = [*_lines(pages), *(f"{one.text}. {one.remedy}" for one in missing)]
        self.emit(document, lines, as_json=options["json"])
        if broken:
            names = dict.fromkeys(f"{page.workspace}: {page.title}" for page in broken)
            self.fail(f"the books do not add up: {', '.join(names)}")

    def _pages(self, slug: str | None, *, walks: bool) -> list[Page]:
        now = timezone.now()
        chosen = (
            [self.workspace(slug)]
            if slug
            else list(Workspace.objects.only("slug").order_by("slug"))
        )
        wanted = [(book, workspace) for workspace in chosen for book in books(workspace, now)]
        return [
            read(book, workspace, now=now, walks=walks)
            for book, workspace in self.track(wanted, "adding up")
        ]


def _document(page: Page) -> dict[str, Any]:
    return {
        "workspace": page.workspace,
        "book": page.title,
        "holds": page.holds,
        "total": page.total,
        "parts": page.parts,
        "broken": [{"law": one.law, "count": one.count, "rows": one.rows} for one in page.broken],
    }


def _lines(pages: list[Page]) -> Iterator[str]:
    for page in pages:
        parts = " + ".join(f"{name} {count}" for name, count in page.parts.items() if count)
        sign = "=" if page.adds_up else "≠"
        yield f"{page.workspace}: {page.title} {page.total} {sign} {parts or 0}"
        for one in page.broken:
            more = f" and {one.count - len(one.rows)} more" if one.count > len(one.rows) else ""
            yield f"    {one.count} {one.law}: {', '.join(one.rows)}{more}"
