"""The orders and assignments that events are about: read at once, written at once (I22).

They are locked until the end of the transaction, everywhere in one sequence: assignments before
their orders, each by their keys, and last what is only created now.
"""

import functools
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from crm_sync.hooks import EventBatch
from crm_sync.models import Workspace
from crm_sync.platform import clock
from crm_sync.platform.events import PHOTOGRAPHER_BOOKED, Event
from crm_sync.text import clean
from crm_sync.work import fast_sql
from crm_sync.work.fast_sql import RowUpdate
from orders.mirror import lww, status_messages
from orders.mirror.lww import LwwField, Stamp, Write
from orders.models import Assignment, Order, StatusChange
from orders.reads import poller
from properties.models import Property

QUEUE, ASSIGNMENTS = "orders", "assignments"
# What an event looks at: to load a whole row takes longer than to apply the event.
TIES = ("object_reference_id", "property_platform_id", "real_estate_property")
READ: dict[type[Order | Assignment], tuple[str, ...]] = {
    Order: ("workspace", "platform_id", *TIES, *lww.columns(lww.OF_ORDERS)),
    Assignment: (
        *("workspace", "platform_id", "order", "assignment_type", "withdrawn_at"),
        *lww.columns(lww.OF_ASSIGNMENTS),
    ),
}
Mirrored = TypeVar("Mirrored", Order, Assignment)


