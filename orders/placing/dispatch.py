"""A worker's steps for a due placement: prepare it, send it once, or mark it uncertain (I9).

The one POST of an order is sent after a conditional UPDATE from CONFIRMED to SENDING, which waits
for the disk. If its outcome is unclear, no machine repeats it. The placement then waits for the
order that settles it (see `settlement`), or for a person.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.utils import timezone

from crm_sync.models import Workspace
from crm_sync.models.due import backoff
from crm_sync.platform.errors import (
    AuthError,
    NotFoundError,
    OnHold,
    RejectedError,
    SyncError,
    TransientError,
    problem_of,
)
from crm_sync.platform.problems import meaning
from crm_sync.platform.work_kind import WorkKind
from crm_sync.sentence import sentence
from crm_sync.webhook import schedule
from crm_sync.work import leases, queues
from crm_sync.work.leases import Claim
from crm_sync.work.queues import Turn
from orders.models import Placement, PlacementState as State
from orders.placing import session, settlement, transitions
from orders.placing.failures import AlreadySent, NoSuchChoice
from orders.placing.session_offer import order_body
from orders.placing.transitions import PlacingOutcome, Step, move
from properties.catalog.field_names import stored_label
from properties.domain.editing import due_now
from properties.models import Property


def work(claims: Sequence[Claim[Placement]], turn: Turn) -> list[PlacingOutcome]:
    """Work on claimed placements. Return the outcome of each."""
    return [_work(claim, turn.workspace) for claim in claims]


def place_now(placement: Placement) -> None:
    """Do the worker's steps of a placement here, or wait while another worker does them."""
    mine = Placement.objects.filter(pk=placement.pk)
    while claims := leases.claim_some(mine, now=timezone.now(), limit=1):
        _work(claims[0], placement.workspace)
    while mine.filter(lease_until__gt=timezone.now()).exists():
        time.sleep(0.1)
    placement.refresh_from_db()


def _work(claim: Claim[Placement], workspace: Workspace) -> PlacingOutcome:
    placement, state = claim.row, State(claim.row.state)
    placement.workspace = workspace
    if state == State.SENDING:
        settlement.uncertain(placement, sentence("The process that sent it never came back."))
        claim.finish(due_at=None)
        return PlacingOutcome.UNCERTAIN
    if state not in (State.PREPARING, State.CONFIRMED):
        claim.finish(due_at=None)
        return PlacingOutcome.NOTHING
    try:
        return _prepare_or_place(claim)
    except AlreadySent:
        claim.finish(due_at=None)
        return PlacingOutcome.TAKEN_BACK
    except (NoSuchChoice, RejectedError, NotFoundError) as error:
        return _end(claim, transitions.not_possible(state, error))
    except (TransientError, AuthError) as error:
        queues.put_off(claim, problem=problem_of(error))
        return PlacingOutcome.PUT_OFF


def _prepare_or_place(claim: Claim[Placement]) -> PlacingOutcome:
    placement, now = claim.row, timezone.now()
    property_ = placement.real_estate_property
    if property_ is not None and has_to_be_pushed(property_, now=now):
        return _end(claim, transitions.waits_for_push(State(placement.state), property_, now=now))
    with placement.workspace.calling():
        renewal = session.renew(placement)
    if renewal.missing:
        raise NoSuchChoice(sentence("Not offered: %(choices)s", choices=renewal.missing))
    step = transitions.to_review(placement, renewal)
    return _end(claim, step) if step else _place(claim, renewal.columns)


