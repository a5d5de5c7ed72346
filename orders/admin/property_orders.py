"""The orders of a property, as a part of its page."""

from datetime import datetime
from typing import Any

from django.db.models import Prefetch
from django.template.loader import render_to_string

from crm_sync.admin.ui.cells import EMPTY, link, list_of, local_time, moment, page_at
from crm_sync.hooks import PropertyFilter, Section
from orders.admin.cells import assignment_badge, assignment_names, order_badge
from orders.mirror import agent_lists
from orders.models import Assignment, Order
from properties.models import Property

NEWEST = 20
OPEN_ORDERS = PropertyFilter(
    parameter="order",
    title="orders",
    permission="orders.view_order",
    conditions={
        "none": ("Without an open order", ~agent_lists.with_an_open_order()),
        "open": ("With an open order", agent_lists.with_an_open_order()),
    },
)


def sections(row: Property, now: datetime) -> list[Section]:
    """Return the newest orders of a property as one section, even if there are none.

    At most three queries. A `hooks.AppHooks.property_sections`.
    """
    mine = Order.objects.filter(real_estate_property=row)
    work = Prefetch("assignments", Assignment.objects.order_by("pk"))
    newest = mine.order_by("-created_at", "-pk").defer("observed").prefetch_related(work)[:NEWEST]
    shown = [_shown(order, now) for order in newest]
    count = mine.count() if len(shown) == NEWEST else len(shown)
    every = f"{list_of('orders.order')}?real_estate_property__id__exact={row.pk}"
    context = {"orders": shown, "more": count - len(shown), "every": every}
    content = render_to_string("orders/property_orders.html", context)
    return [Section("orders", "Orders", count, content, "orders.view_order")]


def _shown(order: Order, now: datetime) -> dict[str, Any]:
    assignments = list(order.assignments.all())
    names = assignment_names(assignments)
    ahead = [one.scheduled_at for one in assignments if one.scheduled_at and one.scheduled_at > now]
    return {
        "key": order.pk,
        "name": link(page_at("orders.order", order.pk), f"Order {order.platform_id}"),
        "badge": order_badge(order),
        "work": [(names[one.pk], assignment_badge(one)) for one in assignments],
        "appointment": local_time(min(ahead)) if ahead else EMPTY,
        "placed": moment(order.placed_at or order.created_at, now),
    }
