"""The page of one order: a bounded number of queries, and no call to the platform."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from crm_sync.admin.ui.cells import EMPTY, exact_moment, link, moment, page_at
from crm_sync.translated import Text
from orders.admin import materials, timeline
from orders.admin.cards import card
from orders.admin.cells import (
    assignment_names,
    order_badge,
    placement_badge,
    who_fact,
)
from orders.admin.placing.review import lines as product_lines
from orders.materials import deliveries
from orders.models import ChangeRequest, Order, Placement, StatusChange
from orders.models.statuses import ORDER_TERMINAL, OrderStatus
from orders.placing.acting_user import who_act
from orders.placing.session_offer import total

LONGEST_TIMELINE = 200
ELSEWHERE = _("Not known: it was not ordered from here")  # the platform's orders name no price (§4)
ENDS: dict[str, str] = {OrderStatus.COMPLETED: "done", OrderStatus.CANCELLED: "ended"}
NO_ANSWER: dict[str, Text] = {
    ChangeRequest.Kind.RESCHEDULE: _(
        "The platform is asked to reschedule the order. There is no answer yet."
    ),
    ChangeRequest.Kind.CANCEL: _(
        "The platform is asked to cancel the order. There is no answer yet."
    ),
}
UNCLEAR: dict[str, Text] = {
    ChangeRequest.Kind.RESCHEDULE: _(
        "The platform was asked to reschedule the order and gave no clear answer. The order is"
        " being read again; this page then shows how it stands."
    ),
    ChangeRequest.Kind.CANCEL: _(
        "The platform was asked to cancel the order and gave no clear answer. The order is being"
        " read again; this page then shows how it stands."
    ),
}


def page(order: Any, *, now: datetime) -> dict[str, Any]:
    """Return everything that the template needs."""
    newest = order.changes.order_by("-occurred_at", "-pk")
    lines = list(newest[: LONGEST_TIMELINE + 1])
    placement = Placement.objects.select_related("created_by").filter(order=order).first()
    asked = order.change_requests.select_related("asked_by").order_by("-sent_at", "-pk")
    wishes = list(asked[:LONGEST_TIMELINE])
    assignments = {one.pk: one for one in order.assignments.all()}
    names = assignment_names(assignments.values())
    users = who_act(order.workspace_id, [one.body for one in wishes])
    told = timeline.groups(lines[:LONGEST_TIMELINE], assignments, names, now)
    return {
        "badge": order_badge(order),
        "steps": steps(order, lines, now=now),
        "facts": _facts(order, placement, now),
        "notice": (_notice(order, wishes[0], now) if wishes else "") or _told_alone(order),
        "assignments": [card(order, assignments[key], names[key], now) for key in names],
        "timeline": timeline.with_wishes(told, zip(wishes, users, strict=True), placement, now),
        "is_cut": len(lines) > LONGEST_TIMELINE,
        **materials.shown(deliveries.of_order(order), now),
        "placement": placement and _placement(placement, now),
    }


def _facts(order: Any, placement: Placement | None, now: datetime) -> list[tuple[Text, object]]:
    property_name = order.title or order.reference or order.property_platform_id
    address = page_at("properties.property", order.real_estate_property_id)
    return [
        (_("Property"), link(address, property_name or _("Not known yet"))),
        (_("Reference"), order.reference or EMPTY),
        (_("Workspace"), order.workspace_slug),
        (_("Ordered by"), who_fact(order.who)),
        (_("Price"), total(placement.products) if placement else ELSEWHERE),
        (pgettext("moment", "Placed"), exact_moment(order.placed_at, now)),
        (_("Last read"), exact_moment(order.read_at, now)),
        (_("Next read"), exact_moment(order.due_at, now) if order.due_at else _("Not planned")),
    ]


def _notice(order: Order, newest: ChangeRequest, now: datetime) -> Text:
    """Return a notice if the result of the newest change request is unknown, else ""."""
    has_ended = newest.outcome != ChangeRequest.Outcome.SENT
    if not has_ended and now - newest.sent_at < timeline.LONGEST_CALL:
        return NO_ANSWER[newest.kind]
    if has_ended and newest.outcome != ChangeRequest.Outcome.UNCLEAR:
        return ""
    if order.read_at is not None and order.read_at > (newest.ended_at or newest.sent_at):
        return ""  # a read since then shows the result
    return UNCLEAR[newest.kind]


def _told_alone(order: Order) -> str:
    """Return a notice if only a callback has reported the end of the order (S10), else ""."""
    if not order.is_told_alone or order.status not in ORDER_TERMINAL:
        return ""
    text = gettext(
        "A callback reported that the order is %(status)s. A read of the platform will confirm or"
        " correct it; no mail is sent until then."
    )
    return text % {"status": order.status_shown.lower()}


def _placement(placement: Placement, now: datetime) -> dict[str, object]:
    return {
        "link": page_at("orders.placement", placement.pk),
        "badge": placement_badge(placement),
        "lines": product_lines(placement),
        "sum": total(placement.products),
        "sent": exact_moment(placement.sent_at, now),
    }


@dataclass(frozen=True)
class OrderStep:
    """A step of an order. Its state is "done", "now", "ended", "ahead" or "left out".

    "ended" marks the cancellation. A cancelled order may have "left out" an earlier step.
    """

    name: str
    state: str
    when: SafeString | str


def steps(order: Order, lines: Iterable[StatusChange], *, now: datetime) -> list[OrderStep]:
    """Return the steps. If the status is unknown, the steps that were reached are done."""
    reached = {
        line.new: line.occurred_at
        for line in lines
        if line.fact == StatusChange.Fact.ORDER_STATUS and not line.was_stale
    }
    if order.placed_at is not None:
        reached.setdefault(OrderStatus.PLACED, order.placed_at)
    is_cancelled = order.status == OrderStatus.CANCELLED
    last = OrderStatus.CANCELLED if is_cancelled else OrderStatus.COMPLETED
    way: list[str] = [OrderStatus.PLACED, OrderStatus.IN_PROGRESS, last]
    found = []
    for stop in way:
        state = _state(stop, order.status, way, reached)
        was_there = stop in reached and state != "ahead"
        when = moment(reached[stop], now) if was_there else ""
        found.append(OrderStep(str(OrderStatus(stop).label), state, when))
    return found


def _state(stop: str, status: str, way: list[str], reached: dict[str, datetime]) -> str:
    if status == stop:
        return ENDS.get(stop, "now")
    if status not in way:
        return "done" if stop in reached else "ahead"
    if way.index(stop) > way.index(status):
        return "ahead"
    # A cancelled order may never have been in progress. Any other order has passed this step, even
    # if we have no record of it.
    is_left_out = status == OrderStatus.CANCELLED and stop not in reached
    return "left out" if is_left_out and stop != OrderStatus.PLACED else "done"
