"""What an event says about orders and assignments becomes rows (I22-I24).

A mirror records what the platform says, also what §3 does not list, and flags it.
"""

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from crm_sync.hooks import Effect, Outcome
from crm_sync.platform.events import Event
from orders.mirror import lww, rows, snapshot, timeline_lines
from orders.mirror.lww import LwwField, Stamp, Write
from orders.mirror.observation import key
from orders.mirror.rows import Rows
from orders.models import Assignment, Order, StatusChange, statuses
from orders.reads import poller
from properties.models import Property

QUEUE = rows.QUEUE
Fact = StatusChange.Fact


@dataclass(frozen=True)
class EventContext:
    """One event on its way into the mirror."""

    rows: Rows
    event: Event
    received_event_id: int | None

    def word(self, name: str, limit: int = 100) -> str:
        """Return a text field as a column of that width holds it (A7)."""
        return rows.word(self.event, name, limit)

    def key(self, name: str) -> str:
        """Return an id or a reference, "" where it is longer than any: cut, it is another one."""
        return key(self.event.fields, name)

    def enter(self, subject: Order | Assignment, fact: StatusChange.Fact, **what: Any) -> None:
        """Add a line to the timeline, with `what` of `timeline.line`."""
        self.rows.enter(timeline_lines.line(subject, fact, origin=self.origin, **what))

    @property
    def origin(self) -> timeline_lines.Provenance:
        """Where the lines that it adds to the timeline come from."""
        stamp = Stamp(self.event.at, self.event.digest)
        return timeline_lines.Provenance(
            stamp, StatusChange.Source.CALLBACK, self.received_event_id
        )


def apply_order_status(context: EventContext) -> Effect:
    """ORDER_STATUS_UPDATED (§6.3)."""
    order = order_of(context)
    previous, new = context.word("previousStatus"), context.word("newStatus")
    is_listed = statuses.is_listed(previous, new, statuses.ORDER_TRANSITIONS)
    write = _write(context, order, lww.STATUS, new)
    context.enter(
        order,
        Fact.ORDER_STATUS,
        previous=previous,
        new=new,
        is_listed=is_listed,
        was_stale=not write.is_new,
    )
    is_end = _has_ended(write, order, new, statuses.ORDER_TERMINAL)
    if write.is_tie or is_end or _is_gap(write, previous, is_listed):
        context.rows.ask_for(order)
    return _effect([write], f"{order}: {_move(previous, new, is_listed)}")


def apply_assignment_status(context: EventContext) -> Effect:
    """ASSIGNMENT_STATUS_UPDATED, nudges with refreshed logistics included (§3.3, §6.3)."""
    order, assignment = assignment_of(context)
    previous, new = context.word("previousStatus"), context.word("newStatus")
    tables = statuses.assignment_tables(assignment.assignment_type)
    is_listed = statuses.is_nudge(previous, new) or statuses.is_listed(previous, new, *tables)
    write = _write(context, assignment, lww.STATUS, new)
    context.enter(
        assignment,
        Fact.ASSIGNMENT_STATUS,
        previous=previous,
        new=new,
        is_listed=is_listed,
        was_stale=not write.is_new,
    )
    writes = [write, *_write_logistics(context, assignment, new)]
    is_end = _has_ended(write, assignment, new, statuses.ASSIGNMENT_TERMINAL)
    if any(one.is_tie for one in writes) or is_end or _is_gap(write, previous, is_listed):
        context.rows.ask_for(order)
    return _effect(writes, f"{order}, {assignment}: {_move(previous, new, is_listed)}")


def _write_logistics(context: EventContext, assignment: Assignment, status: str) -> list[Write]:
    """Write the logistics that a status event carries; an absent field keeps (§6.3)."""
    event, writes = context.event, []
    if "scheduledAt" in event.fields:
        value = event.moment("scheduledAt")
        writes.append(_write_fact(context, assignment, lww.APPOINTMENT, Fact.APPOINTMENT, value))
    if (day := event.day("estimatedDeliveryAt")) is not None:
        writes.append(_write_fact(context, assignment, lww.ESTIMATE, Fact.ESTIMATE, day))
    action = context.word("actionRequired")
    if action or status != statuses.AssignmentStatus.ACTION_REQUIRED:
        writes.append(_write_fact(context, assignment, lww.ACTION, Fact.ACTION, action))
    return writes


def _write_fact(
    context: EventContext, assignment: Assignment, lww_field: LwwField, fact: Fact, value: Any
) -> Write:
    """Write a date or another fact, and a line if it is new: two events may carry the same date."""
    write = _write(context, assignment, lww_field, value)
    if write.before != value:
        context.enter(
            assignment, fact, previous=write.before, new=value, was_stale=not write.is_new
        )
    return write


def apply_appointment(context: EventContext) -> Effect:
    """APPOINTMENT_DATE_UPDATED: an explicit null means that the appointment is cleared (§6.3)."""
    moment = context.event.moment("scheduledAt")
    return _apply_date(context, lww.APPOINTMENT, Fact.APPOINTMENT, moment)


