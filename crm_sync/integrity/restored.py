"""The work after the database was restored from a backup, which is older than the platform.

A change that waits in it may have been sent already, and changed again since. So nothing is sent
before the platform was read, and each difference becomes a conflict (`Workspace.restored_at`).
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from crm_sync import hooks
from crm_sync.hooks import Counts, Recovery
from crm_sync.models import Gap, Heartbeat, WebhookMonitor, Workspace
from crm_sync.outgoing import sequence
from crm_sync.webhook import schedule
from crm_sync.work import heartbeat


@dataclass(frozen=True)
class Standing:
    """How far both sides agree since a restore, without counts of 0.

    Attributes:
        restored_at: None if `restored` was never run.
        unread: the rows that a worker still has to read.
        for_people: the rows that wait for a person.
    """

    restored_at: datetime | None
    unread: Counts
    for_people: Counts

    @property
    def agrees(self) -> bool:
        """Whether everything was read, and no decision is open."""
        return not self.unread and not self.for_people

    @property
    def left(self) -> str:
        """The remaining rows in words, or "" if both sides agree."""
        parts = (
            (_("not read yet: %(counts)s"), self.unread),
            (_("for a person: %(counts)s"), self.for_people),
        )
        return "; ".join(
            text % {"counts": ", ".join(f"{count} {what}" for what, count in counts.items())}
            for text, counts in parts
            if counts
        )


def alive(now: datetime) -> list[str]:
    """Return the workers and beats that may still use the database."""
    since = now - heartbeat.MISSING_AFTER
    rows = Heartbeat.objects.filter(
        kind__in=heartbeat.EXPECTED, stopped_at=None, seen_at__gte=since
    )
    return [f"{row.get_kind_display()} {row.name}" for row in rows.order_by("kind", "name")]


def begin(workspace: Workspace, now: datetime) -> dict[str, int]:
    """Mark all rows of a workspace to be read before they are sent; return the marked rows.

    This is one transaction. A second run does the same again, also for rows edited in between.
    """
    done: Counter[str] = Counter()
    with transaction.atomic():
        Workspace.objects.filter(pk=workspace.pk).update(restored_at=now, paused_until=None)
        for one in _recoveries():
            done.update(one.begin(workspace.pk, now))
    return dict(done)


def standing(workspaces: Collection[int], since: datetime | None) -> Standing:
    """Return how far both sides agree in workspaces that were restored together.

    Args:
        workspaces: their keys. The number of queries does not depend on the number of keys.
    """
    if since is None:
        return Standing(None, {}, {})
    unread: Counter[str] = Counter()
    people: Counter[str] = Counter()
    for one in _recoveries():
        unread.update(one.unread(workspaces, since))
        people.update(one.for_people(workspaces, since))
    return Standing(since, dict(+unread), dict(+people))


def _begin(workspace_id: int, now: datetime) -> Counts:
    return {
        "webhooks to be polled": schedule.ask(
            WebhookMonitor.objects.filter(workspace_id=workspace_id), now=now
        ),
        "changes removed": sequence.restart(workspace_id),
    }


def _unread(workspaces: Collection[int], since: datetime) -> Counts:
    monitors = WebhookMonitor.objects.filter(workspace__in=workspaces)
    return {_("webhooks"): monitors.exclude(polled_at__gte=since).count()}


def _for_people(workspaces: Collection[int], since: datetime) -> Counts:
    gaps = Gap.objects.filter(workspace__in=workspaces, acknowledged_at=None)
    return {_("gaps"): gaps.filter(noticed_at__gte=since).count()}


def _recoveries() -> list[Recovery]:
    # The poll of the history reports missed events as gaps (I21): its window is as old as the rest.
    return [Recovery(_begin, _unread, _for_people), *hooks.plugged().recoveries]
