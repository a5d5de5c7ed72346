"""Filters that several lists share."""

from collections.abc import Collection, Iterator, Mapping
from math import isfinite
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _, pgettext_lazy
from unfold.contrib.filters.forms import SearchForm

from crm_sync.admin.ui.base import DropdownFilter, RangeNumericListFilter, TextFilter
from crm_sync.security.access import own_workspaces
from crm_sync.translated import Text

OTHER = "other"
MANY = 50  # workspaces; more are not a list to choose from
# The ends of a range: its hint, and what a reader of the page hears.
ENDS: dict[str, tuple[Text, Text]] = {
    "from": (pgettext_lazy("range", "From"), _("%(title)s from")),
    "to": (pgettext_lazy("range", "To"), _("%(title)s to")),
}


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

    conditions: Mapping[str, tuple[Text, Q]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, str(name)) for value, (name, __) in self.conditions.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        found = self.conditions.get(self.value() or "")
        return queryset.filter(found[1]) if found else queryset


class RangeFilter(RangeNumericListFilter):
    """Filter by the number in a column, from and to, both included. What is no number is ignored.

    `parameter_name` is the column; the address has it with `_from` and `_to`.
    """

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        for end, lookup in (("from", "gte"), ("to", "lte")):
            number = _number(self.used_parameters.get(f"{self.parameter_name}_{end}"))
            if number is not None:
                queryset = queryset.filter(**{f"{self.parameter_name}__{lookup}": number})
        return queryset

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Yield the form of unfold, and name its two inputs: they have no label."""
        shown: Iterator[Any] = super().choices(changelist)
        for choice in shown:
            for name, field in choice["form"].fields.items():
                hint, spoken = ENDS[name.rpartition("_")[2]]
                field.widget.attrs |= {"placeholder": hint, "step": "any"}
                field.widget.attrs |= {"aria-label": spoken % {"title": self.title}}
            yield choice


def _number(text: object) -> float | None:
    try:
        number = float(str(text))
    except ValueError:
        return None
    return number if isfinite(number) else None


class WorkspaceFilter(DropdownFilter):
    """Filter by workspace, for people who see several. Who sees many types the beginning of one.

    Only slugs are loaded: Django's own filter would load the secrets (S5).
    """

    title = _("workspace")
    parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        slugs = [one.slug for one in own_workspaces(request.user)[: MANY + 1]]
        return [(slug, slug) for slug in slugs] if len(slugs) > 1 else []

    def choices(self, changelist: Any) -> Iterator[Any]:
        if not self._is_typed:
            return super().choices(changelist)
        self.form_class = SearchForm  # a page with a thousand choices is slow
        return TextFilter.choices(self, changelist)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        slug = self.value()
        if not slug:
            return queryset
        if self._is_typed:
            slugs = own_workspaces(request.user).filter(slug__istartswith=slug)
            keys = {one.slug: one.pk for one in slugs}
            return queryset.filter(workspace__in=[keys[slug]] if slug in keys else keys.values())
        return queryset.filter(workspace__slug=slug)

    @property
    def _is_typed(self) -> bool:
        return len(self.lookup_choices) > MANY
