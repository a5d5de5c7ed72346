"""manage.py pull_users: read the platform's users now."""

import sys
import time
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.management.base import FAILED, PARTLY, SyncCommand
from crm_sync.models import Workspace
from crm_sync.work import turn
from orders.models import PlatformUser, UserList
from orders.platform_users import user_list
from orders.plugged.order_queues import USERS

SLICE = 1.0  # seconds between two lines of the progress
WHILE_BUSY = 0.5  # seconds between two checks whether a worker still reads


class Command(SyncCommand):
    """Exit codes: 0 read, 1 no workspace read, 3 some workspaces not read or entries set aside."""

    help = "Read the platform's list of users, of one workspace or of all."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", nargs="?", help="the workspace; without it all of them")

    def handle(self, *_: Any, **options: Any) -> None:
        found = [self._pull(workspace) for workspace in self.workspaces(options["slug"])]
        self.emit({"workspaces": found}, [_line(one) for one in found], as_json=options["json"])
        failed = [one["workspace"] for one in found if one["problem"]]
        if failed:
            code = FAILED if len(failed) == len(found) else PARTLY
            self.fail(f"the users of {', '.join(failed)} were not read", code)
        if set_aside := sum(one["setAside"] for one in found):
            what = "entries without an id, or with one that is too long"
            self.fail(f"{what}: {set_aside}; the log names them", PARTLY)

    def _pull(self, workspace: Workspace) -> dict[str, Any]:
        """Read until no page is due any more and return the result."""
        began = timezone.now()
        user_list.ask(workspace.pk, began)
        while True:
            done = turn.take(USERS, workspace.pk, seconds=SLICE)
            if done.busy:
                time.sleep(WHILE_BUSY)  # a worker reads them
            elif not done.total:
                break
            self._tell(workspace)
        row = UserList.objects.get(workspace=workspace)
        mine = PlatformUser.objects.filter(workspace=workspace)
        is_read = row.read_at is not None and row.read_at >= began
        return {
            "workspace": workspace.slug,
            "users": mine.filter(gone_at=None).count(),
            "new": mine.filter(created_at__gte=began).count(),
            "gone": mine.filter(gone_at__gte=began).count(),
            "setAside": row.set_aside,
            "problem": row.problem or ("" if is_read else _why_not(workspace)),
        }

    def _tell(self, workspace: Workspace) -> None:
        if sys.stderr.isatty():
            row = UserList.objects.get(workspace=workspace)
            self.stderr.write(f"{workspace}: {row.listed} users listed", ending="\r")


def _why_not(workspace: Workspace) -> str:
    """Return why no page was read. No call has failed, so the workspace waits."""
    now = timezone.now()
    fresh = Workspace.objects.only("slug", "paused_until", "problem").get(pk=workspace.pk)
    if fresh.is_paused(now):
        return f"all calls pause until {fresh.paused_until:%H:%M:%S} UTC: {fresh.problem}"
    return "the workers use all calls that the workspace allows"


def _line(one: dict[str, Any]) -> str:
    if one["problem"]:
        return f"{one['workspace']}: {one['problem']}"
    aside = f", set aside {one['setAside']}" if one["setAside"] else ""
    return f"{one['workspace']}: users {one['users']}, new {one['new']}, gone {one['gone']}{aside}"
