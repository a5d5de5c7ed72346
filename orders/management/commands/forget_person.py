"""manage.py forget_person: remove a person from all that is stored here (S23)."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.management.base import PARTLY, USAGE, SyncCommand
from orders import forgetting


class Command(SyncCommand):
    """Removes a person; ends with exit code 3 if it had to leave something."""

    help = (
        "Blank what is stored about a person: a photographer, a user of the platform, an account of"
        " ours. Begin with --dry-run. docs/operations.md says what stays, and what the platform"
        " still has."
    )
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "who", nargs="+", help="an e-mail, a phone or a whole name, as it is written"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Print what was found where, by model and column."""
        try:
            person = forgetting.find(options["who"])
        except ValueError as error:
            self.fail(str(error), USAGE)
        dry_run = options["dry_run"]
        changed, left = forgetting.forget(person, now=timezone.now(), dry_run=dry_run)
        document = {
            "looked_for": sorted(person.words),
            "dry_run": dry_run,
            "changed": dict(sorted(changed.items())),
            "left": dict(sorted(left.items())),
        }
        verb = "would be blanked" if dry_run else "blanked"
        lines = [f"looked for: {', '.join(sorted(person.words))}"]
        lines += [f"{count:>6}  {place}" for place, count in sorted(changed.items())]
        lines.append(f"{changed.total()} places {verb}")
        lines += [f"{count:>6}  {place}: left" for place, count in sorted(left.items())]
        self.emit(document, lines, as_json=options["json"])
        if left:
            self.fail(
                f"{left.total()} places are left: a key, the document of a property (edit it), or"
                " an event that waits (settle it, and run this again)",
                PARTLY,
            )
