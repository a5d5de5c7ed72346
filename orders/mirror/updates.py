"""Applies events about orders and assignments to the mirror (I22-I24).

The mirror records everything that the platform reports. Changes that §3 does not list are flagged.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db import transaction

from crm_sync.hooks import Effect, Outcome
from crm_sync.platform.events import Event
from crm_sync.platform.responses import LAG
from crm_sync.sentence import Sentence, sentence
from orders.mirror import event_rows, lww, timeline_lines
from orders.mirror.event_rows import EventRows
from orders.mirror.lww import LwwField, Stamp, Write
from orders.mirror.platform_reading import key
from orders.mirror.unit_of_work import ORDERS, UnitOfWork
from orders.models import Assignment, Order, StatusChange, statuses
from orders.reads import poller

Fact = StatusChange.Fact


@dataclass(frozen=True)
class EventContext:
    """One event on its way into the mirror."""

    rows: EventRows
    event: Event
    received_event_id: int | None

    def word(self, name: str, limit: int = 100) -> str:
        """Return a text field as a column of that width holds it (A7)."""
        return event_rows.word(self.event, name, limit)

    def key(self, name: str) -> str:
        """Return an id or a reference, or "" if it is too long: cut, it could be another id."""
        return key(self.event.fields, name)

    def enter(self, subject: Order | Assignment, fact: StatusChange.Fact, **what: Any) -> None:
        """Add a line to the timeline. `what` holds arguments of `timeline_lines.line`."""
        self.rows.enter(timeline_lines.line(subject, fact, origin=self.origin, **what))

    def write(self, row: Order | Assignment, lww_field: LwwField, value: Any) -> Write:
        """Write a mirrored field, unless the row holds something newer."""
        return self.rows.write_field(row, lww_field, value, self.origin.stamp)

    @property
    def origin(self) -> timeline_lines.Provenance:
        """The origin of the timeline lines of this event."""
        stamp = Stamp(self.event.at, self.event.digest)
        return timeline_lines.Provenance(
            stamp, StatusChange.Source.CALLBACK, self.received_event_id
        )


def apply_order_status(context: EventContext) -> Effect:
    """Apply ORDER_STATUS_UPDATED (§6.3)."""
    order = order_of(context)
    return _apply_status(context, order, order, lww.ORDER_STATUS)


def apply_assignment_status(context: EventContext) -> Effect:
    """Apply ASSIGNMENT_STATUS_UPDATED, including nudges with new logistics (§3.3, §6.3)."""
    order, assignment = assignment_of(context)
    return _apply_status(context, order, assignment, lww.ASSIGNMENT_STATUS)


def _apply_status(
    context: EventContext, order: Order, row: Order | Assignment, lww_field: LwwField
) -> Effect:
    previous, new = context.word("previousStatus"), context.word("newStatus")
    if isinstance(row, Order):
        is_listed = statuses.is_listed(previous, new, statuses.ORDER_TRANSITIONS)
        terminal = statuses.ORDER_TERMINAL
    else:
        tables = statuses.assignment_tables(row.assignment_type)
        is_nudge = statuses.is_nudge(previous, new)
        is_listed = is_nudge or statuses.is_listed(previous, new, *tables)
        terminal = statuses.ASSIGNMENT_TERMINAL
    held = lww_field.stamp_of(row)
    write = context.write(row, lww_field, new)
    # A read was faster: its own line, message and news say so already.
    is_move, is_recent = previous != new, context.event.at < held.at + LAG
    was_read = is_move and write.is_known and row.is_confirmed and is_recent
    context.enter(
        row,
        lww_field.fact,
        previous=previous,
        new=new,
        is_listed=is_listed,
        was_stale=was_read or not write.is_new,
    )
    writes = [write]
    if isinstance(row, Assignment):
        writes += _write_logistics(context, row, new)
    # An earlier event may be missing, or the move is not listed (I24).
    is_gap = write.before != previous or not is_listed
    # An end that only events report is not confirmed yet (S10).
    is_end = new in terminal and not row.is_confirmed
    if any(one.is_tie for one in writes) or (write.is_new and (is_gap or is_end)):
        context.rows.ask_for(order)
    return _effect(writes, _moved(_named(order, row), row, previous, new, is_listed=is_listed))


def _moved(
    subject: Sentence, row: Order | Assignment, previous: str, new: str, *, is_listed: bool
) -> Sentence:
    choices = statuses.OrderStatus if isinstance(row, Order) else statuses.AssignmentStatus
    move = sentence(
        "%(before)s → %(after)s",
        before=statuses.stored(previous, choices),
        after=statuses.stored(new, choices),
    )
    if is_listed:
        return sentence("%(subject)s: %(move)s", subject=subject, move=move)
    return sentence("%(subject)s: %(move)s (not a listed move)", subject=subject, move=move)


def _write_logistics(context: EventContext, assignment: Assignment, status: str) -> list[Write]:
    """Write the logistics of a status event. An absent field changes nothing (§6.3)."""
    event, writes = context.event, []
    if "scheduledAt" in event.fields:
        value = event.moment("scheduledAt")
        writes.append(_write_fact(context, assignment, lww.APPOINTMENT, value))
    if (day := event.day("estimatedDeliveryAt")) is not None:
        writes.append(_write_fact(context, assignment, lww.ESTIMATE, day))
    action = context.word("actionRequired")
    if action or status != statuses.AssignmentStatus.ACTION_REQUIRED:
        writes.append(_write_fact(context, assignment, lww.ACTION, action))
    return writes


def _write_fact(
    context: EventContext, assignment: Assignment, lww_field: LwwField, value: Any
) -> Write:
    """Write a fact, and a line if it is new, because two events may carry the same date."""
    write = context.write(assignment, lww_field, value)
    if write.before != value:
        context.enter(
            assignment, lww_field.fact, previous=write.before, new=value, was_stale=not write.is_new
        )
    return write


def apply_appointment(context: EventContext) -> Effect:
    """Apply APPOINTMENT_DATE_UPDATED. An explicit null clears the appointment (§6.3)."""
    moment = context.event.moment("scheduledAt")
    return _apply_date(context, lww.APPOINTMENT, moment)


def apply_estimate(context: EventContext) -> Effect:
    """Apply ESTIMATED_DELIVERY_UPDATED (§6.3)."""
    day = context.event.day("estimatedDeliveryAt")
    return _apply_date(context, lww.ESTIMATE, day)


def _apply_date(context: EventContext, lww_field: LwwField, value: date | None) -> Effect:
    order, assignment = assignment_of(context)
    write = _write_fact(context, assignment, lww_field, value)
    if write.is_tie:
        context.rows.ask_for(order)
    return _effect([write], _dated(_named(order, assignment), lww_field, value))


def _dated(subject: Sentence, lww_field: LwwField, value: date | None) -> Sentence:
    if lww_field is lww.APPOINTMENT:
        if value is None:
            return sentence("%(subject)s: appointment cleared", subject=subject)
        return sentence("%(subject)s: appointment %(value)s", subject=subject, value=value)
    if value is None:
        return sentence("%(subject)s: estimated delivery cleared", subject=subject)
    return sentence("%(subject)s: estimated delivery %(value)s", subject=subject, value=value)


def apply_photographer(context: EventContext) -> Effect:
    """Apply PHOTOGRAPHER_BOOKED: store the id, and request a read of name and contact (§6.3).

    Without an assignment, the order is read, which names the assignment.
    """
    order = order_of(context)
    photographer_id = context.word("photographerId", 255)
    subject: Order | Assignment = order
    writes = []
    if event_rows.names_assignment(context.event):
        _, subject = assignment_of(context)
        known = subject.photographer
        # If it is the same photographer, the name and contact from a read do not change.
        value = known if known.get("id") == photographer_id else {"id": photographer_id}
        writes.append(context.write(subject, lww.PHOTOGRAPHER, value))
    is_new = all(one.is_new for one in writes)
    context.enter(
        subject, Fact.PHOTOGRAPHER, previous=None, new={"id": photographer_id}, was_stale=not is_new
    )
    if is_new or any(one.is_tie for one in writes):
        context.rows.ask_for(subject)
    text = sentence(
        "%(subject)s: photographer %(id)s booked",
        subject=_named(order, subject),
        id=photographer_id,
    )
    return _effect(writes, text) if writes else Effect(Outcome.APPLIED, text)


def apply_other(context: EventContext) -> Effect:
    """Apply an event of an unknown kind: a read shows how its order has changed (§9)."""
    order = order_of(context)
    context.rows.ask_for(order)
    kind = context.event.kind[:100]
    text = sentence(
        "%(subject)s: %(kind)s is not known here, so the order is read",
        subject=_named(order, order),
        kind=kind,
    )
    return Effect(Outcome.APPLIED, text)


def order_of(context: EventContext) -> Order:
    """Return the order of the event, and store the event's ids of its property."""
    order = context.rows.orders[event_rows.order_id(context.event)]
    context.rows.tie(
        order,
        reference=context.key("objectReferenceId"),
        property_id=context.key("realEstatePropertyId"),
    )
    return order


