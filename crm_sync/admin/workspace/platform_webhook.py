"""The webhook as the platform holds it, with its last attempts, for the page of the webhook."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crm_sync.admin.received_event.states import state_badge
from crm_sync.admin.ui.cells import EMPTY, badge, exact_moment, link, moment, page_of
from crm_sync.inbox.masking import masked_text
from crm_sync.models import Workspace
from crm_sync.platform.errors import NotFoundError
from crm_sync.webhook import configuration, history
from crm_sync.webhook.attempts import Attempt, attempts

MOMENTS = ("createdAt", "updatedAt", "lastTriggeredAt")


@dataclass(frozen=True)
class PlatformWebhook:
    """The webhook on the platform, if it is configured, and its last attempts."""

    # Name, value on the platform, and our value if it differs.
    fields: Sequence[tuple[str, object, str]]
    attempts: list[Attempt]
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
        tried = attempts(workspace, client.get_triggers())
    except NotFoundError:  # A20
        return PlatformWebhook([], [], is_configured=False)
    differing = history.differences(theirs, configuration.expected(workspace))
    fields = [
        (
            name,
            _moment(value) if name in MOMENTS else masked_text(history.words(value), workspace),
            differing.get(name, {}).get("ours", ""),
        )
        for name, value in theirs.items()
        if name != "authSecret"  # the platform never returns it (§5.2)
    ]
    return PlatformWebhook(fields, tried, is_configured=True)


def _moment(value: object) -> SafeString | str:
    return exact_moment(history.moment(value), timezone.now())


def attempt_row(one: Attempt, now: datetime) -> dict[str, Any]:
    """Return an attempt of the platform for the table of the page."""
    result = {True: badge(_("Arrived"), "good"), False: badge(_("Failed"), "danger")}
    ours: object = badge(_("Not in the inbox"), "warning")
    if one.ours is not None:
        ours = link(page_of(one.ours), _("Received event %(number)s") % {"number": one.ours.pk})
    return {
        "at": moment(one.at, now),
        "event": one.event or EMPTY,
        "order": one.order,
        "result": badge(_("Unknown")) if one.is_success is None else result[one.is_success],
        "answer": one.answer,
        "ours": ours,
        "state": state_badge(one.ours) if one.ours is not None else "",
    }
