"""Orders and assignments that one transaction locks and writes together.

They are locked until the end of the transaction, always in the same sequence, so that no two
transactions wait for each other: assignments before their orders, each by key, and new rows last.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any, TypeVar

from crm_sync import tracing
from crm_sync.work import fast_sql
from crm_sync.work.fast_sql import RowUpdate
from orders.mirror import lww, status_messages
from orders.mirror.lww import LwwField, Stamp, Write
from orders.models import Assignment, Order, StatusChange
from orders.reads import poller
from properties.models import Property

ORDERS, ASSIGNMENTS = "orders", "assignments"  # the queues of reads
# Loading whole rows would take longer than applying an event.
LOADED: dict[type[Order | Assignment], tuple[str, ...]] = {
    Order: (
        *("workspace", "platform_id", "read_at"),
        *("object_reference_id", "property_platform_id", "real_estate_property"),
        *lww.columns(lww.OF_ORDERS),
    ),
    Assignment: (
        *("workspace", "platform_id", "order", "assignment_type", "withdrawn_at"),
        *lww.columns(lww.OF_ASSIGNMENTS),
    ),
}
Mirrored = TypeVar("Mirrored", Order, Assignment)


class UnitOfWork:
    """The rows of a workspace that one transaction changes.

    Attributes:
        orders, assignments: the locked rows by the platform's id.
        now: our clock. It does not decide which value is newer (I29).
    """

    def __init__(self, workspace_id: int, now: datetime) -> None:
        self.workspace_id, self.now = workspace_id, now
        self.orders: dict[str, Order] = {}
        self.assignments: dict[str, Assignment] = {}
        self._changed: dict[Order | Assignment, set[str]] = defaultdict(set)
        self._lines: list[dict[str, Any]] = []
        self._causes: list[str] = []  # of these lines
        self._asked: dict[type[Order | Assignment], set[int]] = {Assignment: set(), Order: set()}
        self._properties: dict[tuple[str, str], Property | None] = {}

    def lock_orders(self, names: Collection[str]) -> None:
        """Lock orders by the platform's ids, after their assignments."""
        self.orders |= self._lock(Order, names)

    def lock_assignments(
        self, names: Collection[str], make: Callable[[Collection[str]], Iterable[Assignment]]
    ) -> Collection[str]:
        """Lock assignments by the platform's ids, and create the unknown ones.

        Args:
            make: returns unsaved rows for the unknown ids.

        Returns:
            the ids of the new rows.
        """
        self.assignments |= self._lock(Assignment, names)
        if new := set(names) - self.assignments.keys():
            Assignment.objects.bulk_create(make(sorted(new)), ignore_conflicts=True)
            self.assignments |= self._lock(Assignment, new)
        return new

    def _lock(self, model: type[Mirrored], names: Collection[str]) -> dict[str, Mirrored]:
        rows = model._default_manager.filter(
            workspace_id=self.workspace_id, platform_id__in=list(names)
        )
        locked = rows.select_for_update(no_key=True).only(*LOADED[model]).order_by("pk")
        return {row.platform_id: row for row in locked}

    def set(self, row: Order | Assignment, **columns: Any) -> None:
        """Change columns of a row."""
        for name, value in columns.items():
            setattr(row, name, value)
        self._changed[row] |= columns.keys()

    def write_field(
        self,
        row: Order | Assignment,
        lww_field: LwwField,
        value: Any,
        stamp: Stamp,
        *,
        seen: Stamp | None = None,
    ) -> Write:
        """Write a mirrored field; see `lww.write`."""
        write = lww.write(row, lww_field, value, stamp, seen=seen)
        if write.is_new:
            self.set(row, **write.columns)
        return write

    def enter(self, line: dict[str, Any]) -> None:
        """Add a line to the timeline; see `timeline_lines.line`."""
        self._lines.append(line)
        self._causes.append(tracing.current().traceparent)

    def ask_for(self, row: Order | Assignment) -> None:
        """Make the order or the assignment due for a read."""
        self._asked[type(row)].add(row.pk)

    def tie(self, order: Order, *, reference: str, property_id: str) -> None:
        """Store the ids of the order's property, and link the property once we know it (A43)."""
        names = {"object_reference_id": reference, "property_platform_id": property_id}
        new: dict[str, Any] = {
            name: value for name, value in names.items() if value and not getattr(order, name)
        }
        if order.real_estate_property_id is None:
            known = {name: getattr(order, name) for name in names} | new
            found = self._find_property(*known.values())
            if found is not None:
                new["real_estate_property_id"] = found.pk
        if new:
            self.set(order, **new)

    def _find_property(self, reference: str, property_id: str) -> Property | None:
        """Return our property by the platform's id, else by our reference, or None.

        A property with another id is another one, even if both have the reference (A44).
        """
        key = (reference, property_id)
        if key not in self._properties:
            mine = Property.objects.filter(workspace_id=self.workspace_id)
            by_id = mine.filter(platform_id=property_id).first() if property_id else None
            if by_id is None and reference:
                named = mine.filter(object_reference_id=reference)
                by_id = (named.filter(platform_id=None) if property_id else named).first()
            self._properties[key] = by_id
        return self._properties[key]

    def write(self) -> None:
        """Write the changes, send messages to other systems, and ring for the rows to read."""
        for model in (Assignment, Order):
            fast_sql.update_many(model, self._changes(model))
        fast_sql.insert_many(StatusChange, self._lines)
        status_messages.tell(self.workspace_id, self._lines, self._causes, now=self.now)
        for model, queue in ((Assignment, ASSIGNMENTS), (Order, ORDERS)):
            if keys := self._asked[model]:
                asked = model._default_manager.filter(pk__in=keys)
                poller.ask(asked, queue, self.workspace_id, now=self.now)

    def _changes(self, model: type[Order | Assignment]) -> Iterable[RowUpdate]:
        for row, names in self._changed.items():
            if isinstance(row, model):
                columns = {name: getattr(row, name) for name in sorted(names)}
                yield RowUpdate(columns, {"id": row.pk})
