"""Filters that several lists share."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from crm_sync.admin.ui.base import DropdownFilter
from crm_sync.security.access import own_workspaces

OTHER = "other"


class ValueFilter(DropdownFilter):
    """Filter by a value of a column, or by all values that are not known.

    Attributes:
        column: the name of the column.
        known: the values that `OTHER` excludes.
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
    """Filter by one of a few conditions. An unknown value filters nothing.

    Attributes:
        conditions: value in the address → its name, and its condition.
    """

    conditions: Mapping[str, tuple[str, Q]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, name) for value, (name, _) in self.conditions.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        found = self.conditions.get(self.value() or "")
        return queryset.filter(found[1]) if found else queryset


class WorkspaceFilter(DropdownFilter):
    """Filter by workspace, for people who see several.

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
