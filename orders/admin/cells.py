"""Statuses of orders, assignments and placements as badges: the text says what the colour says."""

from django.utils.safestring import SafeString

from crm_sync.admin.ui.cells import badge
from orders.models import Assignment, Order, Placement
from orders.statuses import AssignmentStatus, OrderStatus

# A status that we do not know is in neither table and stays grey.
ORDER_TONES: dict[str, str] = {
    OrderStatus.PLACED: "info",
    OrderStatus.IN_PROGRESS: "warning",
    OrderStatus.COMPLETED: "good",
    OrderStatus.CANCELLED: "danger",
}
ASSIGNMENT_TONES: dict[str, str] = {
    AssignmentStatus.CREATED: "info",
    AssignmentStatus.PHOTOGRAPHER_ASSIGNED: "info",
    AssignmentStatus.SCHEDULED: "info",
    AssignmentStatus.IN_PRODUCTION: "warning",
    AssignmentStatus.IN_PROCESS: "warning",
    AssignmentStatus.ACTION_REQUIRED: "warning",
    AssignmentStatus.RESCHEDULE_IN_PROCESS: "warning",
    AssignmentStatus.DELIVERED: "good",
    AssignmentStatus.CANCELLED: "danger",
}
PLACEMENT_TONES: dict[str, str] = {
    Placement.State.DRAFT: "muted",
    Placement.State.READY: "info",
    Placement.State.SENDING: "info",
    Placement.State.PLACED: "good",
    Placement.State.UNCERTAIN: "warning",
    Placement.State.FAILED: "danger",
}


def order_badge(order: Order) -> SafeString:
    """Show the status of an order."""
    return badge(order.status_shown, ORDER_TONES.get(order.status, "muted"))


def assignment_badge(assignment: Assignment) -> SafeString:
    """Show the status of an assignment."""
    return badge(assignment.status_shown, ASSIGNMENT_TONES.get(assignment.status, "muted"))


def placement_badge(placement: Placement) -> SafeString:
    """Show the state of a placement by its first word; the page explains it."""
    name = placement.get_state_display().partition(":")[0]
    return badge(name, PLACEMENT_TONES.get(placement.state, "muted"))


def worded(value: object) -> str:
    """Return a code of the platform as words: GROUND_PHOTO becomes "Ground photo"."""
    return str(value).replace("_", " ").capitalize()
