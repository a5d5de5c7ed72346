"""What the workers do for orders: read them, fetch what is ready, look after placements."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from crm_sync.jobs.due import Claim, Tally
from crm_sync.platform.client import Client
from crm_sync.workers.queues import RowQueue
from orders.materials import announced, files
from orders.mirror import refresh, updates
from orders.models import MaterialSet, Order
from orders.placing import settlement
from orders.reads import poller, rate_limit


def _may_be_read(now: datetime) -> QuerySet[Order]:
    return Order.objects.exclude(workspace_id__in=rate_limit.exhausted(now).values("workspace_id"))


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
    rows=_may_be_read,
    work=poller.one_by_one(_read, may_read=lambda pk, now: rate_limit.take(pk, now=now)),
    reason="problem",
    after=_settle,
)
MATERIALS = RowQueue(
    name=announced.QUEUE,
    rows=lambda now: MaterialSet.objects.all(),
    work=poller.one_by_one(files.fetch),
    reason="problem",
)
