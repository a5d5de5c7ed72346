"""What a read of an order says, written only where nothing newer has come since (I23, I29)."""

import functools
import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from crm_sync.platform.errors import TransientError
from crm_sync.platform.events import NotUnderstood, canonical_digest, read_day, read_moment
from crm_sync.platform.responses import Answer
from orders import statuses
from orders.mirror import lww, timeline
from orders.mirror.lww import LwwField, Stamp
from orders.mirror.updates import tie_to_property
from orders.models import EPOCH, Assignment, Order, StatusChange
from orders.reads import schedule

# A read that contradicts an event younger than this may come from a copy of the platform's data
# that lags behind: it counts, but the order is read again (I23).
LAG = timedelta(seconds=10)
FACT_OF = {
    lww.STATUS: StatusChange.Fact.ASSIGNMENT_STATUS,
    lww.APPOINTMENT: StatusChange.Fact.APPOINTMENT,
    lww.ESTIMATE: StatusChange.Fact.ESTIMATE,
    lww.ACTION: StatusChange.Fact.ACTION,
    lww.PHOTOGRAPHER: StatusChange.Fact.PHOTOGRAPHER,
}


@dataclass(frozen=True)
class Known:
    """The rows as they were before the read began: their watermarks decide what it may write."""

    order: Order
    assignments: dict[str, Assignment] = field(default_factory=dict)


def known(order: Order) -> Known:
    """Load the order and its assignments afresh; to be called right before the call goes out."""
    rows = Assignment.objects.filter(order_id=order.pk)
    return Known(Order.objects.get(pk=order.pk), {row.platform_id: row for row in rows})


def observe(before: Known, answer: Answer, *, source: StatusChange.Source, now: datetime) -> bool:
    """Write an order detail (A35) into the mirror.

    Args:
        before: see `known`; with a bare row where the order was not known before.
        now: our clock; says when it was read, and orders nothing.

    Returns:
        True when it should be read again soon, because it contradicts something young.

    Raises:
        TransientError: the answer is no order.
    """
    order, document = before.order, answer.cleaned
    if not isinstance(document, dict):
        raise TransientError(f"the detail of {order} is no JSON object", unclear=False)
    look = _Look(answer.as_of, source, now)
    with transaction.atomic():
        items = [item for item in _list(document, "assignments") if _word(item, "id", 255)]
        for item in sorted(items, key=functools.partial(_in_sequence, before)):
            _observe_assignment(before, item, look)
        _observe_status(order, _word(document, "status", 100), look)
        _keep_detail(order, document, now)
    return look.contradicts


def next_read(order: Order, *, contradicts: bool, now: datetime) -> datetime | None:
    """Say when an order, as it stands after `observe`, is read next; None after the last time."""
    return schedule.next_read(
        order.status,
        since=order.placed_at or order.created_at,
        status_at=lambda: timeline.reached_at(order),
        contradicts=contradicts,
        now=now,
    )


def _observe_status(order: Order, status: str, look: "_Look") -> None:
    if status:
        is_listed = statuses.is_reachable(order.status, status, statuses.ORDER_TRANSITIONS)
        fact = StatusChange.Fact.ORDER_STATUS
        look.write(order, lww.STATUS, fact, status, is_listed=is_listed)


def _in_sequence(before: Known, item: dict[str, Any]) -> tuple[float, str]:
    """Say when an assignment is locked: as events do it, so that no two wait for each other."""
    platform_id = _word(item, "id", 255)
    known = before.assignments.get(platform_id)
    return (math.inf if known is None else known.pk), platform_id


def _observe_assignment(before: Known, item: dict[str, Any], look: "_Look") -> None:
    """Write one assignment (A37). In a detail what is absent is not there, unlike in an event."""
    platform_id, kind = _word(item, "id", 255), _word(item, "assignmentType", 100)
    row = before.assignments.get(platform_id)
    if row is None:
        row = _first_seen(before.order, platform_id, now=look.now)
    plain: dict[str, Any] = {
        "assignment_type": kind or row.assignment_type,
        "products": _list_of_words(item),
    }
    Assignment.objects.filter(pk=row.pk).exclude(**plain).update(**plain)
    status = _word(item, "status", 100)
    if not status:
        return  # an abridged item: its silence means nothing
    tables = statuses.assignment_tables(plain["assignment_type"])
    for lww_field, value in _facts(item, status):
        is_listed = lww_field != lww.STATUS or statuses.is_reachable(row.status, status, *tables)
        look.write(row, lww_field, FACT_OF[lww_field], value, is_listed=is_listed)


