"""The list of orders and the page of one: a mirror, to look at and to ask for again."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import F, Max, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from crm_sync.admin.ui.base import action, display
from crm_sync.admin.ui.cells import EMPTY, badge, moment, shortened, two_lines, unbroken
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from orders.admin.cells import assignment_badge, order_badge
from orders.admin.filters import StatusFilter, WhatFilter
from orders.admin.page import page
from orders.mirror import updates
from orders.models import Assignment, Order, StatusChange
from orders.reads import poller
from orders.statuses import ASSIGNMENT_TERMINAL

MOST_BADGES = 3  # assignments shown in a row of the list


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    """Every order that we know of, whoever placed it."""

    empty = Empty(
        "No order is known yet",
        "Orders appear here when they are placed, by us or by somebody else: the platform's"
        " callbacks announce them.",
        ("manage.py place_order main --reference R-100 --user AGENT-1 --product GROUND_PHOTO",),
    )
    change_form_template = "orders/order.html"
    list_display = ("name", "property_", "status_", "work", "appointment", "last_event")
    list_filter = (WhatFilter, StatusFilter, WorkspaceFilter)
    list_per_page = 50
    search_fields = ("platform_id", "object_reference_id", "real_estate_property__title")
    search_help_text = "Order id, reference or title"
    ordering = ("-created_at", "-pk")
    actions = ("read_again",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        """Load what a row shows, with three queries for any number of them."""
        mine = StatusChange.objects.filter(order=OuterRef("pk")).order_by().values("order")
        last = mine.annotate(last=Max("occurred_at")).values("last")
        orders: QuerySet[Order] = super().get_queryset(request).defer("observed")
        return orders.annotate(
            workspace_slug=F("workspace__slug"),
            title=F("real_estate_property__title"),
            locality=F("real_estate_property__locality"),
            last_event_at=Subquery(last),
        ).prefetch_related("assignments")

    name = column(
        "order",
        lambda row: two_lines(row.platform_id, row.object_reference_id or row.workspace_slug),
        "platform_id",
    )

    @display(description="property", ordering="title")
    def property_(self, order: Any) -> SafeString | str:
        """Show what it is, once we know the property."""
        if order.real_estate_property_id is None:
            return badge("Not ours")
        return two_lines(shortened(order.title or "No title", 40), order.locality)

    @display(description="status", ordering="status")
    def status_(self, order: Order) -> SafeString:
        """Show the status, and whether something is wrong with it."""
        trouble = [badge("Problem", "danger")] if order.problem else []
        return _row([order_badge(order), *trouble])

    @display(description="assignments")
    def work(self, order: Order) -> SafeString | str:
        """Show the assignments by their statuses."""
        badges = [assignment_badge(assignment) for assignment in _sorted(order)]
        more = len(badges) - MOST_BADGES
        rest = [unbroken(f"+{more}")] if more > 0 else []
        return _row([*badges[:MOST_BADGES], *rest]) if badges else EMPTY

    @display(description="appointment")
    def appointment(self, order: Order) -> SafeString | str:
        """Show the next appointment that is still ahead or open."""
        moments = [
            assignment.scheduled_at
            for assignment in order.assignments.all()
            if assignment.scheduled_at and assignment.status not in ASSIGNMENT_TERMINAL
        ]
        return moment(min(moments, default=None), timezone.now())

    last_event = moment_column("last event", "last_event_at")  # by the platform's clock

    @action(description="Read again", permissions=["act"])
    def read_again(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        """Make the orders due for a read from the platform now (POST only)."""
        chosen = queryset.order_by()
        workspaces = sorted(chosen.values_list("workspace_id", flat=True).distinct())
        for workspace_id in workspaces:
            mine = chosen.filter(workspace_id=workspace_id)
            poller.ask(mine, updates.QUEUE, workspace_id, now=timezone.now())
        self.note(request, chosen, "Asked for a read from the platform.")
        messages.success(request, f"A worker reads them again now: {chosen.count()}.")

    def page_context(self, request: HttpRequest, order: Any) -> dict[str, Any]:
        sees_received_events = request.user.has_perm("crm_sync.view_receivedevent")
        return page(order, now=timezone.now()) | {"sees_received_events": sees_received_events}


def _sorted(order: Order) -> list[Assignment]:
    return sorted(order.assignments.all(), key=lambda assignment: assignment.pk)


def _row(badges: list[SafeString]) -> SafeString:
    joined = format_html_join(" ", "{}", ((one,) for one in badges))
    return format_html('<span class="cs-badges">{}</span>', joined)
