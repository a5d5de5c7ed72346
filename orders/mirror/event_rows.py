"""The orders and assignments of a batch of events: locked at once, written at once (I22)."""

import functools
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from crm_sync.hooks import EventBatch
from crm_sync.models import Workspace
from crm_sync.platform import clock
from crm_sync.platform.events import PHOTOGRAPHER_BOOKED, Event
from crm_sync.text import clean
from orders.mirror.lww import LwwField, Stamp, Write
from orders.mirror.unit_of_work import UnitOfWork
from orders.models import Assignment, Order


class EventRows(UnitOfWork):
    """The rows of a batch, a `hooks.BatchPart`; what we do not know is created and read."""

    def __init__(self, batch: EventBatch) -> None:
        super().__init__(batch.workspace_id, batch.now)
        names = {order_id(one) for one in batch.events if one.requires("orderId")}
        first: dict[str, Event] = {}
        for one in batch.events:
            if names_assignment(one):
                first.setdefault(assignment_id(one), one)
        unknown = self._create_orders(names)
        new = self.lock_assignments(first, functools.partial(self._first_said, first))
        self.lock_orders(names)
        for name in unknown | {order_id(first[name]) for name in new}:
            self.ask_for(self.orders[name])

    def _create_orders(self, names: Collection[str]) -> set[str]:
        mine = Order.objects.filter(workspace_id=self.workspace_id, platform_id__in=names)
        missing = set(names) - set(mine.values_list("platform_id", flat=True))
        rows = [
            Order(workspace_id=self.workspace_id, platform_id=name, created_at=self.now)
            for name in sorted(missing)
        ]
        Order.objects.bulk_create(rows, ignore_conflicts=True)
        return missing

    def _first_said(self, first: dict[str, Event], names: Collection[str]) -> list[Assignment]:
        """Return new assignments with what the first event of each says."""
        ids = {order_id(first[name]) for name in names}
        mine = Order.objects.filter(workspace_id=self.workspace_id, platform_id__in=ids)
        keys = dict(mine.values_list("platform_id", "pk"))
        return [
            Assignment(
                workspace_id=self.workspace_id,
                platform_id=name,
                order_id=keys[order_id(first[name])],
                assignment_type=word(first[name], "assignmentType"),
                created_at=self.now,
            )
            for name in names
        ]

    @functools.cached_property
    def platform_now(self) -> datetime:
        """What the platform's clock says now at the latest; by ours where it is not known.

        It is known to some seconds: without them each fresh event would seem dated ahead.
        """
        mine = Workspace.objects.filter(pk=self.workspace_id)
        ahead = mine.values_list("clock_ahead", flat=True).get()
        return self.now + (ahead or timedelta(0)) + clock.MOVED

    def write_field(
        self, row: Order | Assignment, lww_field: LwwField, value: Any, stamp: Stamp, **_: Any
    ) -> Write:
        """Write what an event says of a mirrored field; see `lww.write`.

        A value that is dated ahead of the platform's clock, within what S11 allows, makes real
        events look old until that moment comes: then a read decides.
        """
        write = super().write_field(row, lww_field, value, stamp)
        is_hidden = not write.is_new and not write.is_known
        if is_hidden and lww_field.stamp_of(row).at > self.platform_now:
            self.ask_for(row)
        return write


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
    """Return whether the event is about an assignment; a booking may be about the order alone."""
    if event.kind == PHOTOGRAPHER_BOOKED:
        return bool(assignment_id(event))
    return event.requires("assignmentId")
