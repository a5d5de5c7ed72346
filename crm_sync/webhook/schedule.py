"""When the webhook and its history are polled. The module `poll` polls them.

A poll runs every 15 seconds while something changes, else every 60. It runs at once after every
fifth callback, when a worker starts, after a failure of ours, and after we have set the webhook
(I19).
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from crm_sync import hooks
from crm_sync.models import ReceivedEvent, WebhookMonitor
from crm_sync.work.doorbell import doorbell

QUEUE = "webhooks"
RECEIPTS = 5  # callbacks that cause a poll at once
# The history has ten attempts (§8): so we can see 40 a minute. Without events, there is one call a
# minute.
SOONEST, LATEST = timedelta(seconds=15), timedelta(seconds=60)
RECENT = timedelta(minutes=10)  # how long an event counts as a change


def begin(workspace_id: int, *, now: datetime) -> None:
    """Poll the webhook from now on, the first time at once."""
    first = {"due_at": now, "asked_at": now}
    WebhookMonitor.objects.get_or_create(workspace_id=workspace_id, defaults=first)
    ask(WebhookMonitor.objects.filter(workspace_id=workspace_id), now=now)


def ask(monitors: QuerySet[WebhookMonitor], *, now: datetime) -> int:
    """Make the configuration and the whole history due for a read, and ring.

    Returns:
        the number of webhooks.
    """
    workspaces = list(monitors.values_list("workspace_id", flat=True))
    for workspace_id in workspaces:
        WebhookMonitor.objects.filter(workspace_id=workspace_id).update(due_at=now, asked_at=now)
        doorbell.ring(QUEUE, workspace_id)
    return len(workspaces)


def poll_soon(workspace_id: int, *, now: datetime) -> None:
    """Poll within 15 seconds, because something changes in this workspace."""
    late = WebhookMonitor.objects.filter(workspace_id=workspace_id, due_at__gt=now + SOONEST)
    if late.exists():  # an UPDATE locks SQLite even if it changes no row
        late.update(due_at=now + SOONEST)


def missed(callback_ids: Collection[UUID], now: datetime) -> None:
    """Poll at once, because a callback could not be stored."""
    ask(WebhookMonitor.objects.filter(workspace__uuid__in=callback_ids), now=now)


def received(workspace_id: int, now: datetime) -> None:
    """Poll at once if five callbacks arrived since the last poll, else soon."""
    monitor = WebhookMonitor.objects.filter(workspace_id=workspace_id).first()
    if monitor is None or monitor.is_certain:
        return
    came = ReceivedEvent.objects.filter(
        workspace_id=workspace_id, source=ReceivedEvent.Source.CALLBACK
    )
    since = Q() if monitor.polled_at is None else Q(received_at__gt=monitor.polled_at)
    if came.filter(since).order_by()[:RECEIPTS].count() == RECEIPTS:
        ask(WebhookMonitor.objects.filter(pk=monitor.pk), now=now)
    else:
        poll_soon(workspace_id, now=now)


def pause(workspace_id: int, *, now: datetime) -> timedelta:
    """Return how long to wait until the next poll."""
    since = now - RECENT
    came = ReceivedEvent.objects.filter(workspace_id=workspace_id, received_at__gt=since)
    is_moving = came.exists() or any(
        has_moved(workspace_id, since) for has_moved in hooks.plugged().activity
    )
    return SOONEST if is_moving else LATEST
