"""The state of workers and beat on every page of the admin."""

from typing import Any

from django import template
from django.template.context import Context
from django.utils import timezone

from crm_sync.observing import health

register = template.Library()


@register.inclusion_tag("crm_sync/ui/processes.html", takes_context=True)
def processes(context: Context) -> dict[str, Any]:
    """Show when they were last seen, or a clear warning if none is alive. One query at most."""
    user = getattr(context.get("request"), "user", None)
    if user is None or not user.is_staff or context.get("is_popup"):
        return {}
    reports = context.get("reports") or health.reports(timezone.now())
    missing = [one for one in reports if one.remedy]
    is_listed = context.get("attention_has_reports")  # the overview lists them as stalled
    return {
        "alive": [one for one in reports if not one.remedy],
        "missing": [] if is_listed else missing,
        "runs_it": user.has_perm("crm_sync.view_workspace"),
    }
