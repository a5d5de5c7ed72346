"""The states of a placement: which may follow which, and what a worker decides (I9).

Every write of a state is checked: by `move`, for a `Step` that ends a claim, or for a draft. The
decisions are pure.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

from crm_sync.models.due import backoff
from crm_sync.platform.errors import (
    AuthError,
    NotFoundError,
    OnHold,
    SyncError,
    TransientError,
    problem_of,
)
from crm_sync.sentence import Sentence, sentence
from orders.models import Placement, PlacementState as State
from orders.placing.session import Renewal
from orders.placing.session_offer import changed_prices
from properties.models import Property
from properties.models.property import WaitReason

PUSH_TIME = timedelta(seconds=2)  # until the next check whether a property is on the platform
FOLLOWING: dict[State, tuple[State, ...]] = {
    State.DRAFT: (State.DRAFT, State.PREPARING, State.READY),
    State.PREPARING: (State.PREPARING, State.DRAFT, State.READY),
    State.READY: (State.DRAFT, State.PREPARING, State.CONFIRMED),
    State.CONFIRMED: (
        *(State.CONFIRMED, State.READY, State.SENDING, State.FAILED),
        State.UNCERTAIN,  # after a restore: the order may have been sent after the backup
    ),
    State.SENDING: (State.PLACED, State.UNCERTAIN, State.CONFIRMED, State.FAILED),
    State.UNCERTAIN: (State.PLACED, State.FAILED),
    State.PLACED: (),
    State.FAILED: (),
}


class PlacingOutcome(StrEnum):
    """The outcome of a worker's step."""

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


@dataclass(frozen=True)
class Step:
    """The end of a worker's step: the next state, and other columns to write."""

    outcome: PlacingOutcome
    to: State
    columns: dict[str, Any] = field(default_factory=dict)


def move(rows: QuerySet[Placement], *sources: State, to: State, **columns: Any) -> int:
    """Write a state and columns to the rows in one of the source states. Return their number.

    Raises:
        ValueError: that state never follows one of the sources.
    """
    for source in sources:
        check(source, to)
    return rows.filter(state__in=sources).update(state=to, **columns)


def check(source: State, to: State) -> None:
    """Raise ValueError if a state never follows another one."""
    if to not in FOLLOWING[source]:
        raise ValueError(f"{to} never follows {source}")


def waits_for_push(state: State, property_: Property, *, now: datetime) -> Step:
    """Return the step of a placement whose property is being pushed, held or to be matched."""
    problem: Sentence = sentence("It is not on the platform yet, and is sent there first.")
    due_at = now + PUSH_TIME
    if property_.wait_reason == WaitReason.HELD and property_.due_at is not None:
        problem, due_at = property_.last_answer, max(due_at, property_.due_at)
    elif property_.wait_reason == WaitReason.MATCH:
        problem = sentence("The platform may have its property already: match it first.")
    return Step(PlacingOutcome.WAITS, state, {"due_at": due_at, "problem": problem})


def not_possible(state: State, error: Exception) -> Step:
    """Return the step of a placement that cannot be ordered as it was chosen."""
    to = State.DRAFT if state == State.PREPARING else State.FAILED
    return Step(PlacingOutcome.NOT_POSSIBLE, to, {"problem": problem_of(error)})


def to_review(placement: Placement, renewal: Renewal) -> Step | None:
    """Return the step to the review, or None if the placement is confirmed and may be sent now.

    A confirmed placement is reviewed again if a price has changed. If nothing was offered before,
    nobody confirmed a price, because the property was not on the platform yet.
    """
    columns = renewal.columns | {"revision": placement.revision + 1, "attempts": 0}
    if placement.state == State.PREPARING:
        return Step(PlacingOutcome.PREPARED, State.READY, columns | {"problem": ""})
    changes = (
        changed_prices(placement.products, renewal.columns["products"]) if placement.offered else []
    )
    if not changes:
        return None
    problem = sentence(
        "Nothing was ordered yet: the price has changed. %(changes)s.", changes=changes
    )
    columns |= {"problem": problem, "confirmed_at": None, "confirmed_by": None}
    return Step(PlacingOutcome.REVIEW, State.READY, columns)


def not_ordered(error: SyncError, *, is_new_session: bool, attempts: int, now: datetime) -> Step:
    """Return the step after a call that certainly ordered nothing."""
    if isinstance(error, NotFoundError) and not is_new_session:
        # The session has expired since it was read. The next try opens another one.
        columns: dict[str, Any] = {"due_at": now, "session_id": ""}
    elif isinstance(error, OnHold):
        columns = {"due_at": error.until, "problem": problem_of(error)}
    elif isinstance(error, TransientError | AuthError):
        columns = {
            "due_at": now + backoff(attempts + 1),
            "attempts": attempts + 1,
            "problem": problem_of(error),
        }
    else:
        return Step(PlacingOutcome.FAILED, State.FAILED, {"problem": problem_of(error)})
    return Step(PlacingOutcome.PUT_OFF, State.CONFIRMED, columns | {"sent_at": None})
