"""manage.py resume: end what a person holds in a workspace (I34)."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.installed import command
from crm_sync.management.base import PARTLY
from crm_sync.management.hold_arguments import HoldCommand, in_json, in_lines
from crm_sync.models import hold
from crm_sync.models.hold import HoldCause


class Command(HoldCommand):
    """Exit codes: 0 all goes on, 2 no such workspace or kind, 3 other holds are still there."""

    help = (
        "End what a person holds in a workspace. All that became due goes on at once."
        f" A workspace in watch only goes on with `{command('go_live')}`."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--by", metavar="NAME", help="who resumes it; default: your login")

    def handle(self, *_: Any, **options: Any) -> None:
        """End the holds of the chosen kinds, and print what is still held."""
        workspace, now = self.workspace(options["slug"]), timezone.now()
        kinds = self.chosen(options)
        if options["dry_run"]:
            mine = hold.Hold.objects.active(now).filter(workspace=workspace)
            held = set(mine.filter(cause=HoldCause.PERSON).values_list("kind", flat=True))
            ended = [kind for kind in kinds if kind.value in held]
        else:
            ended = hold.resume(workspace.pk, kinds, now=now, program=self.operator(options["by"]))
        left = hold.standing([workspace.pk], now)
        names = ", ".join(kind.value for kind in ended) or "nothing was held"
        document = {
            "workspace": workspace.slug,
            "result": "would go on" if options["dry_run"] else "goes on",
            "kinds": [kind.value for kind in ended],
            "holds": in_json(left),
        }
        lines = [f"{workspace.slug}: {document['result']}: {names}", *in_lines(left)]
        self.emit(document, lines, as_json=options["json"])
        if left and not options["dry_run"]:
            self.fail(f"{len(left)} of {workspace.slug} still held", PARTLY)
