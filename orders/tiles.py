"""The figures that this app adds to the dashboard."""

from crm_sync.admin_cells import list_of
from crm_sync.status import TILES, Tile
from orders.models import Assignment, MaterialSet, Order, Placement
from orders.statuses import ORDER_TERMINAL, AssignmentStatus


def tiles() -> list[Tile]:
    """Count what is under way and what waits for a person."""
    orders, placements = list_of("orders.order"), list_of("orders.placement")
    is_open = Order.objects.exclude(status__in=ORDER_TERMINAL)
    acting = Assignment.objects.filter(
        status=AssignmentStatus.ACTION_REQUIRED, order__in=is_open.values("pk")
    )
    delivered = MaterialSet.objects.exclude(fetched_at=None).exclude(order=None)
    return [
        Tile(
            "Open orders", is_open.count(), "info", f"{orders}?what=open", "placed or in progress"
        ),
        Tile(
            "Action required",
            acting.values("order").distinct().count(),
            "warning",
            f"{orders}?what=action",
            "the platform waits for an answer",
        ),
        Tile(
            "Uncertain placements",
            Placement.objects.filter(state=Placement.State.UNCERTAIN).count(),
            "danger",
            f"{placements}?state__exact={Placement.State.UNCERTAIN}",
            "look before ordering again",
        ),
        Tile(
            "Orders with a problem",
            Order.objects.exclude(problem="").count(),
            "danger",
            f"{orders}?what=problem",
            "they could not be read",
        ),
        Tile(
            "With materials",
            delivered.values("order").distinct().count(),
            "good",
            f"{orders}?what=delivered",
            "pictures, plans or papers are ready",
        ),
    ]


TILES.append(tiles)
