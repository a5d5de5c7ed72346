"""What a read of an order says, written only where nothing newer has come since (I23, I29)."""

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
from orders.mirror.forgotten_people import marks, without_contacts
from orders.mirror.platform_reading import PlatformReading, key, readable, word
from orders.models import Assignment, Order, StatusChange, statuses
from orders.reads import read_schedule


@dataclass(frozen=True)
class OrderSnapshot:
    """The rows as they were before the read began: their watermarks decide what it may write."""

    order: Order
    assignments: dict[str, Assignment] = field(default_factory=dict)


def known(order: Order) -> OrderSnapshot:
    """Load the order and its assignments afresh; to be called right before the call goes out."""
    rows = Assignment.objects.filter(order_id=order.pk)
    return OrderSnapshot(Order.objects.get(pk=order.pk), {row.platform_id: row for row in rows})


def observe(
    before: OrderSnapshot, answer: Answer, *, source: StatusChange.Source, now: datetime
) -> bool:
    """Write an order detail (A35) into the mirror, and ask for what it is silent about.

    Args:
        before: see `known`; with a bare row where the order was not known before.
        now: our clock; says when it was read, and orders nothing.

    Returns:
        True when it should be read again soon, because it contradicts something young.

    Raises:
        TransientError: the answer is no order.
    """
    document = readable(before.order, answer)
    reading = PlatformReading(before.order.workspace_id, as_of=answer.as_of, source=source, now=now)
    with transaction.atomic():
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
    """Write the list of an order's assignments (A36) into the mirror, which knows none of them.

    Args:
        as_of: the platform's clock when it was asked, or before.

    Returns:
        True when it should be read again soon, because it contradicts something young.
    """
    source = StatusChange.Source.READ
    reading = PlatformReading(order.workspace_id, as_of=as_of, source=source, now=now)
    items = without_contacts(clean(items)[0], marks(order.workspace_id))
    with transaction.atomic():
        _observe_assignments(OrderSnapshot(order), {"assignments": items}, reading)
        reading.write()
    return reading.contradicts


def next_read(order: Order, *, contradicts: bool, now: datetime) -> datetime | None:
    """Return when an order is read next after `observe`; None after the last time."""
    return read_schedule.next_read(
        order.status,
        since=order.placed_at or order.created_at,
        status_at=lambda: timeline_lines.reached_at(order),
        contradicts=contradicts,
        now=now,
    )


def _observe_assignments(
    before: OrderSnapshot, document: dict[str, Any], reading: PlatformReading
) -> None:
    """Write what is said of each, and make due for a read what the detail is silent about."""
    order, items = before.order, named_assignments(document)

    def first_seen(names: Collection[str]) -> list[Assignment]:
        said = {"workspace_id": order.workspace_id, "order_id": order.pk}
        return [Assignment(platform_id=name, created_at=reading.now, **said) for name in names]

    reading.lock_assignments({*before.assignments, *items}, first_seen)
    for name, row in reading.assignments.items():
        if name not in items:
            # Its own read shows whether the platform has it no longer, or the detail is abridged.
            if row.withdrawn_at is None:
                reading.ask_for(row)
            continue
        known = before.assignments.get(name)
        if known is None and row.order_id != order.pk:  # its order until now was another
            move(row, order, reading)
        if observe_item(row, items[name], reading, before=known):
            reading.ask_for(row)


def named_assignments(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a detail says of each assignment, by its id; of some that is the id alone."""
    names = ("assignmentIds", "assignments")  # what an object says counts
    listed = [lists.with_ids(document.get(name)) for name in names]
    entries = [one for value in listed if isinstance(value, list) for one in value]
    items = [item for item in entries if isinstance(item, dict)]
    return {name: item for item in items if (name := key(item, "id", "assignmentId"))}


def _keep_detail(order: Order, document: dict[str, Any], reading: PlatformReading) -> None:
    """Keep the detail as it was read, and what in it never changes."""
    if order.read_at is None or order.read_at <= reading.now:  # else a later reader was faster
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
