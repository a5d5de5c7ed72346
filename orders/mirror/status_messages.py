"""The messages about orders and assignments: one for each new status of the timeline."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.hooks import MessageFacts, MessageKind
from crm_sync.links import absolute
from crm_sync.outgoing import outbox
from crm_sync.outgoing.outbox import Message
from crm_sync.translated import said_of
from orders.models import Assignment, Order, StatusChange
from orders.models.order import WITH_REFERENCE
from orders.models.statuses import AssignmentStatus, OrderStatus, shown
from properties.domain.headline import headline


def facts(workspace_id: int, documents: Sequence[Mapping[str, Any]]) -> list[MessageFacts]:
    """Return what a chat shows of messages about orders. One query."""
    known = of_orders(workspace_id, {one["orderId"] for one in documents})
    return [_facts(one, known) for one in documents]


def of_orders(workspace_id: int, ids: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return by the platform's id of an order the address of its property, and its page."""
    rows = Order.objects.filter(workspace=workspace_id, platform_id__in=ids)
    property_ = "real_estate_property"
    columns = ("platform_id", "pk", f"{property_}__desired__address", f"{property_}__title")
    return {
        order: (headline(address, title), absolute("admin:orders_order_change", key))
        for order, key, address, title in rows.values_list(*columns)
    }


def _facts(one: Mapping[str, Any], known: Mapping[str, tuple[str, str]]) -> MessageFacts:
    order, assignment = one["orderId"], one["assignmentId"]
    name, link = known.get(order, ("", ""))
    status = shown(one["newStatus"], AssignmentStatus if assignment else OrderStatus)
    if not one["confirmed"]:
        status = gettext("%(status)s (not confirmed)") % {"status": status}
    if assignment and one["assignmentType"]:
        kind = str(one["assignmentType"]).replace("_", " ").capitalize()
        status = said_of(kind, status)
    reference = one["reference"] or gettext("Order %(order)s") % {"order": order}
    return MessageFacts(name, reference, status, link)


STATUS = MessageKind(
    "order.status_changed", _("An order or one of its assignments has a new status"), facts
)
Fact = StatusChange.Fact
_FACTS = frozenset({Fact.ORDER_STATUS, Fact.ASSIGNMENT_STATUS})
Line = Mapping[str, Any]


def tell(workspace_id: int, lines: Sequence[Line], causes: Sequence[str], *, now: datetime) -> None:
    """Write messages about lines with a new status, in the transaction of these lines.

    Args:
        lines: see `timeline_lines.line`.
        causes: the `traceparent` of what entered each line, "" if nothing is recorded.
    """
    news = [
        (line, cause)
        for line, cause in zip(lines, causes, strict=True)
        if line["fact"] in _FACTS and not line["was_stale"] and line["previous"] != line["new"]
    ]
    if news:
        outbox.tell(workspace_id, list(_messages(news)), now=now)


def ids_of(order: Order) -> dict[str, Any]:
    """Return the ids by which other systems know an order and its property."""
    return {
        "orderId": order.platform_id,
        "reference": order.reference or None,
        "propertyId": order.property_platform_id or None,
    }


def _messages(news: Sequence[tuple[Line, str]]) -> Iterator[Message]:
    mine = Order.objects.defer("observed").prefetch_related(WITH_REFERENCE)
    orders = mine.in_bulk({line["order"] for line, _ in news})
    assignments = Assignment.objects.in_bulk(
        {line["assignment"] for line, _ in news if line["assignment"]}
    )
    for line, cause in news:
        assignment = assignments.get(line["assignment"])
        data = ids_of(orders[line["order"]]) | {
            "assignmentId": assignment.platform_id if assignment else None,
            "assignmentType": assignment.assignment_type if assignment else None,
            "previousStatus": line["previous"],
            "newStatus": line["new"],
            # A status that only an event has reported is unconfirmed until a read (S10).
            "confirmed": line["source"] != StatusChange.Source.CALLBACK,
        }
        yield Message(STATUS.name, line["occurred_at"], data, cause)
