"""What the inbox can be narrowed to: each filter runs along an index."""

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from crm_sync.admin.ui.base import DropdownFilter
from crm_sync.admin.ui.filters import OTHER, ValueFilter
from crm_sync.inbox.failure_groups import worded
from crm_sync.inbox.store import STUCK
from crm_sync.models import ReceivedEvent
from crm_sync.platform.events import REQUIRED
from crm_sync.security.access import within

MOST_CAUSES = 50
BETWEEN = ":"


class EventFilter(ValueFilter):
    """The events of §6.3 by name: asking the database which there are would read all of it."""

    title = "event"
    parameter_name = column = "kind"
    known = REQUIRED

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer the events that we know, and the rest."""
        return [(kind, kind) for kind in sorted(REQUIRED)] + [(OTHER, "Not known")]


class AgeFilter(DropdownFilter):
    """By when it was received."""

    title = "received"
    parameter_name = "age"
    since = {
        "hour": ("In the last hour", timedelta(hours=1)),
        "day": ("In the last day", timedelta(days=1)),
        "week": ("In the last 7 days", timedelta(days=7)),
        "month": ("In the last 30 days", timedelta(days=30)),
    }
    OLDER = "older"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer the spans, and what is older than the longest."""
        spans = [(name, text) for name, (text, _) in self.since.items()]
        return [*spans, (self.OLDER, "Longer ago")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen, now = self.value() or "", timezone.now()
        if chosen == self.OLDER:
            return queryset.filter(received_at__lt=now - self.since["month"][1])
        if chosen in self.since:
            return queryset.filter(received_at__gte=now - self.since[chosen][1])
        return queryset


def choice(kind: str, about: str) -> str:
    """Return the parameter of the filter by cause."""
    return f"{kind}{BETWEEN}{about}"


class CauseFilter(DropdownFilter):
    """By why it is stuck; offered only while something is."""

    title = "cause"
    parameter_name = "cause"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer the causes of what is stuck now."""
        every = ReceivedEvent.objects.filter(state__in=STUCK).exclude(problem_kind="")
        stuck = within(request.user, every).order_by("problem_kind", "cause")
        causes = stuck.values_list("problem_kind", "cause").distinct()
        return [(choice(*one), worded(*one)) for one in causes[:MOST_CAUSES]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if not chosen:
            return queryset
        kind, _, about = chosen.partition(BETWEEN)
        return queryset.filter(state__in=STUCK, problem_kind=kind, cause=about)
