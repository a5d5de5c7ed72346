"""What `pause` and `resume` have in common: the workspace, the kinds of work, and their output."""

from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandParser

from crm_sync.management.base import SyncCommand
from crm_sync.models.hold import HoldGroup
from crm_sync.platform.work_kind import WorkKind


class HoldCommand(SyncCommand):
    """A command about the holds of a workspace."""

    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument(
            "--kind",
            action="append",
            choices=[kind.value for kind in WorkKind],
            help="a kind of work; may be given again; without it all kinds",
        )

    def chosen(self, options: dict[str, Any]) -> list[WorkKind]:
        """Return the kinds that are chosen, all if none is."""
        return [WorkKind(name) for name in options["kind"] or WorkKind]


def in_lines(groups: Iterable[HoldGroup]) -> list[str]:
    """Return what is held, for a person."""
    return [
        f"{group.work}: {group.first.because}, since {group.first.since:%Y-%m-%d %H:%M} UTC"
        + (f", until {group.first.until:%Y-%m-%d %H:%M} UTC" if group.first.until else "")
        for group in groups
    ]


def in_json(groups: Iterable[HoldGroup]) -> list[dict[str, Any]]:
    """Return what is held, for a program."""
    return [
        {
            "kinds": [kind.value for kind in group.kinds],
            "cause": group.first.cause,
            "reason": group.first.reason,
            "by": group.first.who,
            "since": group.first.since,
            "until": group.first.until,
        }
        for group in groups
    ]
