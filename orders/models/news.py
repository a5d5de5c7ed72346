"""Pure: which moves of an order are news that a person may want to hear of."""

from collections.abc import Mapping

from django.db.models import TextChoices

from orders.models.statuses import AssignmentStatus, OrderStatus


class News(TextChoices):
    """What people are told about, the most urgent first."""

    UNCERTAIN = "UNCERTAIN", "Uncertain"
    ACTION = "ACTION", "Needs action"
    CANCELLED = "CANCELLED", "Cancelled"
    DELIVERED = "DELIVERED", "Delivered"


# A mail cannot be taken back: what an event says of an end is news once a read has shown it (S10).
AFTER_A_READ = frozenset({News.CANCELLED, News.DELIVERED})

# Fact of the timeline and its new value (§3.1, §3.2) → what it is for people.
OF_CHANGE: Mapping[tuple[str, str], News] = {
    ("ASSIGNMENT_STATUS", AssignmentStatus.ACTION_REQUIRED): News.ACTION,
    ("ASSIGNMENT_STATUS", AssignmentStatus.DELIVERED): News.DELIVERED,
    ("ASSIGNMENT_STATUS", AssignmentStatus.CANCELLED): News.CANCELLED,
    ("ORDER_STATUS", OrderStatus.COMPLETED): News.DELIVERED,
    ("ORDER_STATUS", OrderStatus.CANCELLED): News.CANCELLED,
}


def news_of(fact: str, previous: str, new: str) -> News | None:
    """Return the news of a change; None if it is none, such as a repeated status."""
    return None if previous == new else OF_CHANGE.get((fact, new))