def apply_estimate(context: EventContext) -> Effect:
    """ESTIMATED_DELIVERY_UPDATED (§6.3)."""
    day = context.event.day("estimatedDeliveryAt")
    return _apply_date(context, lww.ESTIMATE, Fact.ESTIMATE, day)


def _apply_date(
    context: EventContext, lww_field: LwwField, fact: Fact, value: date | None
) -> Effect:
    order, assignment = assignment_of(context)
    write = _write_fact(context, assignment, lww_field, fact, value)
    if write.is_tie:
        context.rows.ask_for(order)
    what = f"{fact.label.lower()} {snapshot.worded(value) or 'cleared'}"
    return _effect([write], f"{order}, {assignment}: {what}")


def apply_photographer(context: EventContext) -> Effect:
    """PHOTOGRAPHER_BOOKED: keep the id, and read the assignment for name and contact (§6.3).

    Without an assignment the order is read, which names it.
    """
    order = order_of(context)
    photographer_id = context.word("photographerId", 255)
    subject: Order | Assignment = order
    write = Write(before=None, is_new=True, is_tie=False)
    if rows.names_assignment(context.event):
        _, subject = assignment_of(context)
        known = subject.photographer
        # The same creative again keeps the name and contact that a read brought.
        value = known if known.get("id") == photographer_id else {"id": photographer_id}
        write = _write(context, subject, lww.PHOTOGRAPHER, value)
    context.enter(
        subject,
        Fact.PHOTOGRAPHER,
        previous=None,
        new={"id": photographer_id},
        was_stale=not write.is_new,
    )
    if write.is_new or write.is_tie:
        context.rows.ask_for(subject)
    where = str(order) if subject is order else f"{order}, {subject}"
    return _effect([write], f"{where}: photographer {photographer_id} booked")


def apply_other(context: EventContext) -> Effect:
    """An event of a kind that we do not know: a read shows what has become of its order (§9)."""
    order = order_of(context)
    context.rows.ask_for(order)
    kind = context.event.kind[:100]
    return Effect(Outcome.APPLIED, f"{order}: {kind} is not known here, so the order is read")


def order_of(context: EventContext) -> Order:
    """Return the order of the event, with what the event says of its property."""
    order = context.rows.orders[rows.order_id(context.event)]
    ties = _ties(
        order,
        reference=context.key("objectReferenceId"),
        property_id=context.key("realEstatePropertyId"),
        find=context.rows.find_property,
    )
    if ties:
        context.rows.set(order, **ties)
    return order


def assignment_of(context: EventContext) -> tuple[Order, Assignment]:
    """Return the order and the assignment of the event."""
    order = order_of(context)
    assignment = context.rows.assignments[rows.assignment_id(context.event)]
    if assignment.order_id != order.pk:
        context.rows.ask_for(order)  # a read of that order shows whether it has moved
    if assignment.withdrawn_at is not None:
        context.rows.ask_for(assignment)  # is it there again?
    kind = context.word("assignmentType")
    if kind and not assignment.assignment_type:
        context.rows.set(assignment, assignment_type=kind)
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
    context = {"object_reference_id": reference, "property_platform_id": property_id}
    ties: dict[str, Any] = {
        column: value for column, value in context.items() if value and not getattr(order, column)
    }
    if order.real_estate_property_id is None:
        known = {column: getattr(order, column) for column in context} | ties
        found = find(known["object_reference_id"], known["property_platform_id"])
        if found is not None:
            ties["real_estate_property_id"] = found.pk
    return ties


def ask_for(order: Order, *, now: datetime) -> None:
    """Make the order due for a read now."""
    poller.ask(Order.objects.filter(pk=order.pk), QUEUE, order.workspace_id, now=now)


def _write(
    context: EventContext, row: Order | Assignment, lww_field: LwwField, value: Any
) -> Write:
    return context.rows.write_field(row, lww_field, value, context.origin.stamp)


def _is_gap(write: Write, previous: str, is_listed: bool) -> bool:
    """Tell whether something is missing before the event, or is strange about it (I24)."""
    return write.is_new and (write.before != previous or not is_listed)


def _has_ended(
    write: Write, row: Order | Assignment, status: str, terminal: Collection[str]
) -> bool:
    """Tell whether only events say that it has ended: nobody is told before a read has (S10)."""
    return write.is_new and status in terminal and not row.is_confirmed


def _move(previous: str, new: str, is_listed: bool) -> str:
    return f"{previous} → {new}" + ("" if is_listed else " (not a listed move)")


def _effect(writes: list[Write], text: str) -> Effect:
    if any(write.is_new for write in writes):
        return Effect(Outcome.APPLIED, text)
    others = [write for write in writes if not write.is_known]
    if not others:
        return Effect(Outcome.STALE, f"{text}; that is known already")
    is_newer = not all(write.is_tie for write in others)
    known = "something newer" if is_newer else "another one of the same moment"
    return Effect(Outcome.STALE, f"{text}; {known} is known")
