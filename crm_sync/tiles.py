"""The figures that this app adds to the dashboard."""

from datetime import datetime, time

from django.db.models import Sum
from django.utils import timezone

from crm_sync.admin_cells import list_of
from crm_sync.models import Delivery, Workspace
from crm_sync.status import TILES, Tile

State = Delivery.State


def tiles() -> list[Tile]:
    """Count what was received and what became of it; each count runs along an index."""
    deliveries, workspaces = list_of("crm_sync.delivery"), list_of("crm_sync.workspace")
    today = datetime.combine(timezone.localdate(), time.min, timezone.get_current_timezone())
    # All states are named, so that the index on (state, received_at) answers among millions.
    received = Delivery.objects.filter(state__in=State.values, received_at__gte=today).count()
    quarantined = Delivery.objects.filter(state=State.QUARANTINED).count()
    failed = Delivery.objects.filter(state=State.FAILED).count()
    refused = Workspace.objects.aggregate(total=Sum("refused_callbacks"))["total"] or 0
    return [
        Tile("Received today", received, "info", deliveries, "callbacks stored since midnight"),
        Tile(
            "Not understood",
            quarantined,
            "danger",
            f"{deliveries}?state__exact={State.QUARANTINED}",
            "kept raw until somebody looks",
        ),
        Tile(
            "Failed",
            failed,
            "danger",
            f"{deliveries}?state__exact={State.FAILED}",
            "understood, but not applied",
        ),
        Tile("Refused callbacks", refused, "warning", workspaces, "wrong secret, or no body"),
    ]


TILES.append(tiles)