def _first_seen(order: Order, platform_id: str, *, now: datetime) -> Assignment:
    """Create the assignment; one that an event has created meanwhile keeps what that event said."""
    row, is_first = Assignment.objects.get_or_create(
        workspace_id=order.workspace_id,
        platform_id=platform_id,
        defaults={"order": order, "created_at": now},
    )
    # As it was when the read began: unknown, with no watermark.
    return row if is_first else Assignment(pk=row.pk, order=order, platform_id=platform_id)


def _facts(item: dict[str, Any], status: str) -> list[tuple[LwwField, Any]]:
    facts: list[tuple[LwwField, Any]] = [
        (lww.STATUS, status),
        (lww.ACTION, _word(item, "actionRequired", 100)),
    ]
    photographer = item.get("photographer")
    facts.append((lww.PHOTOGRAPHER, photographer if isinstance(photographer, dict) else {}))
    readers = {"scheduledAt": read_moment, "estimatedDeliveryAt": read_day}
    columns = {"scheduledAt": lww.APPOINTMENT, "estimatedDeliveryAt": lww.ESTIMATE}
    for name, read in readers.items():
        value = item.get(name)
        try:
            facts.append((columns[name], None if value is None else read(name, value)))
        except NotUnderstood:
            continue  # the column keeps what it has; `Order.observed` shows the word that came
    return facts


@dataclass
class _Look:
    """One read on its way into fields and timeline."""

    as_of: datetime | None
    source: StatusChange.Source
    now: datetime
    contradicts: bool = False

    def write(
        self,
        row: Order | Assignment,
        lww_field: LwwField,
        fact: StatusChange.Fact,
        value: Any,
        *,
        is_listed: bool,
    ) -> None:
        before, mark = getattr(row, lww_field.value), getattr(row, lww_field.at)
        if not lww.observe(row, lww_field, value, as_of=self.as_of) or value == before:
            return
        stamp = Stamp(self.as_of or self.now, self._digest(row, lww_field, value))
        origin = timeline.Origin(stamp, self.source)
        timeline.enter(
            timeline.line(row, fact, previous=before, new=value, origin=origin, is_listed=is_listed)
        )
        if mark > EPOCH and (self.as_of is None or self.as_of < mark + LAG):
            self.contradicts = True

    def _digest(self, row: Order | Assignment, lww_field: LwwField, value: Any) -> str:
        seen = [row._meta.label, row.pk, lww_field.value, str(value), str(self.now)]
        return canonical_digest(seen)


def _keep_detail(order: Order, document: dict[str, Any], now: datetime) -> None:
    """Keep the detail as it was read, and what in it never changes."""
    columns: dict[str, Any] = {"observed": document, "read_at": now}
    placed_at = document.get("createdAt")
    try:
        if placed_at is not None:
            columns["placed_at"] = read_moment("createdAt", placed_at)
    except NotUnderstood:
        pass
    if user := _word(document, "userId", 255):
        columns["user_platform_id"] = user
    # A slower reader that began before writes nothing.
    Order.objects.filter(pk=order.pk).exclude(read_at__gt=now).update(**columns)
    tie_to_property(
        order,
        reference=_word(document, "objectReferenceId", 255),
        property_id=_word(document, "realEstatePropertyId", 255),
    )


def _word(document: dict[str, Any], name: str, limit: int) -> str:
    value = document.get(name)
    return "" if value is None else str(value)[:limit]


def _list(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = document.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _list_of_words(item: dict[str, Any]) -> list[str]:
    value = item.get("products")
    return [str(word) for word in value] if isinstance(value, list) else []
