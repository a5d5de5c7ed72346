"""The way of an order (§3.1) as the stops of a line, as far as it has come."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from crm_sync.admin.ui.cells import moment
from orders.models import Order, StatusChange
from orders.models.statuses import OrderStatus

ENDS: dict[str, str] = {OrderStatus.COMPLETED: "done", OrderStatus.CANCELLED: "ended"}


@dataclass(frozen=True)
class Step:
    """One stop: "done", "now", "ended" (cancelled), "ahead", or "left out" by a cancelled order."""

    name: str
    state: str
    when: SafeString | str


def steps(order: Order, lines: Iterable[StatusChange], *, now: datetime) -> list[Step]:
    """Return the stops; a status that we do not know is none of them, what is behind it is done."""
    reached = {
        line.new: line.occurred_at
        for line in lines
        if line.fact == StatusChange.Fact.ORDER_STATUS and not line.was_stale
    }
    if order.placed_at is not None:
        reached.setdefault(OrderStatus.PLACED, order.placed_at)
    is_cancelled = order.status == OrderStatus.CANCELLED
    last = OrderStatus.CANCELLED if is_cancelled else OrderStatus.COMPLETED
    way: list[str] = [OrderStatus.PLACED, OrderStatus.IN_PROGRESS, last]
    found = []
    for stop in way:
        state = _state(stop, order.status, way, reached)
        was_there = stop in reached and state != "ahead"
        when = moment(reached[stop], now) if was_there else ""
        found.append(Step(str(OrderStatus(stop).label), state, when))
    return found


def _state(stop: str, status: str, way: list[str], reached: dict[str, datetime]) -> str:
    if status == stop:
        return ENDS.get(stop, "now")
    if status not in way:
        return "done" if stop in reached else "ahead"
    if way.index(stop) > way.index(status):
        return "ahead"
    # A cancelled order may never have been in progress; any other one has passed this stop, also
    # where we do not know.
    is_left_out = status == OrderStatus.CANCELLED and stop not in reached
    return "left out" if is_left_out and stop != OrderStatus.PLACED else "done"
