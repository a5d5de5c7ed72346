"""Pure: the lifecycles of orders and assignments (§3) as tables."""

from collections.abc import Collection

DOCUMENT = "DOCUMENT"

# §3.2, photo and visual products: every kind except DOCUMENT (A48).
PHOTO_MOVES: dict[str, tuple[str, ...]] = {
    "CREATED": ("PHOTOGRAPHER_ASSIGNED", "CANCELLED"),
    "PHOTOGRAPHER_ASSIGNED": ("SCHEDULED", "RESCHEDULE_IN_PROCESS", "CANCELLED"),
    "SCHEDULED": ("IN_PRODUCTION", "RESCHEDULE_IN_PROCESS", "CANCELLED"),
    "RESCHEDULE_IN_PROCESS": ("PHOTOGRAPHER_ASSIGNED", "CANCELLED"),
    "IN_PRODUCTION": ("DELIVERED", "CANCELLED"),
    "DELIVERED": (),
    "CANCELLED": (),
}

# §3.2, document products. Their cancellation is "not shown". We assume the same as for photos.
DOCUMENT_MOVES: dict[str, tuple[str, ...]] = {
    "CREATED": ("IN_PROCESS", "ACTION_REQUIRED", "CANCELLED"),
    "ACTION_REQUIRED": ("CREATED", "CANCELLED"),
    "IN_PROCESS": ("DELIVERED", "CANCELLED"),
    "DELIVERED": (),
    "CANCELLED": (),
}

# §3.1; CANCELLED and COMPLETED are terminal.
ORDER_MOVES: dict[str, tuple[str, ...]] = {
    "PLACED": ("IN_PROGRESS", "CANCELLED"),
    "IN_PROGRESS": ("COMPLETED", "CANCELLED"),
    "COMPLETED": (),
    "CANCELLED": (),
}

TERMINAL = frozenset({"DELIVERED", "CANCELLED"})
NOT_YET_WORK = frozenset({"CREATED", "ACTION_REQUIRED", "CANCELLED"})  # A48
CAN_BE_RESCHEDULED = frozenset({"PHOTOGRAPHER_ASSIGNED", "SCHEDULED"})
ACTIONS = ("POWER_OF_ATTORNEY_REQUIRED", "DOCUMENT_UPLOAD_REQUIRED")


def moves(kind: str) -> dict[str, tuple[str, ...]]:
    """Return the table that an assignment of this kind follows (A48)."""
    return DOCUMENT_MOVES if kind == DOCUMENT else PHOTO_MOVES


def next_status(kind: str, status: str, *, asks_client: bool = False) -> str | None:
    """Return the next status, or None for a terminal or an unknown status.

    `asks_client`: the product needs input that the client has not provided.
    """
    if kind == DOCUMENT and status == "CREATED" and asks_client:
        return "ACTION_REQUIRED"
    following = moves(kind).get(status, ())
    return following[0] if following else None


def next_order_status(status: str, assignments: Collection[str]) -> str | None:
    """Return the next status of an order from the statuses of its assignments, or None (§3.1).

    The order moves one step at a time: if its only assignment jumps to DELIVERED, the order is
    IN_PROGRESS first.
    """
    if not ORDER_MOVES.get(status) or not assignments:
        return None
    if all(one == "CANCELLED" for one in assignments):
        return "CANCELLED"
    if status == "PLACED":
        return None if NOT_YET_WORK.issuperset(assignments) else "IN_PROGRESS"
    return "COMPLETED" if TERMINAL.issuperset(assignments) else None
