"""The one POST of an order: at most once (I9, A33).

It goes out behind a conditional UPDATE from READY to SENDING, which waits for the disk. Where its
outcome stays unclear no machine repeats it: the placement waits for the order that settles it (see
`settlement`), or for a person.
"""

from datetime import datetime

from django.db.models import QuerySet

from crm_sync.platform.errors import SyncError, TransientError, problem_of
from crm_sync.webhook import schedule
from crm_sync.work.leases import LEASE, Claim
from orders.models import Placement
from orders.models import PlacementState as State
from orders.placing import settlement
from orders.placing.choices import order_body
from orders.placing.errors import AlreadySent


def send(placement: Placement, *, now: datetime) -> Placement:
    """Send a READY placement in the name of whoever calls this, once, whoever else tries.

    Returns:
        the placement as it stands then: PLACED, FAILED or UNCERTAIN.

    Raises:
        AlreadySent: it is not READY (any more).
        AuthError: the workspace has no credentials; it stays READY.
    """
    free = Placement.objects.filter(pk=placement.pk, state=State.READY, lease_token=None)
    # Due after the last moment at which the call can have an effect: then its sender is dead.
    error = _send(placement, free, now=now, confirmed_at=now, due_at=now + LEASE)
    if error is not None:
        settlement.end(placement, State.FAILED, problem_of(error))
    Placement.objects.filter(pk=placement.pk, lease_token=None).update(due_at=None)
    placement.refresh_from_db()
    return placement


def send_claimed(claim: Claim[Placement], *, now: datetime) -> SyncError | None:
    """Send the placement of a claim, if a person has confirmed just that and has not taken it back.

    Returns:
        None when it is PLACED or UNCERTAIN; else why surely nothing was ordered: it is SENDING, and
        the caller says what becomes of it.

    Raises:
        AlreadySent: it is not to be sent (any more), or our lease is over.
        AuthError: the workspace has no credentials.
    """
    as_reviewed = {"state": State.READY, "revision": claim.row.revision}
    confirmed = claim.fenced.filter(**as_reviewed, confirmed_at__isnull=False)
    return _send(claim.row, confirmed, now=now)


def _send(
    placement: Placement, ready: QuerySet[Placement], *, now: datetime, **columns: datetime
) -> SyncError | None:
    client = placement.workspace.client()
    if ready.update(state=State.SENDING, sent_at=now, **columns) != 1:
        raise AlreadySent(f"{placement} is not ready to be sent")
    failure: SyncError | None = None
    try:
        with placement.workspace.calling():
            settlement.placed(placement, client.place_order(order_body(placement)), now=now)
    except SyncError as error:
        if isinstance(error, TransientError) and error.unclear:
            settlement.uncertain(placement, f"{error}")
        else:
            failure = error
    schedule.poll_soon(placement.workspace_id, now=now)
    return failure
