"""manage.py restored: after a restored backup, read everything before sending anything."""

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone

from crm_sync.installed import command
from crm_sync.integrity import restored
from crm_sync.management.base import PARTLY, SyncCommand
from crm_sync.models import Workspace

STATUS = command("restored --status")
NEXT = f"Start web, workers and beat; `{STATUS}` says when both sides agree."


class Command(SyncCommand):
    """Marks all rows that must be read first. It changes nothing on the platform."""

    help = (
        "Run this after a backup of the database was restored. Everything is then read from the"
        " platform before anything is sent, each difference becomes a conflict for a person, and no"
        " order is sent twice. Stop web, workers and beat first."
    )
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", nargs="?", help="the workspace; without it all of them")
        parser.add_argument("--force", action="store_true", help="also while a worker is alive")
        parser.add_argument(
            "--status",
            action="store_true",
            help="say how far both sides agree since then; exit code 3 while they do not",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Mark the workspaces, or print the progress of each."""
        found = self.workspaces(options["slug"])
        if options["status"]:
            self._status(found, as_json=options["json"])
            return
        now = timezone.now()
        alive = [] if options["force"] or options["dry_run"] else restored.alive(now)
        if alive:
            self.fail(
                f"{', '.join(alive)} wrote to this database within the last 30 seconds: stop it, so"
                " that it sends nothing old, wait half a minute, and try again (or --force)"
            )
        done = {}
        with transaction.atomic():
            for workspace in self.track(found, "restored"):
                done[workspace.slug] = restored.begin(workspace, now)
            transaction.set_rollback(options["dry_run"])
        lines = [
            f"{name}: {count} {what}"
            for name, counts in done.items()
            for what, count in counts.items()
            if count
        ]
        lines.append("Nothing was changed." if options["dry_run"] else NEXT)
        self.emit({"marked": done}, lines, as_json=options["json"])

    def _status(self, found: list[Workspace], *, as_json: bool) -> None:
        standings = {one.slug: restored.standing([one.pk], one.restored_at) for one in found}
        document = {
            slug: {
                "restoredAt": one.restored_at,
                "agrees": one.agrees,
                "unread": one.unread,
                "forPeople": one.for_people,
            }
            for slug, one in standings.items()
        }
        lines = [f"{slug}: {_text(one)}" for slug, one in standings.items()]
        self.emit({"workspaces": document}, lines, as_json=as_json)
        if not all(one.agrees for one in standings.values()):
            self.fail("both sides do not agree yet", PARTLY)


def _text(one: restored.Standing) -> str:
    if one.restored_at is None:
        return "was not restored"
    since = f"since the restore of {one.restored_at:%Y-%m-%d %H:%M} UTC"
    if one.agrees:
        return f"everything was read {since}; both sides agree"
    return f"{one.left}; {since}"
