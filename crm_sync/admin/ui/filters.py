"""What several lists can be narrowed to."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from crm_sync.access import within
from crm_sync.admin.ui.base import DropdownFilter
from crm_sync.models import Workspace


class WorkspaceFilter(DropdownFilter):
    """By workspace, for who sees several.

    Only slugs are loaded: Django's own filter would load the secrets (S5).
    """

    title = "workspace"
    parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        mine = within(request.user, Workspace.objects.all(), "pk")
        slugs = list(mine.order_by("slug").values_list("slug", flat=True))
        return [(slug, slug) for slug in slugs] if len(slugs) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        slug = self.value()
        return queryset.filter(workspace__slug=slug) if slug else queryset
