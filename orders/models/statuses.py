"""Pure: the statuses of orders and assignments and the moves between them (§3), as data.

A status is stored as the plain string that was received (A28). The choices name the statuses that
we know, and do not prevent others.
"""

from collections.abc import Mapping

from django.db.models import TextChoices
from django.utils.translation import gettext, override, pgettext_lazy

from crm_sync.sentence import name_in_context

START = ""  # "(start)" in §3: before the first status, or before we know it


class OrderStatus(TextChoices):
    """The statuses of an order (§3.1)."""

    PLACED = "PLACED", pgettext_lazy("order", "Placed")
    IN_PROGRESS = "IN_PROGRESS", pgettext_lazy("order", "In progress")
    COMPLETED = "COMPLETED", pgettext_lazy("order", "Completed")
    CANCELLED = "CANCELLED", pgettext_lazy("order", "Cancelled")
    UNKNOWN = "UNKNOWN", pgettext_lazy("order", "Unknown")


class AssignmentStatus(TextChoices):
    """The statuses of an assignment (§3.2)."""

    CREATED = "CREATED", pgettext_lazy("assignment", "Created")
    PHOTOGRAPHER_ASSIGNED = (
        "PHOTOGRAPHER_ASSIGNED",
        pgettext_lazy("assignment", "Photographer assigned"),
    )
    SCHEDULED = "SCHEDULED", pgettext_lazy("assignment", "Scheduled")
    IN_PRODUCTION = "IN_PRODUCTION", pgettext_lazy("assignment", "In production")
    IN_PROCESS = "IN_PROCESS", pgettext_lazy("assignment", "In process")
    ACTION_REQUIRED = "ACTION_REQUIRED", pgettext_lazy("assignment", "Action required")
    DELIVERED = "DELIVERED", pgettext_lazy("assignment", "Delivered")
    CANCELLED = "CANCELLED", pgettext_lazy("assignment", "Cancelled")
    RESCHEDULE_IN_PROCESS = (
        "RESCHEDULE_IN_PROCESS",
        pgettext_lazy("assignment", "Reschedule in process"),
    )
    UNKNOWN = "UNKNOWN", pgettext_lazy("assignment", "Unknown")


# The contexts of their labels in the catalogues, since the name of an order and that of an
# assignment differ in gender.
_CONTEXTS: Mapping[type[TextChoices], str] = {OrderStatus: "order", AssignmentStatus: "assignment"}
_O, _A = OrderStatus, AssignmentStatus
Table = Mapping[str, frozenset[str]]

# §3.1
ORDER_TRANSITIONS: Table = {
    START: frozenset({_O.PLACED}),
    _O.PLACED: frozenset({_O.IN_PROGRESS, _O.CANCELLED}),
    _O.IN_PROGRESS: frozenset({_O.COMPLETED, _O.CANCELLED}),
}

# §3.2, photo and visual products
PHOTO_TRANSITIONS: Table = {
    START: frozenset({_A.CREATED}),
    _A.CREATED: frozenset({_A.PHOTOGRAPHER_ASSIGNED, _A.CANCELLED}),
    _A.PHOTOGRAPHER_ASSIGNED: frozenset({_A.SCHEDULED, _A.RESCHEDULE_IN_PROCESS, _A.CANCELLED}),
    _A.SCHEDULED: frozenset({_A.IN_PRODUCTION, _A.RESCHEDULE_IN_PROCESS, _A.CANCELLED}),
    _A.RESCHEDULE_IN_PROCESS: frozenset({_A.PHOTOGRAPHER_ASSIGNED, _A.CANCELLED}),
    _A.IN_PRODUCTION: frozenset({_A.DELIVERED, _A.CANCELLED}),
}

# §3.2, document products. It does not show when they can be cancelled, only that CANCELLED is
# terminal for all assignments. We assume the same as for photos (A48).
DOCUMENT_TRANSITIONS: Table = {
    START: frozenset({_A.CREATED}),
    _A.CREATED: frozenset({_A.ACTION_REQUIRED, _A.IN_PROCESS, _A.CANCELLED}),
    _A.ACTION_REQUIRED: frozenset({_A.CREATED, _A.CANCELLED}),
    _A.IN_PROCESS: frozenset({_A.DELIVERED, _A.CANCELLED}),
}

DOCUMENT = "DOCUMENT"  # the assignment type that follows the document table (A48)
ORDER_TERMINAL: frozenset[str] = frozenset({_O.COMPLETED, _O.CANCELLED})
ASSIGNMENT_TERMINAL: frozenset[str] = frozenset({_A.DELIVERED, _A.CANCELLED})


def assignment_tables(assignment_type: str) -> tuple[Table, ...]:
    """Return the table for an assignment of this type, or both tables if the type is unknown."""
    if not assignment_type:
        return PHOTO_TRANSITIONS, DOCUMENT_TRANSITIONS
    return (DOCUMENT_TRANSITIONS if assignment_type == DOCUMENT else PHOTO_TRANSITIONS,)


def is_listed(previous: str, new: str, *tables: Table) -> bool:
    """Return whether one of the tables lists the move."""
    return any(new in table.get(previous, ()) for table in tables)


def may_cancel(status: str) -> bool:
    """Return whether §3.1 allows to cancel an order in this status."""
    return OrderStatus.CANCELLED in ORDER_TRANSITIONS.get(status, ())


def may_reschedule(status: str, assignment_type: str) -> bool:
    """Return whether §3.2 allows to reschedule an assignment in this status (A49)."""
    tables = assignment_tables(assignment_type)
    return is_listed(status, AssignmentStatus.RESCHEDULE_IN_PROCESS, *tables)


def is_nudge(previous: str, new: str) -> bool:
    """Return whether an event repeats a status, to refresh logistics (§3.3 rule 3)."""
    return previous == new != START


def is_reachable(previous: str, new: str, *tables: Table) -> bool:
    """Return whether listed moves lead from one status to the other. A read may skip moves."""
    for table in tables:
        reached, edge = {previous}, {previous}
        while edge:
            edge = {after for status in edge for after in table.get(status, ())} - reached
            reached |= edge
        if new in reached:
            return True
    return False


def shown(status: str, choices: type[TextChoices]) -> str:
    """Return the status for people, or the raw word of an unknown status (A28)."""
    if not status:
        return gettext("Not known yet")
    if status in choices.values:
        return str(choices(status).label)
    return gettext("Unknown (%(status)s)") % {"status": status}


def stored(status: str, choices: type[TextChoices]) -> str:
    """Return the status for a stored sentence, which each person reads in their own language.

    An unknown status stays the raw word (A28), and "" is a dash.
    """
    if status not in choices.values:
        return status or "—"
    with override("en"):
        return name_in_context(_CONTEXTS[choices], str(choices(status).label))
