"""Writes an assignment, as read in its order's detail or in its own detail (A37, §4.5).

The interface does not promise which members an order's detail has, or how much of its assignments
it shows. So a missing member erases nothing. Instead the assignment itself is read, which is the
source of photographer, schedule and products.
"""

import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction

from crm_sync.platform.events import Fault, NotUnderstood, read_day, read_moment
from crm_sync.platform.responses import Answer
from crm_sync.text import plain
from orders.mirror import lww
from orders.mirror.lww import LwwField
from orders.mirror.platform_reading import PlatformReading, detail, key, readable, word
from orders.models import Assignment, Order, StatusChange, statuses
from orders.models.statuses import AssignmentStatus

Item = dict[str, Any]
log = logging.getLogger(__name__)
PERSON = ("id", "name", "email", "phone")  # the members of a photographer that are texts (A37)
MEMBERS = {  # the members that an assignment may leave out
    lww.APPOINTMENT: "scheduledAt",
    lww.ESTIMATE: "estimatedDeliveryAt",
    lww.ACTION: "actionRequired",
    lww.PHOTOGRAPHER: "photographer",
}


def observe(
    before: Assignment, answer: Answer, *, source: StatusChange.Source, now: datetime
) -> bool:
    """Write the detail of an assignment into the mirror.

    A detail with `products` is complete: a member that it leaves out does not exist.

    Args:
        before: the assignment right before the call, with its order.

    Returns:
        True when it should be read again soon, because it contradicts a recent value.

    Raises:
        TransientError: the answer is not an assignment.
    """
    reading = PlatformReading(before.workspace_id, as_of=answer.as_of, source=source, now=now)
    with transaction.atomic():
        reading.lock_assignments([before.platform_id], lambda names: [])
        document = readable(before, detail(before, answer))
        row = reading.assignments[before.platform_id]
        # If we do not know the order, its own read will show the assignment.
        if order_id := key(document, "orderId"):
            named = Order.objects.filter(workspace_id=row.workspace_id, platform_id=order_id)
            if (order := named.exclude(pk=row.order_id).first()) is not None:
                move(row, order, reading)
        _write(row, document, reading, before=before, is_whole=_names_products(document))
        reading.write()
    return reading.contradicts


def observe_item(
    row: Assignment, item: Item, reading: PlatformReading, *, before: Assignment | None
) -> bool:
    """Write what an order's detail shows of an assignment. Missing members change nothing.

    Args:
        row: locked.
        before: the row before the read began, or None if it was unknown.

    Returns:
        True when the item lacks something, so that the assignment itself must be read.
    """
    is_silent = _is_silent(row, item)
    _write(row, item, reading, before=before, is_whole=False)
    return is_silent


def move(row: Assignment, order: Order, reading: PlatformReading) -> None:
    """Move an assignment to the order that shows it now, with its timeline and materials."""
    log.warning("%s moves to %s, which shows it now", row, order)
    reading.set(row, order_id=order.pk)
    row.changes.update(order=order)
    row.material_sets.update(
        order=order,
        property_platform_id=order.property_platform_id,
        real_estate_property=order.real_estate_property_id,
    )


def _is_silent(row: Assignment, item: Item) -> bool:
    """Return whether an item lacks members that every assignment has, or that this one has."""
    if not _names_products(item) or not word(item, "status", 100):
        return True
    try:
        person = _photographer(row.photographer, item.get("photographer"))
    except NotUnderstood:
        person = row.photographer
    is_new_name = person.keys() == {"id"} and person != row.photographer
    missing = (one for one, name in MEMBERS.items() if name not in item and one is not lww.ACTION)
    return is_new_name or any(getattr(row, one.value) for one in missing)


def _names_products(item: Item) -> bool:
    return isinstance(item.get("products"), list)


def _write(
    row: Assignment,
    item: Item,
    reading: PlatformReading,
    *,
    before: Assignment | None,
    is_whole: bool,
) -> None:
    kind = word(item, "assignmentType", 100) or row.assignment_type
    columns: dict[str, Any] = {"assignment_type": kind, "withdrawn_at": None}
    if _names_products(item):
        columns["products"] = [name for one in item["products"] if (name := _product(one))]
    reading.set(row, **columns)
    status = word(item, "status", 100)
    facts = list(_facts(row, item, status, is_whole=is_whole))
    if status:
        tables = statuses.assignment_tables(kind)
        is_listed = statuses.is_reachable(row.status, status, *tables)
        reading.observe(row, lww.ASSIGNMENT_STATUS, status, before=before, is_listed=is_listed)
    for lww_field, value in facts:
        reading.observe(row, lww_field, value, before=before)


def _facts(
    row: Assignment, item: Item, status: str, *, is_whole: bool
) -> Iterator[tuple[LwwField, Any]]:
    for lww_field, name in MEMBERS.items():
        # An action belongs to one status, as in an event.
        is_over = lww_field is lww.ACTION and status not in ("", AssignmentStatus.ACTION_REQUIRED)
        if name not in item and not (is_whole or is_over):
            continue
        try:
            yield lww_field, _value(row, lww_field, item.get(name))
        except NotUnderstood:
            continue  # the column does not change


def _value(row: Assignment, lww_field: LwwField, value: Any) -> Any:
    if lww_field is lww.PHOTOGRAPHER:
        return _photographer(row.photographer, value)
    name = MEMBERS[lww_field]
    if lww_field is lww.ACTION:
        if isinstance(value, dict | list):
            raise NotUnderstood(f"{name} is not a text", Fault.NOT_A_TEXT, name)
        return plain(value)[:100]
    if value is None:
        return None
    return read_moment(name, value) if lww_field is lww.APPOINTMENT else read_day(name, value)


def _product(value: Any) -> str:
    """Return the name of a product. It may be an object, as in a session (A31)."""
    return word(value, "product", 100) if isinstance(value, dict) else plain(value)


def _photographer(known: Item, value: Any) -> Item:
    """Return the photographer. An incomplete value does not erase a known name or contact.

    An incomplete value is an id or a text. The text is a name, or an id that we know.
    """
    if value is None:
        return {}
    if isinstance(value, dict):
        texts = {name: plain(value[name]) for name in PERSON if name in value}  # A7
        person = {name: one for name, one in value.items() if texts.get(name, True)} | {
            name: text for name, text in texts.items() if text
        }
    elif text := plain(value):
        person = {"id" if known.get("id") == text or not isinstance(value, str) else "name": text}
    else:
        raise NotUnderstood("photographer is not a person", Fault.NOT_A_PERSON, "photographer")
    is_same = len(person) == 1 and person.items() <= known.items()
    return known if is_same else person
