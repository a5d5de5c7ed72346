"""manage.py pause: hold the work of a workspace, or one kind of it (I34)."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.installed import command
from crm_sync.management.base import USAGE
from crm_sync.management.hold_arguments import HoldCommand, in_json, in_lines
from crm_sync.models import hold
from crm_sync.models.hold import REASON_LENGTH


class Command(HoldCommand):
    """Exit codes: 0 held, 2 no such workspace or kind, no reason, or an end in the past."""

    help = (
        f"Hold the work of a workspace, or one kind of it, until `{command('resume')}` or --until."
        " Callbacks, polls and reads go on, and nothing is lost."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--reason", required=True, help="why, for everybody who sees it")
        parser.add_argument(
            "--until", metavar="TIME", help="when it ends, ISO 8601; without an offset it is UTC"
        )
        parser.add_argument("--by", metavar="NAME", help="who holds it; default: your login")

    def handle(self, *_: Any, **options: Any) -> None:
        """Hold the chosen kinds, and print all that is held."""
        workspace, now = self.workspace(options["slug"]), timezone.now()
        reason, kinds = options["reason"].strip(), self.chosen(options)
        if not 0 < len(reason) <= REASON_LENGTH:
            self.fail(f"--reason needs 1 to {REASON_LENGTH} characters", USAGE)
        until = self._end(options["until"], now)
        if not options["dry_run"]:
            hold.pause(
                workspace.pk,
                kinds,
                reason=reason,
                now=now,
                until=until,
                program=self.operator(options["by"]),
            )
        groups = hold.standing([workspace.pk], now)
        names = [kind.value for kind in kinds]
        document = {
            "workspace": workspace.slug,
            "result": "would be held" if options["dry_run"] else "held",
            "kinds": names,
            "holds": in_json(groups),
        }
        lines = [f"{workspace.slug}: {document['result']}: {', '.join(names)}", *in_lines(groups)]
        self.emit(document, lines, as_json=options["json"])

    def _end(self, text: str | None, now: datetime) -> datetime | None:
        if text is None:
            return None
        end = self.moment("--until", text).astimezone(UTC)
        if end <= now:
            self.fail(f"--until {text} is over", USAGE)
        return end