def _place(claim: Claim[Placement], columns: dict[str, Any]) -> PlacingOutcome:
    """Send it, if a whole call fits into the lease, and neither a pause nor a person stops it."""
    placement, now = claim.row, timezone.now()
    is_new_session = columns["session_id"] != placement.session_id
    # The call of another worker may have begun a pause (I11). A 503 would make this one uncertain.
    placement.workspace.refresh_from_db(fields=["paused_until"])
    has_no_time = claim.until - now < timedelta(seconds=settings.CALL_DEADLINE)  # I13
    if has_no_time or placement.workspace.is_paused(now):
        later = columns | {"due_at": now + backoff(0)}
        return _end(claim, Step(PlacingOutcome.PUT_OFF, State.CONFIRMED, later))
    try:
        placement.workspace.refuse_held(WorkKind.ORDERS)
    except OnHold as held:  # before its state says that it may have left
        later = columns | {"due_at": held.until, "problem": problem_of(held)}
        return _end(claim, Step(PlacingOutcome.PUT_OFF, State.CONFIRMED, later))
    if not claim.write(columns, revision=placement.revision):
        raise AlreadySent(f"{placement} was changed meanwhile")
    for column, value in columns.items():
        setattr(placement, column, value)
    error = _send(claim, now=now)
    if error is not None:
        attempts, failed_at = placement.attempts, timezone.now()
        return _end(
            claim,
            transitions.not_ordered(
                error, is_new_session=is_new_session, attempts=attempts, now=failed_at
            ),
        )
    claim.finish(due_at=None, attempts=0)
    return PlacingOutcome.SENT


def _send(claim: Claim[Placement], *, now: datetime) -> SyncError | None:
    """Send the placement of a claim, unless its confirmation was withdrawn (A33).

    Returns:
        None if it is PLACED or UNCERTAIN. Otherwise the reason why certainly nothing was ordered;
        it is still SENDING.

    Raises:
        AlreadySent: it must not be sent (any more), or our lease is over.
        AuthError: the workspace has no credentials.
    """
    placement, client = claim.row, claim.row.workspace.client()
    reviewed = claim.fenced.filter(revision=placement.revision)
    if move(reviewed, State.CONFIRMED, to=State.SENDING, sent_at=now) != 1:
        raise AlreadySent(f"{placement} is not confirmed any more")
    placement.state = State.SENDING
    failure: SyncError | None = None
    try:
        with placement.workspace.calling():
            settlement.placed(placement, client.place_order(order_body(placement)), now=now)
    except SyncError as error:
        if _may_have_ordered(error):
            settlement.uncertain(placement, problem_of(error))
        else:
            failure = error
    schedule.poll_soon(placement.workspace_id, now=now)
    return failure


def _may_have_ordered(error: SyncError) -> bool:
    """Return whether an order may exist: of a call without an answer, or of one that came twice.

    Each session of ours is for one placement. If it has served its order (409, A33), that was ours.
    """
    if isinstance(error, TransientError):
        return error.unclear
    return isinstance(error, RejectedError) and error.status == HTTPStatus.CONFLICT


def _end(claim: Claim[Placement], step: Step) -> PlacingOutcome:
    """Write a step, unless somebody has changed the choices or the state in between."""
    row = claim.row
    transitions.check(State(row.state), step.to)
    columns = {"due_at": None, "state": step.to, **step.columns}
    if claim.finish_if(columns, revision=row.revision, state=row.state):
        return step.outcome
    claim.finish(due_at=None)  # if the change made it due, it stays due
    return PlacingOutcome.CHANGED


def is_on_platform(property_: Property | None) -> bool:
    """Return whether an order for it can be placed now. If not, it has to be pushed first.

    Raises:
        NoSuchChoice: it cannot be pushed before a person changes it. The message contains the
            reason.
    """
    if property_ is None or property_.platform_id is not None:
        return True
    if property_.due_at is None and property_.problem:
        path = sorted(property_.blocked)[0]
        text = meaning(property_.problems_at(path)[0])
        reason = (
            sentence("%(name)s: %(text)s", name=stored_label(path), text=text) if path else text
        )
        raise NoSuchChoice(
            sentence(
                "%(property)s is not on the platform: %(reason)s",
                property=str(property_),
                reason=reason,
            )
        )
    return False


def has_to_be_pushed(property_: Property | None, *, now: datetime) -> bool:
    """Have a property pushed if it is not on the platform yet. Return whether it has to be.

    Raises:
        NoSuchChoice: as for `is_on_platform`.
    """
    if property_ is None or is_on_platform(property_):
        return False
    if property_.due_at is None:
        due_now(Property.objects.filter(pk=property_.pk), now=now)
    return True
