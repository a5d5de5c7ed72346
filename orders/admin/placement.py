"""The orders that were placed from here, first of all those whose outcome is not known (I9)."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from crm_sync.admin.ui.base import ChoicesDropdownFilter, action
from crm_sync.admin.ui.cells import EMPTY, exact_moment, link, page_at, shortened, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from orders.admin.cells import placement_badge
from orders.admin.page import ordered
from orders.models import Placement
from orders.placing import settlement


@admin.register(Placement)
class PlacementAdmin(ReadOnlyAdmin):
    """At most once: nothing here sends an order again."""

    empty = Empty(
        "Nothing was ordered from here yet",
        "Each order that is placed from this side leaves a line here, with every step it took.",
        ("manage.py place_order main --reference R-100 --user AGENT-1 --product GROUND_PHOTO",),
    )
    change_form_template = "orders/placement.html"
    list_display = ("name", "state_", "what", "order_", "sent", "why")
    list_filter = (("state", ChoicesDropdownFilter), WorkspaceFilter)
    list_per_page = 50
    search_fields = ("object_reference_id", "order__platform_id", "user_reference_id")
    search_help_text = "Reference, order id or user reference"
    ordering = ("-created_at", "-pk")
    annotations = {"workspace_slug": F("workspace__slug"), "order_name": F("order__platform_id")}
    actions = ("not_placed",)

    name = column(
        "reference",
        lambda row: two_lines(row.object_reference_id, row.workspace_slug),
        "object_reference_id",
    )
    state_ = column("state", placement_badge, "state")
    what = column("ordered", lambda row: shortened(ordered(row), 60))
    order_ = column("order", lambda row: row.order_name or EMPTY, "order_name")
    sent = moment_column("sent", "sent_at")
    why = column("problem", lambda row: shortened(row.problem, 70))

    @action(description="It was not placed", permissions=["act"])
    def not_placed(self, request: HttpRequest, queryset: QuerySet[Placement]) -> None:
        """Settle uncertain placements that a person did not find on the platform (POST only)."""
        uncertain = queryset.filter(state=Placement.State.UNCERTAIN)
        self.note(request, uncertain, "Settled: it was not placed.")
        now = timezone.now()
        count = sum(settlement.decide(one, order_id=None, now=now) for one in uncertain)
        if count:
            messages.success(request, f"Settled as not placed: {count}.")
        else:
            messages.warning(request, "Nothing here is uncertain.")

    def page_context(self, request: HttpRequest, placement: Any) -> dict[str, Any]:
        now = timezone.now()
        order = page_at("orders.order", placement.order_id) if placement.order_id else ""
        parts = ", ".join(f"{part} {key}" for part, key in placement.instructions.items())
        return {
            "badge": placement_badge(placement),
            "is_uncertain": placement.state == Placement.State.UNCERTAIN,
            "facts": [
                ("Number", str(placement.pk)),
                ("Ordered", ordered(placement)),
                ("Order", link(order, placement.order_name or EMPTY)),
                ("Workspace", placement.workspace_slug),
                ("User", placement.user_reference_id or placement.user_platform_id),
                ("Instructions", parts or EMPTY),
                ("Session", placement.session_id or EMPTY),
                ("Begun", exact_moment(placement.created_at, now)),
                ("Sent", exact_moment(placement.sent_at, now)),
            ],
        }
