"""What is stalled on our side, for the overview: processes, queues, webhooks, restored backups."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from crm_sync.admin.ui.cells import badge, list_of, moment, page_of
from crm_sync.admin.workspace.tabs import address_of
from crm_sync.hooks import NEWEST, Attention
from crm_sync.integrity import restored
from crm_sync.models import WebhookMonitor
from crm_sync.observing import health
from crm_sync.observing.health import LATE, HealthReport
from crm_sync.work import heartbeat
from crm_sync.work.heartbeat import Kind

RECENT = timedelta(days=14)  # rows that wait longer after a restore have other causes
READING = "Wait: workers read before they send. manage.py restored --status says what is left"
DECIDE = (
    "Decide what waits for a person: the tiles below lead to it."
    " manage.py restored --status says when both sides agree"
)


def lines(workspaces: list[Any], reports: list[HealthReport], now: datetime) -> list[Attention]:
    """Return what is stalled, each cause before its effects.

    Args:
        workspaces: the workspaces of the viewer, without their secrets.
    """
    return [
        *_missing(reports),
        *_died(reports, now),
        *_stalled(workspaces, reports, now),
        *_without_webhook(workspaces),
        *_restored(workspaces, now),
    ]


def _missing(reports: list[HealthReport]) -> Iterable[Attention]:
    for one in reports:
        if one.remedy:
            yield Attention(
                badge("Not running", one.tone),
                f"{one.text}. {one.effect}",
                remedy=one.remedy,
                next_try="When it runs",
                is_urgent=True,
            )


def _died(reports: list[HealthReport], now: datetime) -> Iterable[Attention]:
    """Yield the processes that died while others of their kind still run."""
    going_on = {one.kind for one in reports if not one.remedy}
    for one in [one for one in heartbeat.died(now) if one.kind in going_on][:NEWEST]:
        yield Attention(
            badge("Died", "warning"),
            f"{one.get_kind_display()} {one.name} sends no heartbeat and did not end properly",
            since=moment(one.seen_at, now),
            remedy="Look at its log and start it again; others take its rows within half a minute",
            next_try="By the others",
            is_urgent=True,
        )


def _stalled(
    workspaces: list[Any], reports: list[HealthReport], now: datetime
) -> Iterable[Attention]:
    """Yield one line for each queue, also if several workspaces are stalled."""
    by_queue: dict[str, list[int]] = {}
    slugs = {workspace.pk: workspace.slug for workspace in workspaces}
    for queue, workspace_id in health.stalled(now):
        if workspace_id in slugs:
            by_queue.setdefault(queue, []).append(workspace_id)
    is_worker_there = any(one.kind == Kind.WORKER and not one.remedy for one in reports)
    for queue, found in sorted(by_queue.items()):
        yield Attention(
            badge("Stalled", "danger"),
            f"No worker has taken what is due in {queue.replace('_', ' ')}"
            f" for {int(LATE.total_seconds())} s or longer",
            slugs[found[0]] if len(found) == 1 else f"{len(found)} workspaces",
            remedy="Start one more worker, or look at the log of the one that runs"
            if is_worker_there
            else "Start a worker",
            next_try="When a worker is free",
            is_urgent=True,
        )


def _without_webhook(workspaces: list[Any]) -> Iterable[Attention]:
    watched = set(WebhookMonitor.objects.values_list("workspace_id", flat=True))
    missing = [workspace for workspace in workspaces if workspace.pk not in watched]
    for workspace in missing[:NEWEST]:
        yield Attention(
            badge("No webhook", "danger"),
            "The platform does not know where to call: no event arrives",
            workspace.slug,
            link=address_of("webhook", workspace.pk),
            remedy=f"Configure it on its page, or manage.py configure_webhook {workspace.slug}",
            act="Configure",
            next_try="Not by itself",
            is_urgent=True,
        )


def _restored(workspaces: list[Any], now: datetime) -> Iterable[Attention]:
    """Yield a line for each restore if both sides do not agree yet."""
    together: dict[datetime, list[Any]] = {}
    for one in workspaces:
        if one.restored_at is not None and one.restored_at > now - RECENT:
            together.setdefault(one.restored_at, []).append(one)
    for at, found in sorted(together.items(), reverse=True)[:NEWEST]:
        standing = restored.standing([one.pk for one in found], at)
        if not standing.agrees:
            is_one = len(found) == 1
            yield Attention(
                badge("Restored", "warning"),
                f"A backup was restored; {standing.left}",
                found[0].slug if is_one else f"{len(found)} workspaces",
                moment(at, now),
                page_of(found[0]) if is_one else list_of("crm_sync.workspace"),
                remedy=DECIDE if standing.for_people else READING,
                next_try="By the workers" if standing.unread else "Not by itself",
            )
