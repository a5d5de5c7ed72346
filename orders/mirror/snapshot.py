"""The known facts about the rows of an event. Before and after it, they show the changes."""

from datetime import UTC, date, datetime, tzinfo
from typing import Any

from django.utils import timezone

from crm_sync.platform.events import Event
from crm_sync.text import clean, plain
from crm_sync.translated import day_in_words, minute_in_words
from orders.models import Assignment, MaterialSet, Order, StatusChange

NONE = "—"


def facts(workspace_id: int, event: Event) -> dict[str, str]:
    """Describe the order and the materials that the event names, in the current time zone."""
    zone = timezone.get_current_timezone()
    known: dict[str, str] = {}
    order_id = clean(event.text("orderId"))[0][:255]
    for order in Order.objects.filter(workspace_id=workspace_id, platform_id=order_id):
        known |= _of_order(order)
        for assignment in Assignment.objects.filter(order=order).order_by("pk"):
            known |= _of_assignment(assignment, zone)
    property_id = clean(event.text("propertyId"))[0][:255]
    ready = MaterialSet.objects.filter(workspace_id=workspace_id)
    announced = ready.filter(order__platform_id=order_id) if order_id else ready.none()
    if property_id:
        announced |= ready.filter(property_platform_id=property_id, assignment=None)
    for one in announced.order_by("pk"):
        what = one.target_platform or f"{one.product} {one.visual_type}"
        known[f"{what}, ready"] = worded(one.ready_at, zone)
        known[f"{what}, to be fetched"] = _yes(one.due_at is not None)
    return known


def _of_order(order: Order) -> dict[str, str]:
    lines = StatusChange.objects.filter(order=order).count()
    return {
        f"{order}, status": order.status or NONE,
        f"{order}, to be read": _yes(order.due_at is not None),
        f"{order}, lines of its timeline": str(lines),
    }


def _of_assignment(assignment: Assignment, zone: tzinfo) -> dict[str, str]:
    values = {
        "status": assignment.status,
        "appointment": assignment.scheduled_at,
        "estimated delivery": assignment.estimated_delivery_date,
        "action required": assignment.action_required,
        "photographer": assignment.photographer,
    }
    return {f"{assignment}, {name}": worded(value, zone) or NONE for name, value in values.items()}


def worded(value: Any, zone: tzinfo = UTC) -> str:
    """Return a value in words, or ""."""
    if isinstance(value, datetime):
        return minute_in_words(value.astimezone(zone))
    if isinstance(value, date):
        return day_in_words(value)
    if isinstance(value, dict):
        value = plain(value.get("name")) or plain(value.get("id"))
    return str(clean(plain(value))[0])


def _yes(value: bool) -> str:
    return "yes" if value else "no"
