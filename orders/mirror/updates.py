"""What an event tells about orders and assignments becomes rows (design §5, I22-I24).

A mirror records what the platform says, also what §3 does not list, and flags it.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from crm_sync.inbox.events import Event
from crm_sync.inbox.handlers import Effect, Outcome
from orders import statuses
from orders.mirror import lww, rows, timeline
from orders.mirror.lww import Register, Stamp, Write
from orders.mirror.rows import Rows
from orders.models import Assignment, Order, StatusChange
from orders.reads import poller
from properties.models import Property

QUEUE = rows.QUEUE
Fact = StatusChange.Fact


@dataclass(frozen=True)
class Told:
    """One event on its way into the mirror."""

    rows: Rows
    event: Event
    delivery_id: int | None

    def word(self, name: str, limit: int = 100) -> str:
        """Return a text field as a column of that width holds it (A7)."""
        return rows.word(self.event, name, limit)

    def enter(self, subject: Order | Assignment, fact: StatusChange.Fact, **what: Any) -> None:
        """Add a line to the timeline, with `what` of `timeline.line`."""
        self.rows.enter(timeline.line(subject, fact, origin=self.origin, **what))

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
    write = _write(told, order, lww.STATUS, new)
    told.enter(
        order,
        Fact.ORDER_STATUS,
        previous=previous,
        new=new,
        is_listed=is_listed,
        was_stale=not write.is_new,
    )
    if write.is_tie or _is_gap(write, previous, is_listed) or _has_ended(write, new):
        told.rows.ask_for(order)
    return _effect([write], f"{order}: {_move(previous, new, is_listed)}")


def tell_assignment_status(told: Told) -> Effect:
    """ASSIGNMENT_STATUS_UPDATED, nudges with refreshed logistics included (§3.3, §6.3)."""
    order, assignment = assignment_of(told)
    previous, new = told.word("previousStatus"), told.word("newStatus")
    tables = statuses.assignment_tables(assignment.assignment_type)
    is_listed = statuses.is_nudge(previous, new) or statuses.is_listed(previous, new, *tables)
    write = _write(told, assignment, lww.STATUS, new)
    told.enter(
        assignment,
        Fact.ASSIGNMENT_STATUS,
        previous=previous,
        new=new,
        is_listed=is_listed,
        was_stale=not write.is_new,
    )
    writes = [write, *_tell_logistics(told, assignment, new)]
    if any(one.is_tie for one in writes) or _is_gap(write, previous, is_listed):
        told.rows.ask_for(order)
    return _effect(writes, f"{order}, {assignment}: {_move(previous, new, is_listed)}")


def _tell_logistics(told: Told, assignment: Assignment, status: str) -> list[Write]:
    """Write the logistics that a status event carries; an absent field keeps (§6.3)."""
    event, writes = told.event, []
    if "scheduledAt" in event.fields:
        value = event.moment("scheduledAt")
        writes.append(_tell_fact(told, assignment, lww.APPOINTMENT, Fact.APPOINTMENT, value))
    if (day := event.day("estimatedDeliveryAt")) is not None:
        writes.append(_tell_fact(told, assignment, lww.ESTIMATE, Fact.ESTIMATE, day))
    action = told.word("actionRequired")
    if action or status != statuses.AssignmentStatus.ACTION_REQUIRED:
        writes.append(_tell_fact(told, assignment, lww.ACTION, Fact.ACTION, action))
    return writes


def _tell_fact(
    told: Told, assignment: Assignment, register: Register, fact: Fact, value: Any
) -> Write:
    """Write a date or another fact; a line only where it is news: two events tell the same date."""
    write = _write(told, assignment, register, value)
    if write.before != value:
        told.enter(assignment, fact, previous=write.before, new=value, was_stale=not write.is_new)
    return write


def tell_appointment(told: Told) -> Effect:
    """APPOINTMENT_DATE_UPDATED: an explicit null means that the appointment is cleared (§6.3)."""
    moment = told.event.moment("scheduledAt")
    return _tell_date(told, lww.APPOINTMENT, Fact.APPOINTMENT, moment)


def tell_estimate(told: Told) -> Effect:
    """ESTIMATED_DELIVERY_UPDATED (§6.3)."""
    day = told.event.day("estimatedDeliveryAt")
    return _tell_date(told, lww.ESTIMATE, Fact.ESTIMATE, day)


def _tell_date(told: Told, register: Register, fact: Fact, value: date | None) -> Effect:
    order, assignment = assignment_of(told)
    write = _tell_fact(told, assignment, register, fact, value)
    if write.is_tie:
        told.rows.ask_for(order)
    what = f"{fact.label.lower()} {timeline.worded(value) or 'cleared'}"
    return _effect([write], f"{order}, {assignment}: {what}")


def tell_photographer(told: Told) -> Effect:
    """PHOTOGRAPHER_BOOKED: keep the id, and read the order for name and contact (§6.3)."""
    order = order_of(told)
    photographer_id = told.word("photographerId", 255)
    subject: Order | Assignment = order
    write = Write(before=None, is_new=True, is_tie=False)
    if rows.names_assignment(told.event):
        _, subject = assignment_of(told)
        known = subject.photographer
        # The same creative again keeps the name and contact that a read brought.
        value = known if known.get("id") == photographer_id else {"id": photographer_id}
        write = _write(told, subject, lww.PHOTOGRAPHER, value)
    told.enter(
        subject,
        Fact.PHOTOGRAPHER,
        previous=None,
        new=photographer_id,
        was_stale=not write.is_new,
    )
    if write.is_new or write.is_tie:
        told.rows.ask_for(order)
    where = str(order) if subject is order else f"{order}, {subject}"
    return _effect([write], f"{where}: photographer {photographer_id} booked")


def order_of(told: Told) -> Order:
    """Return the order of the event, with what the event says of its property."""
    order = told.rows.orders[rows.order_id(told.event)]
    ties = _ties(
        order,
        reference=told.word("objectReferenceId", 255),
        property_id=told.word("realEstatePropertyId", 255),
        find=told.rows.find_property,
    )
    if ties:
        told.rows.set(order, **ties)
    return order


def assignment_of(told: Told) -> tuple[Order, Assignment]:
    """Return the order and the assignment of the event."""
    order = order_of(told)
    assignment = told.rows.assignments[rows.assignment_id(told.event)]
    kind = told.word("assignmentType")
    if kind and not assignment.assignment_type:
        told.rows.set(assignment, assignment_type=kind)
    return order, assignment


def tie_to_property(order: Order, *, reference: str, property_id: str) -> None:
    """Note what names the order's property, and link it once it is known here (A43)."""
    find = functools.partial(rows.find_property, order.workspace_id)
    ties = _ties(order, reference=reference, property_id=property_id, find=find)
    for column, value in ties.items():
        untied = {column: getattr(order, column)}
        Order.objects.filter(pk=order.pk, **untied).update(**{column: value})
        setattr(order, column, value)


def _ties(
    order: Order,
    *,
    reference: str,
    property_id: str,
    find: Callable[[str, str], Property | None],
) -> dict[str, Any]:
    """Return the columns that tie the order to its property and are not filled yet."""
    told = {"object_reference_id": reference, "property_platform_id": property_id}
    ties: dict[str, Any] = {
        column: value for column, value in told.items() if value and not getattr(order, column)
    }
    if order.real_estate_property_id is None:
        known = {column: getattr(order, column) for column in told} | ties
        found = find(known["object_reference_id"], known["property_platform_id"])
        if found is not None:
            ties["real_estate_property_id"] = found.pk
    return ties


def ask_for(order: Order, *, now: datetime) -> None:
    """Make the order due for a read now."""
    poller.ask(Order.objects.filter(pk=order.pk), QUEUE, order.workspace_id, now=now)


def _write(told: Told, row: Order | Assignment, register: Register, value: Any) -> Write:
    return told.rows.tell(row, register, value, told.origin.stamp)


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
