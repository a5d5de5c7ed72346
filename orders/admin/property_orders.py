"""The orders of a property, as a part of its page and in its head."""

from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model, Prefetch, QuerySet
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.cells import (
    EMPTY,
    link,
    list_of,
    local_time,
    moment,
    page_at,
    page_of,
    shortened,
)
from crm_sync.hooks import HeadFact, PropertyFilter, PropertyTab, Section
from orders.admin.cells import (
    assignment_badge,
    assignment_names,
    order_badge,
    ordered,
    placement_badge,
    worded,
)
from orders.mirror import agent_lists
from orders.models import Assignment, Order, Placement
from orders.models.placement import ON_THEIR_WAY
from orders.models.statuses import ASSIGNMENT_TERMINAL
from properties.models import Property

NEWEST = 20
OPEN = 3  # open orders, and those on their way, in the head; the tab has more
LONGEST_NAME = 40  # characters of the products in the head
Row = TypeVar("Row", bound=Model)
PERMISSION = "orders.view_order"
HAS_OPEN, IS_ON_ITS_WAY = agent_lists.with_an_open_order(), agent_lists.with_an_order_on_its_way()
OPEN_ORDERS = PropertyFilter(
    parameter="order",
    title=_("orders"),
    permission=PERMISSION,
    conditions={
        "none": (_("Without an open order"), ~HAS_OPEN & ~IS_ON_ITS_WAY),
        "open": (_("With an open order"), HAS_OPEN | IS_ON_ITS_WAY),
    },
)


def sections(row: Property, now: datetime) -> list[Section]:
    """Return what is on its way and the newest orders of a property as one section, even if empty.

    At most five queries. A `hooks.AppHooks.property_sections`.
    """
    mine = Order.objects.filter(real_estate_property=row)
    work = Prefetch("assignments", Assignment.objects.order_by("pk"))
    newest = mine.order_by("-created_at", "-pk").defer("observed").prefetch_related(work)
    orders, count = _newest(newest)
    placements, under_way = _newest(_on_their_way(row))
    context = {
        "placements": [_placement(one, now) for one in placements],
        "more_placements": under_way - len(placements),
        "orders": [_shown(order, now) for order in orders],
        "more": count - len(orders),
        "every": _every(row),
    }
    content = render_to_string("orders/property_orders.html", context)
    tab, number = PropertyTab.ORDERS, under_way + count
    return [Section("orders", gettext("Orders"), number, content, PERMISSION, tab)]


def _newest(rows: QuerySet[Row]) -> tuple[list[Row], int]:
    """Return the first rows, and the number of all. Two queries at most."""
    shown = list(rows[:NEWEST])
    return shown, rows.count() if len(shown) == NEWEST else len(shown)


def _on_their_way(row: Property) -> QuerySet[Placement]:
    """Return the orders of a property that are not settled yet, the newest first (I9)."""
    mine = Placement.objects.filter(state__in=ON_THEIR_WAY, real_estate_property=row)
    return mine.order_by("-pk").defer("offered", "options")


def facts(row: Property, now: datetime) -> list[HeadFact]:
    """Return the next appointment and the open orders of a property, as far as there are any.

    Three queries. A `hooks.AppHooks.property_facts`.
    """
    return [
        HeadFact(title, lines, PERMISSION)
        for title, lines in (
            (_("Next appointment"), _next_appointment(row, now)),
            (_("Open orders"), _open_orders(row)),
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
    return [at, ", ".join(map(worded, first.products)) or gettext("Assignment")]


def _open_orders(row: Property) -> list[SafeString | str]:
    mine = Order.objects.filter(agent_lists.still_open(), real_estate_property=row)
    found = list(mine.order_by("-created_at", "-pk").defer("observed")[: OPEN + 1])
    named = [(_asked(one), placement_badge(one)) for one in _on_their_way(row)[: OPEN + 1]]
    named += [(_linked(one), order_badge(one)) for one in found]
    lines = [format_html("{} {}", *one) for one in named[:OPEN]]
    return [*lines, *([link("#orders", gettext("and more"))] if len(named) > OPEN else [])]


def _asked(placement: Placement) -> SafeString:
    """Name an order that has no number yet by what is ordered, with a link to its page."""
    return link(page_of(placement), shortened(ordered(placement), LONGEST_NAME))


def _linked(order: Order) -> SafeString:
    text = gettext("Order %(order)s") % {"order": order.platform_id}
    return link(page_at("orders.order", order.pk), text)


def _every(row: Property) -> str:
    """Return the address of the list of all orders of a property."""
    return f"{list_of('orders.order')}?real_estate_property__id__exact={row.pk}"


def _placement(placement: Placement, now: datetime) -> dict[str, Any]:
    since = placement.uncertain_at or placement.sent_at or placement.confirmed_at
    return {
        "key": placement.pk,
        "name": link(page_of(placement), ordered(placement)),
        "badge": placement_badge(placement),
        "problem": placement.problem,
        "since": moment(since, now),
    }


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
