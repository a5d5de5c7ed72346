"""What an event tells about orders and assignments becomes rows (design §5, I22-I24).

A mirror records what the platform says, also what §3 does not list, and flags it. Locks are taken
in one order everywhere: an assignment before its order.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from crm_sync.dispatch import Effect, Outcome
from crm_sync.events import Event
from crm_sync.text import clean
from orders import reading, registers, statuses, timeline
from orders.models import Assignment, Order, StatusChange
from orders.registers import Register, Stamp, Write
from properties.models import Property

QUEUE = "orders"
Fact = StatusChange.Fact


@dataclass(frozen=True)
class Told:
    """One event of one workspace on its way into the mirror; `now` only schedules reads (I29)."""

    workspace_id: int
    event: Event
    delivery_id: int | None
    now: datetime

    def word(self, name: str, limit: int = 100) -> str:
        """Return a text field as a column of that width holds it (A7)."""
        text: str = clean(self.event.text(name))[0]
        return text[:limit]

    @property
    def origin(self) -> timeline.Origin:
        """Where the lines that it adds to the timeline come from."""
        stamp = Stamp(self.event.at, self.event.digest)
        return timeline.Origin(stamp, StatusChange.Source.CALLBACK, self.delivery_id)


def tell_order_status(told: Told) -> Effect:
    """ORDER_STATUS_UPDATED (§6.3)."""
    order = order_of(told)
    previous, new = told.word("previousStatus"), told.word("newStatus")
    is_listed = statuses.is_listed(previous, new, statuses.ORDER_TRANSITIONS)
    write = _write(told, order, registers.STATUS, new)
    timeline.enter(
        order,
        Fact.ORDER_STATUS,
        previous=previous,
        new=new,
        origin=told.origin,
        is_listed=is_listed,
        was_stale=not write.is_new,
    )
    if write.is_tie or _is_gap(write, previous, is_listed) or _has_ended(write, new):
        ask_for(order, now=told.now)
    return _effect([write], f"{order}: {_move(previous, new, is_listed)}")


def tell_assignment_status(told: Told) -> Effect:
    """ASSIGNMENT_STATUS_UPDATED, nudges with refreshed logistics included (§3.3, §6.3)."""
    order, assignment = assignment_of(told)
    previous, new = told.word("previousStatus"), told.word("newStatus")
    tables = statuses.assignment_tables(assignment.assignment_type)
    is_listed = statuses.is_nudge(previous, new) or statuses.is_listed(previous, new, *tables)
    write = _write(told, assignment, registers.STATUS, new)
    timeline.enter(
        assignment,
        Fact.ASSIGNMENT_STATUS,
        previous=previous,
        new=new,
        origin=told.origin,
        is_listed=is_listed,
        was_stale=not write.is_new,
    )
    writes = [write, *_tell_logistics(told, assignment, new)]
    if any(one.is_tie for one in writes) or _is_gap(write, previous, is_listed):
        ask_for(order, now=told.now)
    return _effect(writes, f"{order}, {assignment}: {_move(previous, new, is_listed)}")


def _tell_logistics(told: Told, assignment: Assignment, status: str) -> list[Write]:
    """Write the logistics that a status event carries; an absent field keeps (§6.3)."""
    event, writes = told.event, []
    if "scheduledAt" in event.fields:
        value = event.moment("scheduledAt")
        writes.append(_tell_fact(told, assignment, registers.APPOINTMENT, Fact.APPOINTMENT, value))
    if (day := event.day("estimatedDeliveryAt")) is not None:
        writes.append(_tell_fact(told, assignment, registers.ESTIMATE, Fact.ESTIMATE, day))
    action = told.word("actionRequired")
    if action or status != statuses.AssignmentStatus.ACTION_REQUIRED:
        writes.append(_tell_fact(told, assignment, registers.ACTION, Fact.ACTION, action))
    return writes


def _tell_fact(
    told: Told, assignment: Assignment, register: Register, fact: Fact, value: Any
) -> Write:
    """Write a date or another fact; a line only where it is news: two events tell the same date."""
    write = _write(told, assignment, register, value)
    if write.before != value:
        timeline.enter(
            assignment,
            fact,
            previous=write.before,
            new=value,
            origin=told.origin,
            was_stale=not write.is_new,
        )
    return write


def tell_appointment(told: Told) -> Effect:
    """APPOINTMENT_DATE_UPDATED: an explicit null means that the appointment is cleared (§6.3)."""
    moment = told.event.moment("scheduledAt")
    return _tell_date(told, registers.APPOINTMENT, Fact.APPOINTMENT, moment)


def tell_estimate(told: Told) -> Effect:
    """ESTIMATED_DELIVERY_UPDATED (§6.3)."""
    day = told.event.day("estimatedDeliveryAt")
    return _tell_date(told, registers.ESTIMATE, Fact.ESTIMATE, day)


def _tell_date(told: Told, register: Register, fact: Fact, value: date | None) -> Effect:
    order, assignment = assignment_of(told)
    write = _tell_fact(told, assignment, register, fact, value)
    if write.is_tie:
        ask_for(order, now=told.now)
    what = f"{fact.label.lower()} {timeline.worded(value) or 'cleared'}"
    return _effect([write], f"{order}, {assignment}: {what}")


def tell_photographer(told: Told) -> Effect:
    """PHOTOGRAPHER_BOOKED: keep the id, and read the order for name and contact (§6.3)."""
    order = order_of(told)
    photographer_id = told.word("photographerId", 255)
    subject: Order | Assignment = order
    write = Write(before=None, is_new=True, is_tie=False)
    if told.event.text("assignmentId"):
        _, subject = assignment_of(told)
        known = subject.photographer
        # The same creative again keeps the name and contact that a read brought.
        value = known if known.get("id") == photographer_id else {"id": photographer_id}
        write = _write(told, subject, registers.PHOTOGRAPHER, value)
    timeline.enter(
        subject,
        Fact.PHOTOGRAPHER,
        previous=None,
        new=photographer_id,
        origin=told.origin,
        was_stale=not write.is_new,
    )
    if write.is_new or write.is_tie:
        ask_for(order, now=told.now)
    where = str(order) if subject is order else f"{order}, {subject}"
    return _effect([write], f"{where}: photographer {photographer_id} booked")


def order_of(told: Told) -> Order:
    """Return the order of the event; one that we do not know is created and due for a read."""
    platform_id = told.word("orderId", 255)
    # What was read last is long, and no event looks at it.
    order, is_first = Order.objects.defer("observed").get_or_create(
        workspace_id=told.workspace_id,
        platform_id=platform_id,
        defaults={"created_at": told.now},
    )
    if is_first:
        ask_for(order, now=told.now)
    tie_to_property(
        order,
        reference=told.word("objectReferenceId", 255),
        property_id=told.word("realEstatePropertyId", 255),
    )
    return order


def assignment_of(told: Told) -> tuple[Order, Assignment]:
    """Return the order and the assignment of the event; unknown ones are created and read."""
    order = order_of(told)
    kind = told.word("assignmentType")
    assignment, is_first = Assignment.objects.defer("products").get_or_create(
        workspace_id=told.workspace_id,
        platform_id=told.word("assignmentId", 255),
        defaults={"order": order, "assignment_type": kind, "created_at": told.now},
    )
    if kind and not assignment.assignment_type:
        mine = Assignment.objects.filter(pk=assignment.pk, assignment_type="")
        mine.update(assignment_type=kind)
        assignment.assignment_type = kind
    if is_first:
        ask_for(order, now=told.now)
    return order, assignment


def tie_to_property(order: Order, *, reference: str, property_id: str) -> None:
    """Note what names the order's property, and link it once it is known here (A43)."""
    for column, value in (
        ("object_reference_id", reference),
        ("property_platform_id", property_id),
    ):
        if value and not getattr(order, column):
            Order.objects.filter(pk=order.pk, **{column: ""}).update(**{column: value})
            setattr(order, column, value)
    if order.real_estate_property_id is None:
        found = find_property(
            order.workspace_id,
            reference=order.object_reference_id,
            property_id=order.property_platform_id,
        )
        if found is not None:
            unlinked = Order.objects.filter(pk=order.pk, real_estate_property=None)
            unlinked.update(real_estate_property=found)
            order.real_estate_property = found


