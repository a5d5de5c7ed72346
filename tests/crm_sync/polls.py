"""What the tests of the second channel share: polls at a given moment, and what they called."""

from datetime import UTC, datetime, timedelta

import time_machine

from crm_sync import hooks
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent, WebhookMonitor, Workspace
from crm_sync.webhook import poll
from crm_sync.work import leases, turn
from sandbox.app import Sandbox

CONFIGURATION = ("GET", "/v1/webhooks")
HISTORY = ("GET", "/v1/webhooks/triggers")


def now_utc() -> datetime:
    return datetime.now(UTC)


def monitor_of(workspace: Workspace) -> WebhookMonitor:
    return WebhookMonitor.objects.get(workspace=workspace)


def poll_now(workspace: Workspace, *, at: datetime | None = None) -> str:
    """Poll now, or at that moment of our clock, due or not; return the outcome."""
    moment = at or now_utc()
    WebhookMonitor.objects.filter(workspace=workspace).update(due_at=moment)
    with time_machine.travel(moment, tick=False):
        claim = leases.claim(WebhookMonitor.objects.filter(workspace=workspace), now=moment)
        assert claim is not None
        return poll.poll(claim, now=moment)


def drained(workspace: Workspace, after: timedelta) -> dict[str, int]:
    """Drain the queue so long after the last poll, as a worker would then."""
    last = monitor_of(workspace).polled_at
    assert last is not None
    with time_machine.travel(last + after, tick=False):
        return turn.take(hooks.queue("webhooks"), workspace.pk, seconds=20.0).counts


def apply(workspace: Workspace) -> dict[str, int]:
    """Let the worker understand and apply what was received."""
    return turn.take(store.RECEIVED_EVENTS, workspace.pk, seconds=20.0).counts


def calls(box: Sandbox) -> list[tuple[str, str]]:
    """What was called since the last time this was asked."""
    made = [(method, path) for method, path, _, _ in box.calls]
    box.calls.clear()
    return made


def happen(box: Sandbox, count: int = 1, fault: str = "") -> None:
    """Let so many events happen on the platform, and be delivered or not, by the fault."""
    box.faults.set({"rules": [{"fault": fault}]} if fault else {})
    for _ in range(count):
        box.marketing_ready("201", "INSTAGRAM")
        box.deliver()
    box.faults.set({})


def sources() -> list[str]:
    """How each received event came, in the order in which they came."""
    return list(ReceivedEvent.objects.order_by("pk").values_list("source", flat=True))


def states() -> list[str]:
    return list(ReceivedEvent.objects.order_by("pk").values_list("state", flat=True))
