"""What is stalled on our side, for the overview: processes, queues, webhooks, restored backups."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _, gettext_lazy, ngettext

from crm_sync import hooks
from crm_sync.admin.ui.cells import badge, list_of, moment, page_of
from crm_sync.admin.workspace.tabs import address_of
from crm_sync.hooks import NEWEST, Attention
from crm_sync.installed import command
from crm_sync.integrity import restored
from crm_sync.models import WebhookMonitor
from crm_sync.observing import health
from crm_sync.observing.health import LATE, HealthReport
from crm_sync.translated import number
from crm_sync.work import heartbeat
from crm_sync.work.heartbeat import Kind

RECENT = timedelta(days=14)  # rows that wait longer after a restore have other causes
READING = gettext_lazy("Wait: workers read before they send. %(command)s says what is left")
DECIDE = gettext_lazy(
    "Decide what waits for a person: the tiles below lead to it."
    " %(command)s says when both sides agree"
)


def lines(workspaces: list[Any], reports: list[HealthReport], now: datetime) -> list[Attention]:
    """Return what is stalled, each cause before its effects.

    Args:
        workspaces: the workspaces of the viewer, without their secrets.
    """
    return [
        *_full_disk(),
        *_missing(reports),
        *_died(reports, now),
        *_stalled(workspaces, reports, now),
        *_without_webhook(workspaces),
        *_restored(workspaces, now),
    ]


def _full_disk() -> Iterable[Attention]:
    """Yield a line if workers and beat may run and cannot write that they are alive."""
    try:
        if health.free_space() >= health.LEAST_FREE:
            return
        state, remedy = badge(_("Disk full"), "danger"), _("Make room; start no more workers")
        why = _("The disk of DATA_DIR is full. Workers and beat may run, but cannot say so")
    except OSError as error:
        state, remedy = badge(_("No disk"), "danger"), _("Mount it, or correct DATA_DIR")
        why = _("DATA_DIR cannot be read: %(error)s") % {"error": error}
    yield Attention(state, why, remedy=remedy, next_try=_("When that is done"), is_urgent=True)


def _missing(reports: list[HealthReport]) -> Iterable[Attention]:
    for one in reports:
        if one.remedy:
            yield Attention(
                badge(_("Not running"), one.tone),
                f"{one.text}. {one.effect}",
                remedy=one.remedy,
                next_try=_("When it runs"),
                is_urgent=True,
            )


def _died(reports: list[HealthReport], now: datetime) -> Iterable[Attention]:
    """Yield the processes that died while others of their kind still run."""
    going_on = {one.kind for one in reports if not one.remedy}
    for one in [one for one in heartbeat.died(now) if one.kind in going_on][:NEWEST]:
        yield Attention(
            badge(_("Died"), "warning"),
            _("%(kind)s %(name)s sends no heartbeat and did not end properly")
            % {"kind": one.get_kind_display(), "name": one.name},
            since=moment(one.seen_at, now),
            remedy=_(
                "Look at its log and start it again; others take its rows within half a minute"
            ),
            next_try=_("By the others"),
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
            badge(_("Stalled"), "danger"),
            _("No worker has taken what is due in %(queue)s for %(seconds)s s or longer")
            % {"queue": hooks.queue(queue).title, "seconds": int(LATE.total_seconds())},
            _where([slugs[one] for one in found]),
            remedy=_("Start one more worker, or look at the log of the one that runs")
            if is_worker_there
            else _("Start a worker"),
            next_try=_("When a worker is free"),
            is_urgent=True,
        )


def _without_webhook(workspaces: list[Any]) -> Iterable[Attention]:
    watched = set(WebhookMonitor.objects.values_list("workspace_id", flat=True))
    missing = [workspace for workspace in workspaces if workspace.pk not in watched]
    for workspace in missing[:NEWEST]:
        yield Attention(
            badge(_("No webhook"), "danger"),
            _("The platform does not know where to call: no event arrives"),
            workspace.slug,
            link=address_of("webhook", workspace.pk),
            remedy=_("Configure it on its page, or %(command)s")
            % {"command": command(f"configure_webhook {workspace.slug}")},
            act=_("Configure"),
            next_try=_("Not by itself"),
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
                badge(_("Restored"), "warning"),
                _("A backup was restored; %(left)s") % {"left": standing.left},
                _where([one.slug for one in found]),
                moment(at, now),
                page_of(found[0]) if is_one else list_of("crm_sync.workspace"),
                remedy=str(DECIDE if standing.for_people else READING)
                % {"command": command("restored --status")},
                next_try=_("By the workers") if standing.unread else _("Not by itself"),
            )


def _where(slugs: list[str]) -> str:
    """Return the workspace, or how many they are."""
    if len(slugs) == 1:
        return slugs[0]
    text = ngettext("%(count)s workspace", "%(count)s workspaces", len(slugs))
    return text % {"count": number(len(slugs))}
