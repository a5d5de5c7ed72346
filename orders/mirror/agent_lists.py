"""The lists of orders that an agent works through, each as one condition on the orders."""

from datetime import date, datetime, time, timedelta

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from orders.models import Assignment, Look, MaterialSet, Order, Placement
from orders.models.placement import ON_THEIR_WAY
from orders.models.statuses import (
    ASSIGNMENT_TERMINAL,
    ORDER_TERMINAL,
    AssignmentStatus,
    OrderStatus,
)


def mine(person: User, order: str = "") -> Q:
    """Orders that this person placed or confirmed here, or that a tied user ordered.

    Args:
        order: the path from a row to its order, such as "order__". "" if the rows are orders.
    """
    placed = Placement.objects.filter(
        Q(created_by=person) | Q(confirmed_by=person), order__isnull=False
    )
    is_placed = Q(**{f"{order}pk__in": placed.values("order")})
    return is_placed | Q(**{f"{order}user__account": person})


def still_open() -> Q:
    """Orders that have not ended (§3.1)."""
    return ~Q(status__in=ORDER_TERMINAL)


def with_an_open_order() -> Q:
    """Properties that have an order which has not ended (§3.1)."""
    return Q(Exists(Order.objects.filter(still_open(), real_estate_property=OuterRef("pk"))))


def with_an_order_on_its_way() -> Q:
    """Properties for which an order waits for a worker, is being sent or is uncertain (I9)."""
    placements = Placement.objects.filter(state__in=ON_THEIR_WAY)
    return Q(Exists(placements.filter(real_estate_property=OuterRef("pk"))))


def needs_action() -> Q:
    """Open orders that need an action from somebody here (§3.2)."""
    return still_open() & Q(pk__in=waiting_assignments().values("order"))


def waiting_assignments() -> QuerySet[Assignment]:
    """Return the assignments that need an action from somebody here (§3.2)."""
    return Assignment.objects.filter(status=AssignmentStatus.ACTION_REQUIRED, withdrawn_at=None)


def called_off() -> Q:
    """Assignments without work any more: cancelled or withdrawn, or of a cancelled order.

    An order may be cancelled before that of its assignments is known, or without it (§3.1).
    """
    is_off = Q(status=AssignmentStatus.CANCELLED) | Q(withdrawn_at__isnull=False)
    return is_off | Q(order__status=OrderStatus.CANCELLED)


def appointment_in_week_of(day: date) -> Q:
    """Orders with an appointment in this week, Monday to Sunday in the current zone.

    What was called off does not count.
    """
    first, end = week_of(day)
    there = Assignment.objects.filter(scheduled_at__gte=first, scheduled_at__lt=end)
    return Q(pk__in=there.exclude(called_off()).values("order"))


def week_of(day: date) -> tuple[datetime, datetime]:
    """Return the beginning of the week of a day, which is a Monday, and of the next week."""
    monday = day - timedelta(days=day.weekday())
    return beginning(monday), beginning(monday + timedelta(days=7))


def beginning(day: date) -> datetime:
    """Return midnight in the current time zone. A day may have 23 or 25 hours."""
    return timezone.make_aware(datetime.combine(day, time.min))


def overdue(today: date) -> Q:
    """Open orders with a delivery that was due before today."""
    late = Assignment.objects.filter(estimated_delivery_date__lt=today, withdrawn_at=None)
    return still_open() & Q(pk__in=late.exclude(status__in=ASSIGNMENT_TERMINAL).values("order"))


def delivered() -> Q:
    """Orders with materials."""
    sets = MaterialSet.objects.filter(order=OuterRef("pk"), fetched_at__isnull=False)
    return Q(Exists(sets))


def not_looked_at(person: User, since: datetime) -> Q:
    """Orders with a delivery after `since` that this person has not seen."""
    looked = Look.objects.filter(
        person=person, order=OuterRef("order"), at__gte=OuterRef("fetched_at")
    )
    fetched = MaterialSet.objects.filter(fetched_at__gt=since, order__isnull=False)
    return Q(pk__in=fetched.exclude(Exists(looked)).values("order"))


def note_look(order: Order, person: User, *, now: datetime) -> None:
    """Record that this person sees the page now. Writes only if there is a new delivery."""
    newest = MaterialSet.objects.filter(order=order, fetched_at__isnull=False)
    fetched_at = newest.order_by("-fetched_at").values_list("fetched_at", flat=True).first()
    if fetched_at is None:
        return
    mine = Look.objects.filter(order=order, person=person)
    if not mine.filter(at__gte=fetched_at).exists():
        Look.objects.update_or_create(order=order, person=person, defaults={"at": now})
