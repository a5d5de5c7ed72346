"""What the list of orders can be narrowed to."""

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from crm_sync.admin.ui.base import DropdownFilter
from orders.models import Assignment, MaterialSet, Order
from orders.statuses import ORDER_TERMINAL, AssignmentStatus, OrderStatus

OTHER = "other"


class StatusFilter(DropdownFilter):
    """By status; the column has no choices, since an unknown status is stored as it came (A28)."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        known = [(value, str(name)) for value, name in OrderStatus.choices]
        return [*known, (OTHER, "Any other")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen == OTHER:
            return queryset.exclude(status__in=OrderStatus.values)
        return queryset.filter(status=chosen)


class WhatFilter(DropdownFilter):
    """By what a person looks for."""

    title = "what"
    parameter_name = "what"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("open", "Open"),
            ("action", "Action required"),
            ("problem", "With a problem"),
            ("delivered", "With materials"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        mine = Assignment.objects.filter(order=OuterRef("pk"))
        sets = MaterialSet.objects.filter(order=OuterRef("pk")).exclude(fetched_at=None)
        match self.value():
            case "open":
                return queryset.exclude(status__in=ORDER_TERMINAL)
            case "action":
                waiting = mine.filter(status=AssignmentStatus.ACTION_REQUIRED)
                return queryset.filter(Exists(waiting)).exclude(status__in=ORDER_TERMINAL)
            case "problem":
                return queryset.exclude(problem="")
            case "delivered":
                return queryset.filter(Exists(sets))
        return queryset
