"""What the workers do for orders: read them, fetch what is ready, look after placements."""

from datetime import datetime

from django.utils import timezone

from crm_sync import due
from crm_sync.due import Queue, Tally
from orders import materials, mirror, reading, refresh, settlement
from orders.models import MaterialSet, Order

PLACEMENTS = "placements"


def drain_orders(workspace_id: int, budget: float) -> Tally:
    """Read the orders that are due; an order that was read may settle an uncertain placement."""
    tally = reading.drain(Order.objects.all(), workspace_id, budget, refresh.read)
    for _ in range(settlement.settle_all(workspace_id)):
        tally.add("settled a placement")
    return tally


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
    """Return the ids of the workspaces with an order to read."""
    return reading.workspaces_due(Order.objects.all(), now)


def materials_due(now: datetime) -> set[int]:
    """Return the ids of the workspaces with something to fetch."""
    return reading.workspaces_due(MaterialSet.objects.all(), now)


due.register(Queue(mirror.QUEUE, orders_due, drain_orders))
due.register(Queue(materials.QUEUE, materials_due, drain_materials))
due.register(Queue(PLACEMENTS, settlement.workspaces_waiting, drain_placements))
