"""Webhook management (§4.1) and its deprecated paths (§4.2)."""

from datetime import UTC, datetime

from sandbox.state import callbacks
from sandbox.state.platform import Platform
from sandbox.wire import Answer, Document, Refused, Request, bad, timestamp

DEPRECATED = ("/webhook", "/webhook/", "/webhook/enabled", "/webhook/history")
REMOVED_AT = datetime(2026, 9, 10, tzinfo=UTC)  # §9 rule 2


def read(platform: Platform, request: Request) -> Answer:
    """Read the webhook configuration (§4.1)."""
    return Answer(200, callbacks.shown(_configured(platform, switch="noWebhook")))


def put(platform: Platform, request: Request) -> Answer:
    """Create (201) or replace (200) the webhook (§4.1, A21). An omitted secret does not change."""
    stored = platform.workspace.webhook
    webhook = callbacks.configuration(request, stored, timestamp(platform.now()))
    platform.workspace.webhook = webhook
    platform.version += 1
    return Answer(200 if stored else 201, callbacks.shown(webhook))  # A21


def patch(platform: Platform, request: Request) -> Answer:
    """Enable or disable the webhook without removing it (§4.1)."""
    enabled = request.body.get("enabled")
    if not isinstance(enabled, bool):
        raise bad("enabled", "is required, true or false")
    return _enable(platform, enabled=enabled)


def delete(platform: Platform, request: Request) -> Answer:
    """Remove the webhook and its history, and stop deliveries (§4.1)."""
    _configured(platform)
    platform.workspace.webhook = None
    platform.workspace.history.clear()
    platform.workspace.pending.clear()
    platform.workspace.delayed.clear()
    platform.version += 1
    return Answer(204)


def triggers(platform: Platform, request: Request) -> Answer:
    """List the last ten deliveries, the newest first (§4.1). The order is our reading."""
    _configured(platform)
    return Answer(200, platform.workspace.history[::-1])


def legacy_enabled(platform: Platform, request: Request) -> Answer:
    """Enable or disable the webhook by a query parameter (§4.2, A24)."""
    flag = request.query.get("enabled")
    if flag not in ("true", "false"):
        raise bad("enabled", "is required, true or false")
    return _enable(platform, enabled=flag == "true")


def check_not_removed(platform: Platform, path: str) -> None:
    """Raise `Refused(410)` for a deprecated path after its removal, for every method."""
    if path in DEPRECATED and platform.now() >= REMOVED_AT:
        raise Refused(410, "this path was removed on 2026-09-10, use /v1/webhooks")


def _enable(platform: Platform, *, enabled: bool) -> Answer:
    webhook = _configured(platform)
    webhook["enabled"] = enabled
    webhook["updatedAt"] = timestamp(platform.now())
    platform.version += 1
    return Answer(200, callbacks.shown(webhook))  # A21


def _configured(platform: Platform, *, switch: str = "") -> Document:
    if platform.workspace.webhook is None:  # A20, A47
        raise Refused(404, "no webhook is configured", switch=switch)
    return platform.workspace.webhook
