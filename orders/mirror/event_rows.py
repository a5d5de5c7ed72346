"""The orders and assignments of a batch of events, locked and written together (I22)."""

import functools
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.utils.functional import cached_property

from crm_sync.hooks import EventBatch
from crm_sync.models import Workspace
from crm_sync.platform import clock
from crm_sync.platform.events import PHOTOGRAPHER_BOOKED, Event
from crm_sync.text import clean
from orders.mirror.lww import LwwField, Stamp, Write
from orders.mirror.unit_of_work import UnitOfWork
from orders.models import Assignment, Order


class EventRows(UnitOfWork):
    """The rows of a batch; a `hooks.BatchPart`. Unknown rows are created and read."""

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
        """Return new assignments with the values of the first event of each."""
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

    @cached_property
    def platform_now(self) -> datetime:
        """The latest time that the platform's clock may show now, or ours if it is unknown.

        The clock is known only to a few seconds. They are added, because otherwise each fresh event
        would seem dated ahead.
        """
        mine = Workspace.objects.filter(pk=self.workspace_id)
        ahead = mine.values_list("clock_ahead", flat=True).get()
        return self.now + (ahead or timedelta(0)) + clock.MOVED

    def write_field(
        self, row: Order | Assignment, lww_field: LwwField, value: Any, stamp: Stamp, **_: Any
    ) -> Write:
        """Write an event's value of a mirrored field; see `lww.write`.

        A value dated ahead of the platform's clock, within the limit of S11, makes real events seem
        old until its date. In this case a read decides.
        """
        write = super().write_field(row, lww_field, value, stamp)
        is_hidden = not write.is_new and not write.is_known
        if is_hidden and lww_field.stamp_of(row).at > self.platform_now:
            self.ask_for(row)
        return write


def word(event: Event, name: str, limit: int = 100) -> str:
    """Return a text field, cut to the width of its column (A7)."""
    text: str = clean(event.text(name))[0]
    return text[:limit]


def order_id(event: Event) -> str:
    """Return the platform's id of its order."""
    return word(event, "orderId", 255)


def assignment_id(event: Event) -> str:
    """Return the platform's id of its assignment."""
    return word(event, "assignmentId", 255)


def names_assignment(event: Event) -> bool:
    """Return whether the event is about an assignment. A booking may be about the order alone."""
    if event.kind == PHOTOGRAPHER_BOOKED:
        return bool(assignment_id(event))
    return event.requires("assignmentId")
