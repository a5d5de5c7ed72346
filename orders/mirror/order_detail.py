"""Writes a read of an order, unless newer values have arrived since (I23, I29)."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from crm_sync.platform import lists
from crm_sync.platform.events import NotUnderstood, read_moment
from crm_sync.platform.responses import Answer
from crm_sync.text import clean
from orders.mirror import lww, timeline_lines
from orders.mirror.assignment_detail import move, observe_item
from orders.mirror.platform_reading import PlatformReading, detail, key, readable, word
from orders.models import Assignment, Order, StatusChange, statuses
from orders.reads import read_schedule


@dataclass(frozen=True)
class OrderSnapshot:
    """The rows before the read began. Their watermarks decide what the read may write."""

    order: Order
    assignments: dict[str, Assignment] = field(default_factory=dict)


def known(order: Order) -> OrderSnapshot:
    """Load the order and its assignments from the database, right before the call."""
    rows = Assignment.objects.filter(order_id=order.pk)
    return OrderSnapshot(Order.objects.get(pk=order.pk), {row.platform_id: row for row in rows})


def observe(
    before: OrderSnapshot, answer: Answer, *, source: StatusChange.Source, now: datetime
) -> bool:
    """Write an order detail (A35) into the mirror, and request a read of what it leaves out.

    Args:
        before: see `known`. It has a bare row if the order was unknown before.
        now: our time of the read. It does not decide which value is newer.

    Returns:
        True when it should be read again soon, because it contradicts a recent value.

    Raises:
        TransientError: the answer is not an order.
    """
    document = detail(before.order, answer)
    reading = PlatformReading(before.order.workspace_id, as_of=answer.as_of, source=source, now=now)
    with transaction.atomic():
        _lock_assignments(before, document, reading)
        document = readable(before.order, document)
        _observe_assignments(before, document, reading)
        reading.lock_orders([before.order.platform_id])
        order = reading.orders[before.order.platform_id]
        if status := word(document, "status", 100):
            is_listed = statuses.is_reachable(order.status, status, statuses.ORDER_TRANSITIONS)
            reading.observe(
                order, lww.ORDER_STATUS, status, before=before.order, is_listed=is_listed
            )
        _keep_detail(order, document, reading)
        reading.write()
    return reading.contradicts


def observe_list(
    order: Order, items: list[dict[str, Any]], *, as_of: datetime | None, now: datetime
) -> bool:
    """Write the list of an order's assignments (A36) into the mirror, which has none of them.

    Args:
        as_of: the platform's time of the request, or earlier.

    Returns:
        True when it should be read again soon, because it contradicts a recent value.
    """
    source = StatusChange.Source.READ
    reading = PlatformReading(order.workspace_id, as_of=as_of, source=source, now=now)
    before, document = OrderSnapshot(order), {"assignments": clean(items)[0]}
    with transaction.atomic():
        _lock_assignments(before, document, reading)
        document = readable(order, document)
        _observe_assignments(before, document, reading)
        reading.write()
    return reading.contradicts


def next_read(order: Order, *, contradicts: bool, now: datetime) -> datetime | None:
    """Return when an order is read next after `observe`, or None after the last read."""
    return read_schedule.next_read(
        order.status,
        since=order.placed_at or order.created_at,
        status_at=lambda: timeline_lines.reached_at(order),
        contradicts=contradicts,
        now=now,
    )


def _lock_assignments(
    before: OrderSnapshot, document: dict[str, Any], reading: PlatformReading
) -> None:
    """Lock the assignments of an order, and create the unknown ones."""
    order = before.order

    def first_seen(names: Collection[str]) -> list[Assignment]:
        said = {"workspace_id": order.workspace_id, "order_id": order.pk}
        return [Assignment(platform_id=name, created_at=reading.now, **said) for name in names]

    reading.lock_assignments({*before.assignments, *named_assignments(document)}, first_seen)


def _observe_assignments(
    before: OrderSnapshot, document: dict[str, Any], reading: PlatformReading
) -> None:
    """Write each locked assignment, and request a read if the detail omits or abridges it."""
    order, items = before.order, named_assignments(document)
    for name, row in reading.assignments.items():
        if name not in items:
            # Its own read shows whether it is gone or the detail is abridged.
            if row.withdrawn_at is None:
                reading.ask_for(row)
            continue
        known = before.assignments.get(name)
        if known is None and row.order_id != order.pk:  # until now it belonged to another order
            move(row, order, reading)
        if observe_item(row, items[name], reading, before=known):
            reading.ask_for(row)


def named_assignments(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each assignment of a detail by its id. Some have only an id."""
    names = ("assignmentIds", "assignments")  # an object replaces a bare id
    listed = [lists.with_ids(document.get(name)) for name in names]
    entries = [one for value in listed if isinstance(value, list) for one in value]
    items = [item for item in entries if isinstance(item, dict)]
    return {name: item for item in items if (name := key(item, "id", "assignmentId"))}


def _keep_detail(order: Order, document: dict[str, Any], reading: PlatformReading) -> None:
    """Store the detail as it was read, and its values that never change."""
    if order.read_at is None or order.read_at <= reading.now:  # else a later read has been written
        columns: dict[str, Any] = {"observed": document, "read_at": reading.now}
        placed_at = document.get("createdAt")
        try:
            if placed_at is not None:
                columns["placed_at"] = read_moment("createdAt", placed_at)
        except NotUnderstood:
            pass
        if user := key(document, "userId"):
            columns["user_platform_id"] = user
        reading.set(order, **columns)
    reading.tie(
        order,
        reference=key(document, "objectReferenceId"),
        property_id=key(document, "realEstatePropertyId"),
    )
