"""A person confirms what she has reviewed; only that is ever sent, by a worker (I9)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from crm_sync.work.doorbell import doorbell
from orders.models import Placement
from orders.models import PlacementState as State

QUEUE = "placements"
TO_REVIEW = Q(state=State.READY, confirmed_at=None)
WAITING = Q(state=State.READY, confirmed_at__isnull=False)  # confirmed, and not sent yet


def confirm(placement: Placement, *, revision: int, account: User, now: datetime) -> bool:
    """Let a worker place what this person has reviewed, once (I9).

    Returns:
        False when it was confirmed before, or is not as she saw it any more.
    """
    seen = Placement.objects.filter(pk=placement.pk, revision=revision)
    if not confirm_all(seen, account=account, now=now):
        return False
    doorbell.ring(QUEUE, placement.workspace_id)
    return True


def confirm_all(rows: QuerySet[Placement], *, account: User, now: datetime) -> int:
    """Confirm those that can be reviewed, and return how many; the caller rings."""
    by_whom = {"confirmed_at": now, "confirmed_by": account}
    return rows.filter(TO_REVIEW).update(**by_whom, due_at=now, problem="", attempts=0)


def take_back(rows: QuerySet[Placement]) -> int:
    """Withdraw the confirmations of what is not sent yet; return how many."""
    return rows.filter(WAITING).update(
        confirmed_at=None, confirmed_by=None, due_at=None, problem=""
    )
