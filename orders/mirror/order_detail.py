"""What a read of an order says, written only where nothing newer has come since (I23, I29)."""

import functools
import math
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from crm_sync.platform import lists
from crm_sync.platform.errors import TransientError
from crm_sync.platform.events import NotUnderstood, read_moment
from crm_sync.platform.responses import Answer
from crm_sync.text import clean
from orders.mirror import lww, timeline_lines
from orders.mirror.assignment_detail import move, observe_item
from orders.mirror.forgotten_people import marks, without_contacts
from orders.mirror.observation import OrderObservation, key, word
from orders.mirror.rows import ASSIGNMENTS
from orders.mirror.updates import tie_to_property
from orders.models import Assignment, Order, StatusChange, statuses
from orders.reads import poller, read_schedule


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
    order, document = before.order, answer.cleaned
    if not isinstance(document, dict):
        raise TransientError(f"the detail of {order} is not a JSON object", unclear=False)
    document = without_contacts(document, marks(order.workspace_id))
    observation = OrderObservation(answer.as_of, source, now)
    with transaction.atomic():
        _observe_assignments(before, document, observation)
        _observe_status(order, word(document, "status", 100), observation)
        _keep_detail(order, document, now)
        observation.tell(order.workspace_id)
    return observation.contradicts


def observe_list(
    order: Order, items: list[dict[str, Any]], *, as_of: datetime | None, now: datetime
) -> bool:
    """Write the list of an order's assignments (A36) into the mirror, which knows none of them.

    Args:
        as_of: the platform's clock when it was asked, or before.

    Returns:
        True when it should be read again soon, because it contradicts something young.
    """
    observation = OrderObservation(as_of, StatusChange.Source.READ, now)
    items = without_contacts(items, marks(order.workspace_id))
    with transaction.atomic():
        _observe_assignments(OrderSnapshot(order), {"assignments": clean(items)[0]}, observation)
        observation.tell(order.workspace_id)
    return observation.contradicts


def next_read(order: Order, *, contradicts: bool, now: datetime) -> datetime | None:
    """Say when an order, as it stands after `observe`, is read next; None after the last time."""
    return read_schedule.next_read(
        order.status,
        since=order.placed_at or order.created_at,
        status_at=lambda: timeline_lines.reached_at(order),
        contradicts=contradicts,
        now=now,
    )


def _observe_status(order: Order, status: str, observation: OrderObservation) -> None:
    if status:
        is_listed = statuses.is_reachable(order.status, status, statuses.ORDER_TRANSITIONS)
        fact = StatusChange.Fact.ORDER_STATUS
        observation.write(order, lww.STATUS, fact, status, is_listed=is_listed)


def _observe_assignments(
    before: OrderSnapshot, document: dict[str, Any], observation: OrderObservation
) -> None:
    """Write what is said of each, and make due for a read what the detail is silent about."""
    items = named_assignments(document)
    unnamed = (row for name, row in before.assignments.items() if name not in items)
    # Its own read shows whether the platform has it no longer, or the detail is abridged.
    silent = [row.pk for row in unnamed if row.withdrawn_at is None]
    for platform_id in sorted(items, key=functools.partial(_in_sequence, before)):
        row = before.assignments.get(platform_id)
        if row is None:
            row = _first_seen(before.order, platform_id, now=observation.now)
        if observe_item(row, items[platform_id], observation):
            silent.append(row.pk)
    if silent:
        rows = Assignment.objects.filter(pk__in=silent)
        poller.ask(rows, ASSIGNMENTS, before.order.workspace_id, now=observation.now)


def named_assignments(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a detail says of each assignment, by its id; of some that is the id alone."""
    names = ("assignmentIds", "assignments")  # what an object says counts
    listed = [lists.with_ids(document.get(name)) for name in names]
    entries = [one for value in listed if isinstance(value, list) for one in value]
    items = [item for item in entries if isinstance(item, dict)]
    return {name: item for item in items if (name := key(item, "id", "assignmentId"))}


def _in_sequence(before: OrderSnapshot, platform_id: str) -> tuple[float, str]:
    """Say when an assignment is locked: as events do it, so that no two wait for each other."""
    known = before.assignments.get(platform_id)
    return (math.inf if known is None else known.pk), platform_id


def _first_seen(order: Order, platform_id: str, *, now: datetime) -> Assignment:
    """Create the assignment; one that an event has created meanwhile keeps what that event said.

    One that was known under another order moves to this one, which shows it now.
    """
    row, is_first = Assignment.objects.get_or_create(
        workspace_id=order.workspace_id,
        platform_id=platform_id,
        defaults={"order": order, "created_at": now},
    )
    if row.order_id != order.pk:
        move(row, order)
    # As it was when the read began: unknown, with no watermark.
    return row if is_first else Assignment(pk=row.pk, order=order, platform_id=platform_id)


def _keep_detail(order: Order, document: dict[str, Any], now: datetime) -> None:
    """Keep the detail as it was read, and what in it never changes."""
    columns: dict[str, Any] = {"observed": document, "read_at": now}
    placed_at = document.get("createdAt")
    try:
        if placed_at is not None:
            columns["placed_at"] = read_moment("createdAt", placed_at)
    except NotUnderstood:
        pass
    if user := key(document, "userId"):
        columns["user_platform_id"] = user
    # A slower reader that began before writes nothing.
    Order.objects.filter(pk=order.pk).exclude(read_at__gt=now).update(**columns)
    tie_to_property(
        order,
        reference=key(document, "objectReferenceId"),
        property_id=key(document, "realEstatePropertyId"),
    )
