"""What every page of the admin says about workers and beat."""

from typing import Any

from django import template
from django.template.context import Context
from django.utils import timezone

from crm_sync.observing import health

register = template.Library()


@register.inclusion_tag("crm_sync/ui/processes.html", takes_context=True)
def processes(context: Context) -> dict[str, Any]:
    """Say quietly when they were last seen, loudly that none is alive; one query at most."""
    user = getattr(context.get("request"), "user", None)
    if user is None or not user.is_staff or context.get("is_popup"):
        return {}
    reports = context.get("reports") or health.reports(timezone.now())
    missing = [one for one in reports if one.remedy]
    is_listed = context.get("attention_has_reports")  # the overview lists them as what is stalled
    return {
        "alive": [one for one in reports if not one.remedy],
        "missing": [] if is_listed else missing,
        "runs_it": user.has_perm("crm_sync.view_workspace"),
    }
