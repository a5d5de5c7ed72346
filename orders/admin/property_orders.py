"""The orders of a property, as a part of its page and in its head."""

from datetime import datetime
from typing import Any

from django.db.models import Prefetch
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from crm_sync.admin.ui.cells import EMPTY, link, list_of, local_time, moment, page_at
from crm_sync.hooks import HeadFact, PropertyFilter, PropertyTab, Section
from orders.admin.cells import assignment_badge, assignment_names, order_badge, worded
from orders.mirror import agent_lists
from orders.models import Assignment, Order
from orders.models.statuses import ASSIGNMENT_TERMINAL
from properties.models import Property

NEWEST = 20
OPEN = 3  # open orders in the head; the tab has more
PERMISSION = "orders.view_order"
OPEN_ORDERS = PropertyFilter(
    parameter="order",
    title="orders",
    permission=PERMISSION,
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
    context = {"orders": shown, "more": count - len(shown), "every": _every(row)}
    content = render_to_string("orders/property_orders.html", context)
    return [Section("orders", "Orders", count, content, PERMISSION, PropertyTab.ORDERS)]


def facts(row: Property, now: datetime) -> list[HeadFact]:
    """Return the next appointment and the open orders of a property, as far as there are any.

    Two queries. A `hooks.AppHooks.property_facts`.
    """
    return [
        HeadFact(title, lines, PERMISSION)
        for title, lines in (
            ("Next appointment", _next_appointment(row, now)),
            ("Open orders", _open_orders(row)),
        )
        if lines
    ]


def _next_appointment(row: Property, now: datetime) -> list[SafeString | str]:
    ahead = Assignment.objects.filter(order__real_estate_property=row, scheduled_at__gt=now)
    held = ahead.exclude(status__in=ASSIGNMENT_TERMINAL).filter(withdrawn_at=None)
    first = held.order_by("scheduled_at", "pk").first()
    if first is None or first.scheduled_at is None:
        return []
    at = link(page_at("orders.order", first.order_id), local_time(first.scheduled_at))
    return [at, ", ".join(map(worded, first.products)) or "Assignment"]


def _open_orders(row: Property) -> list[SafeString | str]:
    mine = Order.objects.filter(agent_lists.still_open(), real_estate_property=row)
    found = list(mine.order_by("-created_at", "-pk").defer("observed")[: OPEN + 1])
    lines = [format_html("{} {}", _linked(one), order_badge(one)) for one in found[:OPEN]]
    return [*lines, *([link(_every(row), "and more")] if len(found) > OPEN else [])]


def _linked(order: Order) -> SafeString:
    return link(page_at("orders.order", order.pk), f"Order {order.platform_id}")


def _every(row: Property) -> str:
    """Return the address of the list of all orders of a property."""
    return f"{list_of('orders.order')}?real_estate_property__id__exact={row.pk}"


def _shown(order: Order, now: datetime) -> dict[str, Any]:
    assignments = list(order.assignments.all())
    names = assignment_names(assignments)
    ahead = [one.scheduled_at for one in assignments if one.scheduled_at and one.scheduled_at > now]
    return {
        "key": order.pk,
        "name": _linked(order),
        "badge": order_badge(order),
        "work": [(names[one.pk], assignment_badge(one)) for one in assignments],
        "appointment": local_time(min(ahead)) if ahead else EMPTY,
        "placed": moment(order.placed_at or order.created_at, now),
    }
