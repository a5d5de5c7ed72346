"""A person confirms what she has reviewed; only that is ever sent, by a worker (I9)."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from crm_sync.jobs.doorbell import doorbell
from orders.models import Placement
from orders.models import PlacementState as State

QUEUE = "placements"


def confirm(placement: Placement, *, revision: int, account: User, now: datetime) -> bool:
    """Let a worker place what this person has reviewed, once (I9).

    Returns:
        False when it was confirmed before, or is not as she saw it any more.
    """
    reviewed = Placement.objects.filter(
        pk=placement.pk, state=State.READY, confirmed_at=None, revision=revision
    )
    if not reviewed.update(
        confirmed_at=now, confirmed_by=account, due_at=now, problem="", attempts=0
    ):
        return False
    doorbell.ring(QUEUE, placement.workspace_id)
    return True


def take_back(placement: Placement) -> bool:
    """Withdraw the confirmation, as long as nothing was sent; False when it is too late."""
    waiting = Placement.objects.filter(
        pk=placement.pk, state=State.READY, confirmed_at__isnull=False
    )
    nobody: dict[str, Any] = {"confirmed_at": None, "confirmed_by": None, "due_at": None}
    return waiting.update(**nobody, problem="") == 1
