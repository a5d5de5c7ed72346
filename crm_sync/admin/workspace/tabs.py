"""The tabs of a workspace. Each is a page with its own address."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from crm_sync import hooks
from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.hooks import WorkspaceTab
from crm_sync.models import Gap
from crm_sync.translated import Text


def address_of(tab: str, workspace_id: int) -> str:
    """Return the address of a tab: "change", "credentials", "webhook", "gaps" or "pause"."""
    return reverse(f"admin:crm_sync_workspace_{tab}", args=[workspace_id])


def tabs(admin: ModelAdmin, request: HttpRequest, workspace_id: int) -> dict[str, Any]:
    """Return for a template the tabs that this person may open, and which one is open."""
    unseen = Gap.objects.filter(workspace=workspace_id, acknowledged_at=None).count()
    titles = {"change": _("Settings"), "credentials": _("Credentials"), "webhook": _("Webhook")}
    titles["gaps"] = _("Gaps (%(count)s unseen)") % {"count": unseen} if unseen else _("Gaps")
    titles["pause"] = _("Pause")
    if not admin.has_change_permission(request):
        del titles["credentials"]
    shown: list[tuple[Text, str]] = [
        (title, address_of(tab, workspace_id)) for tab, title in titles.items()
    ]
    shown += [(one.title, address) for one, address in plugged_tabs(request, workspace_id)]
    return {"tabs": [(title, address, address == request.path) for title, address in shown]}


def plugged_tabs(request: HttpRequest, workspace_id: int) -> list[tuple[WorkspaceTab, str]]:
    """Return the tabs of the other apps that this person may open, each with its address."""
    return [
        (one, reverse(one.page, args=[workspace_id]))
        for one in hooks.plugged().workspace_tabs
        if request.user.has_perm(one.permission)
    ]


def opened(admin: ModelAdmin, request: HttpRequest, workspace_id: int) -> Any:
    """Return a workspace without secrets; raise 404 if it is not theirs, 403 without permission."""
    shown = admin.get_queryset(request).filter(pk=workspace_id).first()
    if shown is None:
        raise Http404
    if not admin.has_view_permission(request, shown):
        raise PermissionDenied
    return shown
