"""What several lists can be narrowed to."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from crm_sync.admin.ui.base import DropdownFilter
from crm_sync.security.access import own_workspaces

OTHER = "other"


class ValueFilter(DropdownFilter):
    """By the value of a column, or by none of those that are known.

    Attributes:
        column: which one.
        known: what `OTHER` leaves out, where it is offered.
    """

    column: str
    known: Collection[str] = ()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen == OTHER and self.known:
            return queryset.exclude(**{f"{self.column}__in": self.known})
        return queryset.filter(**{self.column: chosen})


class ConditionFilter(DropdownFilter):
    """By one of a few conditions; what is none of them narrows nothing.

    Attributes:
        conditions: value in the address → its name, and which rows it means.
    """

    conditions: Mapping[str, tuple[str, Q]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, name) for value, (name, _) in self.conditions.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        found = self.conditions.get(self.value() or "")
        return queryset.filter(found[1]) if found else queryset


class WorkspaceFilter(DropdownFilter):
    """By workspace, for who sees several.

    Only slugs are loaded: Django's own filter would load the secrets (S5).
    """

    title = "workspace"
    parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        slugs = [one.slug for one in own_workspaces(request.user)]
        return [(slug, slug) for slug in slugs] if len(slugs) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        slug = self.value()
        return queryset.filter(workspace__slug=slug) if slug else queryset
