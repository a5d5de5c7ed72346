"""Warnings on every page of the admin: no worker or no beat runs, and what is stopped (I34)."""

from typing import Any

from django import template
from django.template.context import Context
from django.utils import timezone

from crm_sync.observing import health, stops
from crm_sync.security.access import workspace_keys

register = template.Library()


@register.inclusion_tag("crm_sync/ui/processes.html", takes_context=True)
def processes(context: Context) -> dict[str, Any]:
    """Show a clear warning if no worker or no beat is alive, and each stop.

    Stops are those of the workspaces that this person sees. Three queries at most.
    """
    user = getattr(context.get("request"), "user", None)
    if user is None or not user.is_staff or context.get("is_popup"):
        return {}
    now = timezone.now()
    reports = context.get("reports") or health.reports(now)
    missing = [one for one in reports if one.remedy]
    keys = workspace_keys(user)
    found = stops.stops(keys, now) if keys != [] else []
    is_listed = context.get("attention_has_reports")  # the overview lists them as stalled
    return {
        "missing": [] if is_listed else missing,
        "stops": [one for one in found if one.is_held or not is_listed],
        "runs_it": user.has_perm("crm_sync.view_workspace"),
    }
