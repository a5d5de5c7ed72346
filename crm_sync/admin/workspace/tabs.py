"""The tabs of a workspace. Each is a page with its own address."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.urls import reverse

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.hooks import plugged
from crm_sync.models import Gap


def address_of(tab: str, workspace_id: int) -> str:
    """Return the address of a tab: "change", "webhook", "pause", or that of an app."""
    return reverse(f"admin:crm_sync_workspace_{tab}", args=[workspace_id])


def tabs(admin: ModelAdmin, request: HttpRequest, workspace_id: int) -> dict[str, Any]:
    """Return for a template the tabs that this person may open, and which one is open."""
    unseen = Gap.objects.filter(workspace=workspace_id, acknowledged_at=None).count()
    titles = {"change": "Settings", "credentials": "Credentials", "webhook": "Webhook"}
    titles["gaps"] = f"Gaps ({unseen} unseen)" if unseen else "Gaps"
    titles |= {one.slug: one.title for one in plugged().workspace_tabs}
    titles["pause"] = "Pause"
    if not admin.has_change_permission(request):
        del titles["credentials"]
    shown = [(title, address_of(tab, workspace_id)) for tab, title in titles.items()]
    return {"tabs": [(title, address, address == request.path) for title, address in shown]}


def opened(admin: ModelAdmin, request: HttpRequest, workspace_id: int) -> Any:
    """Return a workspace without secrets; raise 404 if it is not theirs, 403 without permission."""
    shown = admin.get_queryset(request).filter(pk=workspace_id).first()
    if shown is None:
        raise Http404
    if not admin.has_view_permission(request, shown):
        raise PermissionDenied
    return shown
