"""What the workers do for orders: read them and their assignments, fetch what is ready, look after
placements.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from crm_sync.jobs.due import Claim, Row, Tally
from crm_sync.platform.client import Client
from crm_sync.workers.queues import RowQueue
from orders.materials import announced, files
from orders.mirror import refresh, rows, updates
from orders.models import Assignment, MaterialSet, Order
from orders.placing import settlement
from orders.reads import poller, rate_limit


def _may_be_read(rows: QuerySet[Row], now: datetime) -> QuerySet[Row]:
    return rows.exclude(workspace_id__in=rate_limit.exhausted(now).values("workspace_id"))


def _pay(workspace_id: int, now: datetime) -> bool:
    """Pay for one read of an order or an assignment: both are paid from one bucket (A8)."""
    return rate_limit.take(workspace_id, now=now)


def _read(claim: Claim[Order], client: Client) -> dict[str, Any]:
    columns = refresh.read(claim, client)
    if columns["due_at"] is None:  # the last read: what is announced by now is all
        announced.expect(Order.objects.get(pk=claim.row.pk), now=timezone.now())
    return columns


def _settle(workspace_id: int) -> list[str]:
    """Settle uncertain placements: an order that was read may be theirs."""
    return ["settled a placement"] * settlement.settle_all(workspace_id)


class Placements:
    """Calls placements uncertain whose sender never came back."""

    name = "placements"

    def workspaces(self, now: datetime) -> Iterable[int]:
        """Return the ids of the workspaces with such a placement."""
        return settlement.workspaces_waiting(now)

    def drain(self, workspace_id: int, _budget: float) -> Tally:
        """End them with one statement, whatever their number."""
        tally = Tally()
        for _ in range(settlement.give_up_waiting(workspace_id, now=timezone.now())):
            tally.add("uncertain")
        return tally


ORDERS = RowQueue(
    name=updates.QUEUE,
    rows=lambda now: _may_be_read(Order.objects.all(), now),
    work=poller.one_by_one(_read, may_read=_pay),
    reason="problem",
    after=_settle,
)
ASSIGNMENTS = RowQueue(
    name=rows.ASSIGNMENTS,
    rows=lambda now: _may_be_read(Assignment.objects.all(), now),
    work=poller.one_by_one(refresh.read_assignment, may_read=_pay),
    reason="problem",
)
MATERIALS = RowQueue(
    name=announced.QUEUE,
    rows=lambda now: MaterialSet.objects.all(),
    work=poller.one_by_one(files.fetch),
    reason="problem",
)
