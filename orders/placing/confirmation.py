"""The one way to let workers place an order. Page, API and command confirm it here (I9)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_noop

from crm_sync import row_locks
from crm_sync.models import Workspace
from crm_sync.work.doorbell import doorbell
from orders.models import Placement, PlacementState as State
from orders.placing.transitions import move

QUEUE = "placements"


def wake(workspace_id: int, now: datetime) -> None:
    """Make the placements due that a hold put off, or that a worker may put off now (I34)."""
    mine = Placement.objects.filter(workspace=workspace_id, due_at__isnull=False)
    mine.filter(state__in=[State.PREPARING, State.CONFIRMED]).update(due_at=now)
    doorbell.ring(QUEUE, workspace_id)


def confirmed(workspace_id: int) -> Mapping[str, int]:
    """Return how many orders would be placed if watch only ended now (I34)."""
    mine = Placement.objects.filter(workspace=workspace_id, state=State.CONFIRMED)
    return {gettext_noop("orders to place"): mine.count()}


@contextmanager
def one_at_a_time(workspace_id: int) -> Iterator[None]:
    """Let nobody else confirm in this workspace until what is looked at here is confirmed (I9).

    So of two who order the same at one moment a person who is the later one is warned.
    """
    with transaction.atomic():
        row_locks.lock(Workspace.objects.filter(pk=workspace_id))
        yield


def confirm(
    rows: QuerySet[Placement], *, workspace_id: int, account: User | None = None, now: datetime
) -> int:
    """Let a worker place each of these rows that is READY, once. Return their number.

    Args:
        rows: limited to the revision that was reviewed.
        account: the person who confirms; None if a program does.
    """
    who = {"confirmed_at": now, "confirmed_by": account}
    retry = {"due_at": now, "problem": "", "attempts": 0}
    with one_at_a_time(workspace_id):
        count = move(rows, State.READY, to=State.CONFIRMED, **who, **retry)
    if count:
        doorbell.ring(QUEUE, workspace_id)
    return count


def take_back(rows: QuerySet[Placement]) -> int:
    """Withdraw the confirmations that no worker has sent yet. Return their number."""
    cleared = {"confirmed_at": None, "confirmed_by": None, "due_at": None, "problem": ""}
    return move(rows, State.CONFIRMED, to=State.READY, **cleared)
