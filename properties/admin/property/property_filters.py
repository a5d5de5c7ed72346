"""The filters of the list of properties."""

from collections import Counter
from typing import Any, cast

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from crm_sync import hooks
from crm_sync.admin.ui.base import DropdownFilter, TextFilter
from crm_sync.admin.ui.filters import ConditionFilter, RangeFilter, ValueFilter
from crm_sync.security.access import within
from properties.catalog import FIELDS, choice_name, label
from properties.models import Property
from properties.models.property import OUT_OF_STEP, ProblemKind, SyncState
from properties.search_text import folded

MOST_ROWS = 2_000  # rows with a problem whose fields are offered


class StateFilter(ConditionFilter):
    """Filters by the state that the list shows; it is derived, so this uses the annotation."""

    title = _("state")
    parameter_name = "state"
    conditions = {one.value: (one.label, Q(sync_state=one.value)) for one in SyncState}


class ProblemFilter(DropdownFilter):
    """Filters by the field that waits for a person; only fields with a problem are offered."""

    title = _("field with a problem")
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

    title = _("type")
    parameter_name = "type"
    column = "property_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, choice_name(value)) for value in FIELDS["propertyType"].enum]


class OfferFilter(ValueFilter):
    """Filters by rent or buy."""

    title = _("rent or buy")
    parameter_name = "offer"
    column = "offer_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, choice_name(value)) for value in FIELDS["offerType"].enum]


class PriceFilter(RangeFilter):
    """Filters by the number of the price that the list shows, whatever its currency and period."""

    title = _("price")
    parameter_name = "asking_price"


class RoomsFilter(RangeFilter):
    """Filters by the number of rooms."""

    title = _("rooms")
    parameter_name = "number_of_rooms"


class LocalityFilter(TextFilter):
    """Filters by the beginning of the locality, as a search reads it: "zuri" finds "Zürich".

    Commas separate several. The localities that there are come from an index; a database compares
    only whole ones, so that both find the same.
    """

    title = _("locality")
    parameter_name = "locality"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted = tuple(filter(None, map(folded, (self.value() or "").split(","))))
        if not wanted:
            return queryset
        known = within(request.user, Property.objects.exclude(locality=None))
        names = known.order_by().values_list("locality", flat=True).distinct()
        found = [name for name in names if folded(name).startswith(wanted)]
        return queryset.filter(locality__in=found)


def other_filters(person: hooks.Person) -> list[type[ConditionFilter]]:
    """Return the filters of the other apps that this person may use (S17)."""
    offered = hooks.plugged().property_filters
    allowed = [one for one in offered if cast("Any", person).has_perm(one.permission)]
    return [_filter_of(one) for one in allowed]


def _filter_of(offered: hooks.PropertyFilter) -> type[ConditionFilter]:
    class OtherFilter(ConditionFilter):
        title = offered.title
        parameter_name = offered.parameter
        conditions = offered.conditions

    return OtherFilter
