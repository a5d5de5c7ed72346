"""manage.py go_live: show the first plan of a workspace in watch only, and let it begin (I34)."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.installed import command
from crm_sync.management.base import PARTLY, SyncCommand
from crm_sync.models import hold


class Command(SyncCommand):
    """Exit codes: 0 shown or begun, 2 no such workspace, 3 the plan is not the one that was seen.

    A workspace that is not in watch only is told so, with exit code 0.
    """

    help = (
        "Show what a workspace in watch only would send first, counted without a call. With"
        " --seen it begins, if the figures are still those."
    )
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument(
            "--seen", metavar="FIGURES", help="the figures of the plan that you have seen"
        )
        parser.add_argument("--by", metavar="NAME", help="who says go; default: your login")

    def handle(self, *_: Any, **options: Any) -> None:
        """Show the plan, or end watch only."""
        workspace, now = self.workspace(options["slug"]), timezone.now()
        plan, seen = hold.first_plan(workspace.pk), options["seen"]
        was_watched, begun = hold.is_watched(workspace.pk, now), False
        if was_watched and seen and not options["dry_run"]:
            begun = hold.go_live(
                workspace.pk, seen=seen, now=now, program=self.operator(options["by"])
            )
        is_watched = was_watched and not begun
        document = {
            "workspace": workspace.slug,
            "watch_only": is_watched,
            "plan": plan,
            "figures": hold.seen_as(plan),
        }
        lines = [f"{count} {name}" for name, count in plan.items()]
        if is_watched:
            going = command(f"go_live {workspace.slug} --seen {hold.seen_as(plan)}")
            lines.append(f"next: {going}")
        else:
            lines.append(f"{workspace.slug} {'begins' if begun else 'is not in watch only'}")
        self.emit(document, lines, as_json=options["json"])
        if is_watched and seen and seen != hold.seen_as(plan):
            self.fail("the plan has changed since you have seen it", PARTLY)
