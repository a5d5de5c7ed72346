"""The webhook as the platform holds it, with its last attempts beside our inbox (§2.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from crm_sync.admin.received_event.states import state_badge
from crm_sync.admin.ui.cells import EMPTY, badge, exact_moment, link, moment, page_of
from crm_sync.inbox import store
from crm_sync.inbox.masking import masked_text
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform.errors import NotFoundError
from crm_sync.webhook import configuration, history
from crm_sync.webhook.history import Document, HistoryRecord

MOMENTS = ("createdAt", "updatedAt", "lastTriggeredAt")


@dataclass(frozen=True)
class PlatformWebhook:
    """The webhook on the platform, if it is configured, and its last attempts for the page."""

    # Name, value on the platform, and our value if it differs.
    fields: Sequence[tuple[str, object, str]]
    attempts: list[dict[str, Any]]
    is_configured: bool


def read_webhook(workspace: Workspace, *, deadline: float) -> PlatformWebhook:
    """Read the webhook and its last attempts from the platform. Raises SyncError.

    Args:
        deadline: seconds for each of the two calls.
    """
    client = workspace.client(deadline=deadline)
    try:
        document = client.get_webhook().document
        theirs = document if isinstance(document, dict) else {}
        tried = _attempts(workspace, client.get_triggers())
    except NotFoundError:  # A20
        return PlatformWebhook([], [], is_configured=False)
    differing = history.differences(theirs, configuration.expected(workspace))
    fields = [
        (
            name,
            exact_moment(history.moment(value), timezone.now())
            if name in MOMENTS
            else masked_text(history.words(value), workspace),
            differing.get(name, {}).get("ours", ""),
        )
        for name, value in theirs.items()
        if name != "authSecret"  # the platform never returns it (§5.2)
    ]
    return PlatformWebhook(fields, tried, is_configured=True)


def _attempts(workspace: Workspace, documents: Iterable[Document]) -> list[dict[str, Any]]:
    """Match the records of the trigger history with our received events, newest first."""
    records = [history.record(one) for one in documents]
    received = _received(workspace.pk, {one.digest for one in records if one.payload is not None})
    return [
        _attempt(one, None if one.payload is None else received.get(one.digest), workspace)
        for one in reversed(history.in_order(records))
    ]


def _attempt(
    one: HistoryRecord, received: ReceivedEvent | None, workspace: Workspace
) -> dict[str, Any]:
    """Return an attempt for the table of the page; what the platform recorded has no secret."""
    result = {True: badge(_("Arrived"), "good"), False: badge(_("Failed"), "danger")}
    ours: object = badge(_("Not in the inbox"), "warning")
    if received is not None:
        ours = link(page_of(received), _("Received event %(number)s") % {"number": received.pk})
    answer = one.failure if one.is_success is False else str(one.status or "")
    return {
        "at": moment(one.at, timezone.now()),
        "event": history.words((one.payload or {}).get("event")) or EMPTY,
        "order": history.words((one.payload or {}).get("orderId")),
        "result": badge(_("Unknown")) if one.is_success is None else result[one.is_success],
        "answer": masked_text(answer, workspace),
        "ours": ours,
        "state": state_badge(received) if received is not None else "",
    }


def _received(workspace_id: int, digests: set[str]) -> dict[str, ReceivedEvent]:
    mine = ReceivedEvent.objects.filter(workspace_id=workspace_id, replay_of=None)
    known = mine.filter(canonical_digest__in=digests).defer("body", "headers").order_by("-pk")
    found = {one.canonical_digest: one for one in known}  # the first one received wins
    if digests - found.keys():
        # A worker has not applied these yet, or could not parse or apply them.
        for one in mine.filter(canonical_digest="").order_by("-pk")[: store.UNDIGESTED]:
            found.setdefault(store.digest_of(bytes(one.body)), one)
    return found