class Rows:
    """What the events of a batch are about, a `hooks.BatchPart`; what we do not know is created.

    Attributes:
        orders: by the platform's id; an unknown one is due for a read.
        assignments: by the platform's id.
    """

    def __init__(self, batch: EventBatch) -> None:
        self.workspace_id, self.now = batch.workspace_id, batch.now
        self._changed: dict[Order | Assignment, set[str]] = defaultdict(set)
        self._lines: list[dict[str, Any]] = []
        self._asked: dict[type[Order | Assignment], set[int]] = {Assignment: set(), Order: set()}
        self._properties: dict[tuple[str, str], Property | None] = {}
        of_orders = {order_id(one): one for one in batch.events if one.requires("orderId")}
        of_assignments: dict[str, Event] = {}
        for one in batch.events:
            if names_assignment(one):
                of_assignments.setdefault(assignment_id(one), one)
        new_orders = self._create_orders(of_orders)
        self.assignments = self._lock(Assignment, of_assignments)
        new_assignments = of_assignments.keys() - self.assignments.keys()
        self._create_assignments({name: of_assignments[name] for name in new_assignments})
        self.assignments |= self._lock(Assignment, new_assignments)
        self.orders = self._lock(Order, of_orders)
        for name in new_orders | {order_id(of_assignments[name]) for name in new_assignments}:
            self.ask_for(self.orders[name])

    def _create_orders(self, names: Iterable[str]) -> set[str]:
        mine = Order.objects.filter(workspace_id=self.workspace_id, platform_id__in=names)
        missing = set(names) - set(mine.values_list("platform_id", flat=True))
        rows = [
            Order(workspace_id=self.workspace_id, platform_id=name, created_at=self.now)
            for name in sorted(missing)
        ]
        Order.objects.bulk_create(rows, ignore_conflicts=True)
        return missing

    def _create_assignments(self, first: dict[str, Event]) -> None:
        """Create them with what the first event of each says."""
        ids = {order_id(one) for one in first.values()}
        mine = Order.objects.filter(workspace_id=self.workspace_id, platform_id__in=ids)
        keys = dict(mine.values_list("platform_id", "pk"))
        rows = [
            Assignment(
                workspace_id=self.workspace_id,
                platform_id=name,
                order_id=keys[order_id(first[name])],
                assignment_type=word(first[name], "assignmentType"),
                created_at=self.now,
            )
            for name in sorted(first)
        ]
        Assignment.objects.bulk_create(rows, ignore_conflicts=True)

    def _lock(self, model: type[Mirrored], names: Collection[str]) -> dict[str, Mirrored]:
        rows = model._default_manager.filter(
            workspace_id=self.workspace_id, platform_id__in=list(names)
        )
        locked = rows.select_for_update(no_key=True).only(*READ[model]).order_by("pk")
        return {row.platform_id: row for row in locked}

    def find_property(self, reference: str, property_id: str) -> Property | None:
        """Return our property by the platform's id, else by our reference, or None."""
        key = (reference, property_id)
        if key not in self._properties:
            found = find_property(self.workspace_id, reference, property_id)
            self._properties[key] = found
        return self._properties[key]

    @functools.cached_property
    def platform_now(self) -> datetime:
        """What the platform's clock says now at the latest; by ours where it is not known.

        It is known to some seconds: without them each fresh event would seem dated ahead.
        """
        mine = Workspace.objects.filter(pk=self.workspace_id)
        ahead = mine.values_list("clock_ahead", flat=True).get()
        return self.now + (ahead or timedelta(0)) + clock.MOVED

    def set(self, row: Order | Assignment, **columns: Any) -> None:
        """Change columns of a row."""
        for name, value in columns.items():
            setattr(row, name, value)
        self._changed[row] |= columns.keys()

    def write_field(
        self, row: Order | Assignment, lww_field: LwwField, value: Any, stamp: Stamp
    ) -> Write:
        """Write a field of a row; see `lww.write`.

        A value that is dated ahead of the platform's clock, within what S11 allows, makes real
        events look old until that moment comes: then a read decides.
        """
        write = lww.write(row, lww_field, value, stamp)
        is_other = not write.is_new and write.before != value
        if is_other and getattr(row, lww_field.at) > self.platform_now:
            self.ask_for(row)
        if write.is_new:
            self._changed[row] |= {*lww_field.columns}
        return write

    def enter(self, line: dict[str, Any]) -> None:
        """Add a line to the timeline; see `timeline.line`."""
        self._lines.append(line)

    def ask_for(self, row: Order | Assignment) -> None:
        """Make the order or the assignment due for a read."""
        self._asked[type(row)].add(row.pk)

    def write(self) -> None:
        """Write what has changed, and ring for what is to be read."""
        for model in (Assignment, Order):
            fast_sql.update_many(model, self._changes(model))
        fast_sql.insert_many(StatusChange, self._lines)
        status_messages.tell(self.workspace_id, self._lines, now=self.now)
        for model, queue in ((Assignment, ASSIGNMENTS), (Order, QUEUE)):
            if keys := self._asked[model]:
                asked = model._default_manager.filter(pk__in=keys)
                poller.ask(asked, queue, self.workspace_id, now=self.now)

    def _changes(self, model: type[Order | Assignment]) -> Iterable[RowUpdate]:
        for row, names in self._changed.items():
            if isinstance(row, model):
                columns = {name: getattr(row, name) for name in sorted(names)}
                yield RowUpdate(columns, {"id": row.pk})


def word(event: Event, name: str, limit: int = 100) -> str:
    """Return a text field as a column of that width holds it (A7)."""
    text: str = clean(event.text(name))[0]
    return text[:limit]


def order_id(event: Event) -> str:
    """Return the platform's id of its order."""
    return word(event, "orderId", 255)


def assignment_id(event: Event) -> str:
    """Return the platform's id of its assignment."""
    return word(event, "assignmentId", 255)


def names_assignment(event: Event) -> bool:
    """Tell whether the event is about an assignment; a booking may be about the order alone."""
    if event.kind == PHOTOGRAPHER_BOOKED:
        return bool(assignment_id(event))
    return event.requires("assignmentId")


def find_property(workspace_id: int, reference: str, property_id: str) -> Property | None:
    """Return our property by the platform's id, else by our reference, or None."""
    mine = Property.objects.filter(workspace_id=workspace_id)
    by_id = mine.filter(platform_id=property_id).first() if property_id else None
    if by_id is not None or not reference:
        return by_id
    return mine.filter(object_reference_id=reference).first()