def assignment_of(context: EventContext) -> tuple[Order, Assignment]:
    """Return the order and the assignment of the event."""
    order = order_of(context)
    assignment = context.rows.assignments[event_rows.assignment_id(context.event)]
    if assignment.order_id != order.pk:
        context.rows.ask_for(order)  # a read of the order shows whether the assignment has moved
    if assignment.withdrawn_at is not None:
        context.rows.ask_for(assignment)  # a read shows whether it is there again
    kind = context.word("assignmentType")
    if kind and not assignment.assignment_type:
        context.rows.set(assignment, assignment_type=kind)
    return order, assignment


def tie_to_property(order: Order, *, reference: str, property_id: str, now: datetime) -> None:
    """Store the ids of the order's property, and link it once it is known here (A43)."""
    with transaction.atomic():
        unit = UnitOfWork(order.workspace_id, now)
        unit.lock_orders([order.platform_id])
        unit.tie(unit.orders[order.platform_id], reference=reference, property_id=property_id)
        unit.write()


def ask_for(order: Order, *, now: datetime) -> None:
    """Make the order due for a read now."""
    poller.ask(Order.objects.filter(pk=order.pk), ORDERS, order.workspace_id, now=now)


def _named(order: Order, row: Order | Assignment) -> Sentence:
    if row is order:
        return sentence("order %(order)s", order=order.platform_id)
    ids = {"order": order.platform_id, "assignment": row.platform_id}
    return sentence("order %(order)s, assignment %(assignment)s", **ids)


def _effect(writes: list[Write], text: Sentence) -> Effect:
    if any(write.is_new for write in writes):
        return Effect(Outcome.APPLIED, text)
    others = [write for write in writes if not write.is_known]
    if not others:
        return Effect(Outcome.STALE, sentence("%(text)s; that is known already", text=text))
    if all(write.is_tie for write in others):
        known = sentence("%(text)s; another one of the same moment is known", text=text)
    else:
        known = sentence("%(text)s; something newer is known", text=text)
    return Effect(Outcome.STALE, known)
