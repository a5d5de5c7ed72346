"""Placing an order at once, as `manage.py place_order` does."""

from datetime import datetime
from typing import Any

from crm_sync.models import Workspace
from orders.models import Placement
from orders.placing.placement import prepare
from orders.placing.sending import send


def place_at_once(workspace: Workspace, *, now: datetime, **wishes: Any) -> Placement:
    """Prepare an order and send it; it is PLACED, FAILED (nothing was ordered) or UNCERTAIN.

    Args:
        wishes: as for `prepare`.
    """
    return send(prepare(workspace, now=now, **wishes), now=now)