def find_property(workspace_id: int, *, reference: str, property_id: str) -> Property | None:
    """Return our property by the platform's id, else by our reference, or None."""
    mine = Property.objects.filter(workspace_id=workspace_id)
    by_id = mine.filter(platform_id=property_id).first() if property_id else None
    if by_id is not None or not reference:
        return by_id
    return mine.filter(object_reference_id=reference).first()


def ask_for(order: Order, *, now: datetime) -> None:
    """Make the order due for a read now."""
    reading.ask(Order.objects.filter(pk=order.pk), QUEUE, order.workspace_id, now=now)


def _write(told: Told, row: Order | Assignment, register: Register, value: Any) -> Write:
    return registers.write(row, register, value, told.origin.stamp)


def _is_gap(write: Write, previous: str, is_listed: bool) -> bool:
    """Tell whether something is missing before the event, or is strange about it (I24)."""
    return write.is_new and (write.before != previous or not is_listed)


def _has_ended(write: Write, status: str) -> bool:
    """Tell whether the order has just come to its end: it is read once more then."""
    return write.is_new and write.before != status and status in statuses.ORDER_TERMINAL


def _move(previous: str, new: str, is_listed: bool) -> str:
    return f"{previous} → {new}" + ("" if is_listed else " (not a listed move)")


def _effect(writes: list[Write], text: str) -> Effect:
    if any(write.is_new for write in writes):
        return Effect(Outcome.APPLIED, text)
    return Effect(Outcome.STALE, f"{text}; something newer is known")
