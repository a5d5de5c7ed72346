"""What the page of one order shows: a bounded number of queries, and the platform is not asked."""

from datetime import datetime
from typing import Any

from django.db.models import TextChoices

from crm_sync.admin.ui.cells import EMPTY, exact_moment, link, moment, page_at
from orders.admin.cells import assignment_badge, order_badge, placement_badge, worded
from orders.admin.materials import shown_set
from orders.admin.steps import steps
from orders.models import Assignment, Placement, StatusChange
from orders.statuses import AssignmentStatus, OrderStatus, shown

LONGEST_TIMELINE = 200
REACHED_BY = ("phone", "email")
Fact = StatusChange.Fact
CHOICES: dict[str, type[TextChoices]] = {
    Fact.ORDER_STATUS: OrderStatus,
    Fact.ASSIGNMENT_STATUS: AssignmentStatus,
}


def page(order: Any, *, now: datetime) -> dict[str, Any]:
    """Return everything that the template needs."""
    lines = list(
        order.changes.select_related("assignment").order_by("-occurred_at", "-pk")[
            : LONGEST_TIMELINE + 1
        ]
    )
    sets = order.material_sets.prefetch_related("materials").order_by("ready_at", "pk")
    placement = Placement.objects.filter(order=order).first()
    assignments = sorted(order.assignments.all(), key=lambda assignment: assignment.pk)
    return {
        "badge": order_badge(order),
        "steps": steps(order, lines, now=now),
        "facts": _facts(order, now),
        "assignments": [_card(assignment, now) for assignment in assignments],
        "timeline": [_line(line, now) for line in lines[:LONGEST_TIMELINE]],
        "is_cut": len(lines) > LONGEST_TIMELINE,
        "sets": [shown_set(one, now) for one in sets],
        "placement": placement and _placement(placement, now),
    }


def _facts(order: Any, now: datetime) -> list[tuple[str, object]]:
    property_name = order.title or order.object_reference_id or order.property_platform_id
    ours = order.real_estate_property_id
    address = page_at("properties.property", ours) if ours else ""
    return [
        ("Property", link(address, property_name or "Not known yet")),
        ("Reference", order.object_reference_id or EMPTY),
        ("Workspace", order.workspace_slug),
        ("User", order.user_platform_id or EMPTY),
        ("Placed", exact_moment(order.placed_at, now)),
        ("Last read", exact_moment(order.read_at, now)),
        ("Next read", exact_moment(order.due_at, now) if order.due_at else "Not planned"),
    ]


def _card(assignment: Assignment, now: datetime) -> dict[str, object]:
    needs_action = assignment.status == AssignmentStatus.ACTION_REQUIRED
    person = assignment.photographer if isinstance(assignment.photographer, dict) else {}
    estimate = assignment.estimated_delivery_date
    facts = [
        ("Photographer", person.get("name") or person.get("id")),
        ("Reached at", ", ".join(str(person[key]) for key in REACHED_BY if person.get(key))),
        ("Appointment", assignment.scheduled_at and exact_moment(assignment.scheduled_at, now)),
        ("Estimated delivery", estimate and estimate.isoformat()),
    ]
    return {
        "id": assignment.platform_id,
        "title": ", ".join(worded(product) for product in assignment.products) or "Assignment",
        "badge": assignment_badge(assignment),
        "needs_action": needs_action,
        "reason": worded(assignment.action_required) if assignment.action_required else "",
        "facts": [(name, value) for name, value in facts if value],
        "problem": assignment.problem,
    }


def _line(line: StatusChange, now: datetime) -> dict[str, object]:
    choices = CHOICES.get(line.fact)
    before, after = line.previous, line.new
    if choices is not None:
        before = shown(before, choices) if before else ""
        after = shown(after, choices)
    return {
        "fact": line.get_fact_display(),
        "about": line.assignment.platform_id if line.assignment else "",
        "before": before,
        "after": after or "None",
        "when": moment(line.occurred_at, now),
        "source": line.get_source_display(),
        "is_listed": line.is_listed,
        "was_stale": line.was_stale,
        "received_event_id": line.received_event_id,
    }


def _placement(placement: Placement, now: datetime) -> dict[str, object]:
    return {
        "link": page_at("orders.placement", placement.pk),
        "badge": placement_badge(placement),
        "products": ordered(placement),
        "sent": exact_moment(placement.sent_at, now),
    }


def ordered(placement: Placement) -> str:
    """Return what was ordered: "Ground photo, Floor plan (2)"."""
    names = []
    for item in placement.products:
        name = worded(item.get("product") or item.get("id") or "?")
        count = item.get("quantity") or 1
        names.append(name if count == 1 else f"{name} ({count})")
    return ", ".join(names) or EMPTY
