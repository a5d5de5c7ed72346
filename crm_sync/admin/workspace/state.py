"""The state of a workspace for its list and pages, read without a secret (S5)."""

from datetime import datetime
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils.translation import gettext as _

from crm_sync.installed import command
from crm_sync.models import WebhookMonitor, Workspace
from crm_sync.webhook.configuration import GONE

# What connects the first workspace on the server.
CONNECTING = (
    command("add_workspace main --base-url https://… --token-env PLATFORM_TOKEN"),
    command("configure_webhook main"),
)


def without_secrets(workspaces: QuerySet[Workspace]) -> QuerySet[Workspace]:
    """Load no secrets (S5). The annotations `has_…` show which ones exist.

    The empty string is stored unencrypted, so no key is needed.
    """
    flags = {
        f"has_{name}": ExpressionWrapper(~Q(**{name: ""}), output_field=BooleanField())
        for name in Workspace.SECRETS
    }
    return workspaces.defer(*Workspace.SECRETS).annotate(**flags)


def connection(workspace: Any, now: datetime) -> tuple[str, str]:
    """Return the state of a connection in words, and its tone."""
    if not workspace.has_fixed_token and not workspace.has_client_secret:
        return _("No credentials"), "danger"
    if workspace.is_paused(now):
        return _("Paused"), "warning"
    if workspace.problem:
        return _("Problem"), "danger"
    return _("Connected"), "good"


def webhook_state(monitor: WebhookMonitor | None) -> tuple[str, str]:
    """Return in words whether the webhook is as we set it, and the tone."""
    if monitor is None:
        return _("Not set from here"), "warning"
    if GONE in monitor.drift:
        return _("Not configured"), "danger"
    if monitor.drift:
        return _("Changed"), "danger"
    if monitor.problem:
        return _("Cannot be read"), "warning"
    return (_("As we set it"), "good") if monitor.polled_at else (_("Not polled yet"), "info")
