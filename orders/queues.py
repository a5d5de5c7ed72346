"""What the workers do for orders: read them, fetch what is ready, look after placements."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from crm_sync import due, recovery, watch
from crm_sync.client import Client
from crm_sync.due import Claim, Queue, Tally
from orders import materials, mirror, pace, reading, refresh, settlement, timeline
from orders.models import MaterialSet, Order

PLACEMENTS = "placements"


def drain_orders(workspace_id: int, budget: float) -> Tally:
    """Read the orders that are due; an order that was read may settle an uncertain placement."""
    tally = reading.drain(Order.objects.all(), workspace_id, budget, _read, may_read=_may_read)
    for _ in range(settlement.settle_all(workspace_id)):
        tally.add("settled a placement")
    return tally


def _read(claim: Claim[Order], client: Client) -> dict[str, Any]:
    columns = refresh.read(claim, client)
    if columns["due_at"] is None:  # the last read: what is announced by now is all
        materials.expect(Order.objects.get(pk=claim.row.pk), now=timezone.now())
    return columns


def _may_read(workspace_id: int, now: datetime) -> bool:
    return pace.take(workspace_id, now=now)


def drain_materials(workspace_id: int, budget: float) -> Tally:
    """Fetch what was announced as ready."""
    return reading.drain(MaterialSet.objects.all(), workspace_id, budget, materials.fetch)


def drain_placements(workspace_id: int, budget: float) -> Tally:
    """Call placements uncertain whose sender never came back."""
    tally = Tally()
    for _ in range(settlement.give_up_waiting(workspace_id, now=timezone.now())):
        tally.add("uncertain")
    return tally


def orders_due(now: datetime) -> set[int]:
    """Return the ids of the workspaces with an order that may be read now."""
    spent = pace.exhausted(now).values("workspace_id")
    return reading.workspaces_due(Order.objects.exclude(workspace_id__in=spent), now)


def materials_due(now: datetime) -> set[int]:
    """Return the ids of the workspaces with something to fetch."""
    return reading.workspaces_due(MaterialSet.objects.all(), now)


due.register(Queue(mirror.QUEUE, orders_due, drain_orders))
due.register(Queue(materials.QUEUE, materials_due, drain_materials))
due.register(Queue(PLACEMENTS, settlement.workspaces_waiting, drain_placements))
watch.MOVES.append(timeline.has_grown)
recovery.AFTER_GAP.append(refresh.read_all_open)
