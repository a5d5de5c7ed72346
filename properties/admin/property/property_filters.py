"""The filters of the list of properties."""

from collections import Counter
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from crm_sync.admin.ui.base import DropdownFilter
from crm_sync.admin.ui.filters import ConditionFilter, ValueFilter
from crm_sync.security.access import within
from properties.catalog import FIELDS, label
from properties.forms.input_values import choice_name
from properties.models import Property
from properties.models.property import OUT_OF_STEP, ProblemKind, SyncState

MOST_ROWS = 2_000  # rows with a problem whose fields are offered


class StateFilter(ConditionFilter):
    """Filters by the state that the list shows; it is derived, so this uses the annotation."""

    title = "state"
    parameter_name = "state"
    conditions = {value: (str(name), Q(sync_state=value)) for value, name in SyncState.choices}


class ProblemFilter(DropdownFilter):
    """Filters by the field that waits for a person; only fields with a problem are offered."""

    title = "field with a problem"
    parameter_name = "problem"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        # Along the index of the few rows, before any index of the workspace.
        few = Property.objects.filter(OUT_OF_STEP).exclude(problem={}).values("pk")
        mine = within(request.user, Property.objects.filter(pk__in=few))
        some = mine.order_by("-pk").values_list("problem", flat=True)
        counts = Counter(
            path
            for problem in some[:MOST_ROWS]
            for path in {path for fields in problem.values() for path in fields} - {""}
        )
        return [(path, f"{label(path)} ({counts[path]})") for path in sorted(counts, key=label)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Narrow the list to properties with any problem at that field."""
        value = self.value()
        if not value:
            return queryset
        found = Q()
        for kind in ProblemKind:
            found |= Q(**{f"problem__{kind.value}__has_key": value})
        return queryset.filter(found)


class TypeFilter(ValueFilter):
    """Filters by the property type, with the values of the catalog and a generated column."""

    title = "type"
    parameter_name = "type"
    column = "property_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, choice_name(value)) for value in FIELDS["propertyType"].enum]
