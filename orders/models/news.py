"""Pure: the changes of an order that are news for people."""

from collections.abc import Mapping

from django.db.models import TextChoices
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from orders.models.statuses import AssignmentStatus, OrderStatus


class News(TextChoices):
    """The kinds of news, the most urgent first."""

    UNCERTAIN = "UNCERTAIN", _("Uncertain")
    ACTION = "ACTION", _("Needs action")
    CANCELLED = "CANCELLED", pgettext_lazy("news", "Cancelled")
    SCHEDULED = "SCHEDULED", _("Appointment set")
    DELIVERED = "DELIVERED", pgettext_lazy("news", "Delivered")


# A mail cannot be undone, so an end that an event reports is news only after a read (S10).
AFTER_A_READ = frozenset({News.CANCELLED, News.DELIVERED})

# (fact of the timeline, its new value) (§3.1, §3.2) → the kind of news.
OF_CHANGE: Mapping[tuple[str, str], News] = {
    ("ASSIGNMENT_STATUS", AssignmentStatus.ACTION_REQUIRED): News.ACTION,
    ("ASSIGNMENT_STATUS", AssignmentStatus.DELIVERED): News.DELIVERED,
    ("ASSIGNMENT_STATUS", AssignmentStatus.CANCELLED): News.CANCELLED,
    ("ORDER_STATUS", OrderStatus.COMPLETED): News.DELIVERED,
    ("ORDER_STATUS", OrderStatus.CANCELLED): News.CANCELLED,
}


def news_of(fact: str, previous: str, new: str) -> News | None:
    """Return the news of a change, or None, for example for a repeated status."""
    if previous == new:
        return None
    if fact == "APPOINTMENT":  # its value is a moment, or "" if it has none any more
        return News.SCHEDULED if _is_moment(new) else None
    return OF_CHANGE.get((fact, new))


def _is_moment(text: str) -> bool:
    try:
        return parse_datetime(text) is not None
    except ValueError:
        return False
