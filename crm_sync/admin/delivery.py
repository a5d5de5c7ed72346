"""The inbox: what was received, what it did, and how to try it again (screen 6)."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString

from crm_sync import inbox
from crm_sync.admin.payload import readable
from crm_sync.admin_base import (
    ChoicesDropdownFilter,
    DropdownFilter,
    action,
    display,
)
from crm_sync.admin_cells import (
    EMPTY,
    badge,
    exact_moment,
    moment,
    shortened,
    span,
    two_lines,
    unbroken,
)
from crm_sync.admin_filters import WorkspaceFilter
from crm_sync.admin_readonly import Empty, ReadOnlyAdmin
from crm_sync.events import REQUIRED
from crm_sync.models import Delivery

State = Delivery.State
TONES = {
    State.RECEIVED: "info",
    State.APPLIED: "good",
    State.DUPLICATE: "muted",
    State.STALE: "muted",
    State.IGNORED: "muted",
    State.QUARANTINED: "warning",
    State.FAILED: "danger",
}
OTHER = "other"


def state_badge(delivery: Delivery) -> SafeString:
    """Show where a delivery stands."""
    return badge(delivery.get_state_display(), TONES.get(State(delivery.state), "muted"))


def lag(delivery: Delivery) -> timedelta | None:
    """Give the time from receiving to applying."""
    if delivery.applied_at is None:
        return None
    return max(delivery.applied_at - delivery.received_at, timedelta(0))


class EventFilter(DropdownFilter):
    """The events of §6.3 by name: asking the database which there are would read all of it."""

    title = "event"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer the events that we know, and the rest."""
        return [(kind, kind) for kind in sorted(REQUIRED)] + [(OTHER, "Not known")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Keep the deliveries of the chosen event."""
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen == OTHER:
            return queryset.exclude(kind__in=REQUIRED)
        return queryset.filter(kind=chosen)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """Every callback as it came; only the worker writes."""

    empty = Empty(
        "No callback has arrived yet",
        "Callbacks are stored here as they come, before anything is understood. The platform sends"
        " them once its webhook is configured:",
        ("manage.py configure_webhook main",),
    )
    change_form_template = "crm_sync/delivery.html"
    list_display = ("event", "state_shown", "order", "received", "took", "did")
    list_filter = (
        ("state", ChoicesDropdownFilter),
        EventFilter,
        ("source", ChoicesDropdownFilter),
        WorkspaceFilter,
    )
    search_fields = ("order_platform_id", "effect")
    search_help_text = "Order id, or what it did"
    ordering = ("-pk",)  # as they came; along the key, which needs no sorting among millions
    list_per_page = 50
    show_full_result_count = False
    actions = ("apply_again", "set_aside")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        """Leave the raw bytes in the database until a page shows them, and secrets for ever."""
        deliveries: QuerySet[Delivery] = super().get_queryset(request).defer("body", "headers")
        return deliveries.annotate(workspace_slug=F("workspace__slug"))

    @display(description="event", ordering="kind")
    def event(self, delivery: Any) -> SafeString:
        """Show the event and the workspace that it came for."""
        return two_lines(delivery.kind or "Callback", delivery.workspace_slug)

    @display(description="state", ordering="state")
    def state_shown(self, delivery: Delivery) -> SafeString:
        """Show where it stands."""
        return state_badge(delivery)

    @display(description="order", ordering="order_platform_id")
    def order(self, delivery: Delivery) -> SafeString | str:
        """Show the order's id."""
        return shortened(delivery.order_platform_id, 24)

    @display(description="received, by", ordering="received_at")
    def received(self, delivery: Delivery) -> SafeString:
        """Show when it came, how, and how often the same bytes came again."""
        again = f" +{delivery.repeats}" if delivery.repeats else ""
        source = unbroken(delivery.get_source_display() + again)
        return two_lines(moment(delivery.received_at, timezone.now()), source)

    @display(description="lag")
    def took(self, delivery: Delivery) -> SafeString:
        """Show how long it waited for the worker."""
        length = lag(delivery)
        return unbroken(EMPTY if length is None else span(length))

    @display(description="what it did")
    def did(self, delivery: Delivery) -> SafeString | str:
        """Show its effect, or why it had none."""
        return shortened(delivery.effect, 80)

    @action(description="Apply again", permissions=["act"])
    def apply_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """Give failed and not understood deliveries to the worker once more (POST only)."""
        stuck = queryset.filter(state__in=inbox.STUCK)
        # Before they change: afterwards none of them is stuck any more (S17: who did what).
        self.note(request, stuck, "Applied again.")
        count = inbox.apply_again(stuck, now=timezone.now())
        if count:
            messages.success(request, f"A worker applies them again now: {count}.")
        else:
            messages.warning(request, "Nothing here is failed or not understood.")

    @action(description="Set aside", permissions=["act"])
    def set_aside(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """Take what somebody has looked at off the list of what waits (POST only)."""
        stuck = queryset.filter(state__in=inbox.STUCK)
        self.note(request, stuck, "Set aside.")
        count = inbox.set_aside(stuck)
        if count:
            messages.success(request, f"Set aside, and kept: {count}.")
        else:
            messages.warning(request, "Nothing here is failed or not understood.")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the page of one delivery instead of a form."""
        delivery = kwargs["obj"]
        text, is_json = readable(bytes(delivery.body))
        context |= {
            "badge": state_badge(delivery),
            "facts": _facts(delivery),
            "payload": text,
            "is_json": is_json,
            "can_apply_again": delivery.state in inbox.STUCK and self.has_act_permission(request),
        }
        return super().render_change_form(request, context, *args, **kwargs)


def _times(count: int) -> str:
    return ("Never", "Once")[count] if count < 2 else f"{count} times"


def _facts(delivery: Any) -> list[tuple[str, object]]:
    now, length = timezone.now(), lag(delivery)
    return [
        ("Workspace", delivery.workspace_slug),
        ("Order", delivery.order_platform_id or EMPTY),
        ("Came by", f"{delivery.get_source_display()}, {delivery.method}"),
        ("Occurred", exact_moment(delivery.occurred_at, now)),
        ("Received", exact_moment(delivery.received_at, now)),
        ("Settled", exact_moment(delivery.applied_at, now)),
        ("Next try", exact_moment(delivery.due_at, now)),
        ("Lag", EMPTY if length is None else span(length)),
        ("Failed attempts", delivery.attempts),
        ("Same bytes came again", _times(delivery.repeats)),
        ("Digest of the bytes", delivery.digest),
    ]
