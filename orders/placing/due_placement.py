"""What a worker does with a placement that is due: prepare it, send it, or call it uncertain."""

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.utils import timezone

from crm_sync.models import Workspace
from crm_sync.models.due import backoff
from crm_sync.platform.errors import (
    AuthError,
    NotFoundError,
    RejectedError,
    SyncError,
    TransientError,
    problem_of,
)
from crm_sync.work import queues
from crm_sync.work.leases import Claim
from crm_sync.work.queues import Turn
from orders.models import Placement
from orders.models import PlacementState as State
from orders.placing import sending, session, settlement
from orders.placing.errors import AlreadySent, NoSuchChoice
from orders.placing.first_push import has_to_be_pushed
from orders.placing.prices import changed_prices

PUSH_TIME = timedelta(seconds=2)  # until a look whether a property is on the platform by now
CLOSED = {State.DRAFT: State.DRAFT, State.READY: State.FAILED}  # what nobody can go on with


class PlacingOutcome(StrEnum):
    """What became of a placement."""

    PREPARED = "prepared"
    SENT = "sent"
    WAITS = "waits for its push"
    REVIEW = "to be reviewed again"
    NOT_POSSIBLE = "not possible"
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    PUT_OFF = "put off"
    TAKEN_BACK = "taken back"
    CHANGED = "changed meanwhile"
    NOTHING = "nothing to do"


def work(claims: Sequence[Claim[Placement]], turn: Turn) -> list[PlacingOutcome]:
    """Work on claimed placements; return the outcome of each."""
    return [_work(claim, turn.workspace) for claim in claims]


def _work(claim: Claim[Placement], workspace: Workspace) -> PlacingOutcome:
    placement = claim.row
    placement.workspace = workspace
    try:
        return STEPS.get(State(placement.state), _nothing)(claim)
    except AlreadySent:
        claim.finish(due_at=None)
        return PlacingOutcome.TAKEN_BACK
    except (NoSuchChoice, RejectedError, NotFoundError) as error:
        state = CLOSED[State(placement.state)]
        return _end(claim, PlacingOutcome.NOT_POSSIBLE, state=state, problem=problem_of(error))
    except (TransientError, AuthError) as error:
        queues.put_off(claim, problem=problem_of(error))
        return PlacingOutcome.PUT_OFF


def _prepare(claim: Claim[Placement]) -> PlacingOutcome:
    """Open the session of a draft and find in it what was chosen for all of its selection."""
    placement, now = claim.row, timezone.now()
    if has_to_be_pushed(placement.real_estate_property, now=now):
        problem = "It is not on the platform yet, and is pushed first."
        return _end(claim, PlacingOutcome.WAITS, due_at=now + PUSH_TIME, problem=problem)
    with placement.workspace.calling():
        missing = session.renew(placement)
    if missing:
        raise NoSuchChoice("; ".join(missing))
    columns = session.renewed(placement) | {"revision": placement.revision + 1}
    return _end(
        claim, PlacingOutcome.PREPARED, attempts=0, state=State.READY, problem="", **columns
    )


def _place(claim: Claim[Placement]) -> PlacingOutcome:
    """Send what was reviewed, as long as session and prices still are what was reviewed."""
    placement = claim.row
    reviewed, session_id = placement.products, placement.session_id
    with placement.workspace.calling():
        missing = session.renew(placement)
    if missing:
        raise NoSuchChoice("; ".join(missing))
    columns = session.renewed(placement)
    if changes := changed_prices(reviewed, placement.products):
        problem = f"Nothing was ordered yet: the price has changed. {'; '.join(changes)}."
        columns |= {"revision": placement.revision + 1, "problem": problem, "attempts": 0}
        unconfirmed = {"confirmed_at": None, "confirmed_by": None}
        return _end(claim, PlacingOutcome.REVIEW, **unconfirmed, **columns)
    now, workspace = timezone.now(), placement.workspace
    # The call of another worker may have begun a pause since (I11): a 503 would leave us uncertain.
    workspace.refresh_from_db(fields=["paused_until"])
    has_no_time = claim.until - now < timedelta(seconds=settings.CALL_DEADLINE)  # I13
    if has_no_time or workspace.is_paused(now):
        return _end(claim, PlacingOutcome.PUT_OFF, due_at=now + backoff(0), **columns)
    if not claim.write(columns, revision=placement.revision):
        raise AlreadySent(f"{placement} was changed meanwhile")
    error = sending.send_claimed(claim, now=now)
    if error is not None:
        return _not_ordered(claim, error, is_new_session=placement.session_id != session_id)
    claim.finish(due_at=None, attempts=0)
    return PlacingOutcome.SENT


def _not_ordered(
    claim: Claim[Placement], error: SyncError, *, is_new_session: bool
) -> PlacingOutcome:
    """Say what becomes of a placement of which surely nothing was ordered."""
    text, now = problem_of(error), timezone.now()
    if isinstance(error, NotFoundError) and not is_new_session:
        # The session has expired since it was looked at: the next try opens another one.
        again = {"due_at": now, "state": State.READY, "sent_at": None, "session_id": ""}
        return _end(claim, PlacingOutcome.PUT_OFF, **again)
    if isinstance(error, TransientError | AuthError):
        attempts = claim.row.attempts + 1
        later = {"due_at": now + backoff(attempts), "attempts": attempts, "problem": text}
        return _end(claim, PlacingOutcome.PUT_OFF, state=State.READY, sent_at=None, **later)
    return _end(claim, PlacingOutcome.FAILED, state=State.FAILED, problem=text)


def _give_up(claim: Claim[Placement]) -> PlacingOutcome:
    """Call a placement uncertain that was being sent when its process died."""
    settlement.uncertain(claim.row, "The process that sent it never came back.")
    claim.finish(due_at=None)
    return PlacingOutcome.UNCERTAIN


def _nothing(claim: Claim[Placement]) -> PlacingOutcome:
    """Take a placement off the queue that has ended."""
    claim.finish(due_at=None)
    return PlacingOutcome.NOTHING


def _end(claim: Claim[Placement], outcome: PlacingOutcome, **columns: Any) -> PlacingOutcome:
    """Write what came of it, unless somebody has changed the choices meanwhile."""
    if claim.finish_if({"due_at": None, **columns}, revision=claim.row.revision):
        return outcome
    claim.finish(due_at=None)  # what was made due by the change stays due
    return PlacingOutcome.CHANGED


STEPS = {State.DRAFT: _prepare, State.READY: _place, State.SENDING: _give_up}
