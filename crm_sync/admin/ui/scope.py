"""Lists and pages of rows that belong to workspaces: of those of whoever looks (S12, S17)."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse

from crm_sync.access import whom_to_ask, within, workspace_keys
from crm_sync.admin.ui.base import ModelAdmin


class ScopedAdmin(ModelAdmin):
    """Shows rows of the person's workspaces; any other row is as one that is not there.

    Attributes:
        workspace_path: from a row to its workspace; None where rows belong to none.
    """

    change_list_template = "crm_sync/list.html"
    workspace_path: str | None = "workspace"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Narrow the rows for the list, its actions and searches, and for each page."""
        return self.narrowed(request, super().get_queryset(request))

    def narrowed(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Leave out the rows of other workspaces."""
        path = self.workspace_path
        return rows if path is None else within(request.user, rows, path)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Say to whom no workspace was given whom to ask for one."""
        is_scoped = self.workspace_path is not None
        context = (extra_context or {}) | (without_workspace(request) if is_scoped else {})
        response: HttpResponse = super().changelist_view(request, context)
        return response

    def _get_obj_does_not_exist_redirect(self, *_: Any) -> HttpResponse:
        """Answer 404: Django leads to the overview, with a message that repeats the address."""
        raise Http404


def without_workspace(request: HttpRequest) -> dict[str, Any]:
    """Return for a template whom to ask, as long as this person is in no workspace."""
    if workspace_keys(request.user) != []:
        return {"is_outside": False}
    return {"is_outside": True, "whom_to_ask": whom_to_ask()}
