"""Writes what a read shows of an assignment (A37), in its order's detail or in its own (§4.5).

The interface does not promise which members an order's detail has, nor how much of its assignments
it shows. So a member that it leaves out erases nothing: the assignment itself is read, which is the
source of photographer, schedule and products.
"""

import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction

from crm_sync.platform.errors import TransientError
from crm_sync.platform.events import Fault, NotUnderstood, read_day, read_moment
from crm_sync.platform.responses import Answer
from crm_sync.text import plain
from orders.mirror import lww
from orders.mirror.forgotten_people import marks, without_contacts
from orders.mirror.lww import LwwField
from orders.mirror.observation import FACT_OF, OrderObservation, key, word
from orders.models import Assignment, Order, StatusChange, statuses
from orders.models.statuses import AssignmentStatus

Item = dict[str, Any]
log = logging.getLogger(__name__)
PERSON = ("id", "name", "email", "phone")  # what is a text of a photographer (A37)
MEMBERS = {  # what an assignment may leave out
    lww.APPOINTMENT: "scheduledAt",
    lww.ESTIMATE: "estimatedDeliveryAt",
    lww.ACTION: "actionRequired",
    lww.PHOTOGRAPHER: "photographer",
}


def observe(
    before: Assignment, answer: Answer, *, source: StatusChange.Source, now: datetime
) -> bool:
    """Write the detail of an assignment into the mirror.

    What a whole one leaves out is not there. It is whole if it has `products`.

    Args:
        before: as it was right before the call went out.

    Returns:
        True when it should be read again soon, because it contradicts something young.

    Raises:
        TransientError: the answer is no assignment.
    """
    document = answer.cleaned
    if not isinstance(document, dict):
        raise TransientError(f"the detail of {before} is not a JSON object", unclear=False)
    document = without_contacts(document, marks(before.workspace_id))
    observation = OrderObservation(answer.as_of, source, now)
    with transaction.atomic():
        _follow(before, key(document, "orderId"))
        _write(before, document, observation, is_whole=_names_products(document))
        observation.tell(before.workspace_id)
    return observation.contradicts


def observe_item(before: Assignment, item: Item, observation: OrderObservation) -> bool:
    """Write what the detail of an order says of an assignment; what it leaves out stays.

    Args:
        before: as it was before the read began.

    Returns:
        True when the item is silent about something, so that the assignment itself is to be read.
    """
    _write(before, item, observation, is_whole=False)
    return _is_silent(before, item)


def move(row: Assignment, order: Order) -> None:
    """Give an assignment to the order that shows it now, with its timeline and its materials."""
    log.warning("%s moves to %s, which shows it now", row, order)
    Assignment.objects.filter(pk=row.pk).update(order=order)
    row.changes.update(order=order)
    row.material_sets.update(
        order=order,
        property_platform_id=order.property_platform_id,
        real_estate_property=order.real_estate_property_id,
    )
    row.order = order


def _follow(row: Assignment, order_id: str) -> None:
    """Move it to the order that it names, if we know that one: else the order's own read shows."""
    if order_id in ("", row.order.platform_id):
        return
    mine = Order.objects.filter(workspace_id=row.workspace_id, platform_id=order_id)
    if (order := mine.first()) is not None:
        move(row, order)


def _is_silent(before: Assignment, item: Item) -> bool:
    """Tell whether an item lacks what each assignment has, or what is known of this one."""
    if not _names_products(item) or not word(item, "status", 100):
        return True
    try:
        person = _photographer(before.photographer, item.get("photographer"))
    except NotUnderstood:
        person = before.photographer
    is_new_name = person.keys() == {"id"} and person != before.photographer
    missing = (one for one, name in MEMBERS.items() if name not in item and one is not lww.ACTION)
    return is_new_name or any(getattr(before, one.value) for one in missing)


def _names_products(item: Item) -> bool:
    return isinstance(item.get("products"), list)


def _write(
    before: Assignment, item: Item, observation: OrderObservation, *, is_whole: bool
) -> None:
    kind = word(item, "assignmentType", 100) or before.assignment_type
    columns: dict[str, Any] = {"assignment_type": kind, "withdrawn_at": None}
    if _names_products(item):
        columns["products"] = [name for one in item["products"] if (name := _product(one))]
    Assignment.objects.filter(pk=before.pk).exclude(**columns).update(**columns)
    tables = statuses.assignment_tables(kind)
    if status := word(item, "status", 100):
        is_listed = statuses.is_reachable(before.status, status, *tables)
        observation.write(before, lww.STATUS, FACT_OF[lww.STATUS], status, is_listed=is_listed)
    for lww_field, value in _facts(before, item, status, is_whole=is_whole):
        observation.write(before, lww_field, FACT_OF[lww_field], value)


def _facts(
    before: Assignment, item: Item, status: str, *, is_whole: bool
) -> Iterator[tuple[LwwField, Any]]:
    for lww_field, name in MEMBERS.items():
        # An action belongs to one status, as in an event.
        is_over = lww_field is lww.ACTION and status not in ("", AssignmentStatus.ACTION_REQUIRED)
        if name not in item and not (is_whole or is_over):
            continue
        try:
            yield lww_field, _value(before, lww_field, item.get(name))
        except NotUnderstood:
            continue  # the column keeps what it has


def _value(before: Assignment, lww_field: LwwField, value: Any) -> Any:
    if lww_field is lww.PHOTOGRAPHER:
        return _photographer(before.photographer, value)
    name = MEMBERS[lww_field]
    if lww_field is lww.ACTION:
        if isinstance(value, dict | list):
            raise NotUnderstood(f"{name} is not a text", Fault.NOT_A_TEXT, name)
        return plain(value)[:100]
    if value is None:
        return None
    return read_moment(name, value) if lww_field is lww.APPOINTMENT else read_day(name, value)


def _product(value: Any) -> str:
    """Return the name of a product; a session lists products as objects, too (A31)."""
    return word(value, "product", 100) if isinstance(value, dict) else plain(value)


def _photographer(known: Item, value: Any) -> Item:
    """Return who it is; less of somebody whose name and contact we know erases neither.

    Less is an id, or a text: that is a name, or an id that we know.
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
