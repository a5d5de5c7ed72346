"""The recurring work of each workspace: the pull, the sample and the sweep.

Each has a row with the time when it is due. One run lasts at most one turn. If work is left, the
row is due again at once, behind rows that are due in other workspaces.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.models import Workspace
from crm_sync.platform.errors import SyncError, problem_of
from crm_sync.translated import Text
from crm_sync.work import leases, queues
from crm_sync.work.doorbell import doorbell
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Stop, Turn
from crm_sync.work.room import Room
from properties.drift.comparison import ComparisonError
from properties.drift.sample import take_sample
from properties.drift.sweep import sweep
from properties.models import Recurring
from properties.pull.walk import pull

Kind = Recurring.Kind
log = logging.getLogger(__name__)

PULL_EVERY = timedelta(hours=1)  # from the end of one walk to the beginning of the next
SAMPLE_EVERY = timedelta(hours=1)  # from one beginning to the next
SWEEP_EVERY = timedelta(hours=24)  # from one beginning to the next
LONGEST_WAIT = SWEEP_EVERY + leases.SHORT_LEASE
# Until then, the person who connects a workspace can choose its settings, such as the conflict
# policy.
FIRST_AFTER = timedelta(minutes=5)


class RecurringOutcome(StrEnum):
    """The outcome of a turn at the pull, the sample or the sweep."""

    DONE = "done"
    GOES_ON = "goes on"
    PUT_OFF = "put off"


def begin(workspace_id: int, now: datetime) -> None:
    """Start all recurring work; a `hooks.after_connected`. Rows that exist are not changed."""
    Recurring.objects.bulk_create(
        (
            Recurring(workspace_id=workspace_id, kind=kind, due_at=now + FIRST_AFTER)
            for kind in Kind
        ),
        ignore_conflicts=True,
    )


def pull_at_once(workspace_id: int, now: datetime) -> None:
    """Make the pull of a workspace due."""
    Recurring.objects.filter(workspace_id=workspace_id, kind=Kind.PULL).update(due_at=now)
    doorbell.ring(PULL.name, workspace_id)


def _pull(claim: Claim[Recurring], turn: Turn) -> RecurringOutcome:
    try:
        for walk in pull(turn.workspace, room=_room_of(turn)):
            if walk.finished_at is None and turn.is_over():
                return _goes_on(claim)
    except SyncError as error:
        log.warning("the pull of %s goes on later: %s", turn.workspace, error)
        return _put_off(claim, error)
    return _done(claim, timezone.now() + PULL_EVERY)


def _sample(claim: Claim[Recurring], turn: Turn) -> RecurringOutcome:
    try:
        check = take_sample(turn.workspace, is_over=turn.is_over, room=_room_of(turn))
    except ComparisonError as error:
        log.warning("the sample of %s is taken later: %s", turn.workspace, error)
        return _put_off(claim, error)
    return _done(claim, check.started_at + SAMPLE_EVERY)


def _sweep(claim: Claim[Recurring], turn: Turn) -> RecurringOutcome:
    # Without its secrets, so that a workspace whose key is lost is swept too: no call is made.
    workspace = Workspace.objects.defer(*Workspace.SECRETS).get(pk=turn.workspace_id)
    for check in sweep(workspace):
        if check.finished_at is None and turn.is_over():
            return _goes_on(claim)
    return _done(claim, check.started_at + SWEEP_EVERY)


def _room_of(turn: Turn) -> Room:
    """Return the room for the calls of a turn, which holds a slot already (A8)."""

    @contextmanager
    def room(_: Workspace) -> Iterator[None]:
        if turn.workspace.is_paused(timezone.now()):
            raise Stop
        yield

    return room


def _done(claim: Claim[Recurring], due_at: datetime) -> RecurringOutcome:
    claim.finish(due_at=due_at, attempts=0, problem="")
    return RecurringOutcome.DONE


def _goes_on(claim: Claim[Recurring]) -> RecurringOutcome:
    claim.finish(due_at=timezone.now(), attempts=0, problem="")
    return RecurringOutcome.GOES_ON


def _put_off(claim: Claim[Recurring], error: Exception) -> RecurringOutcome:
    queues.put_off(claim, problem=problem_of(error))
    return RecurringOutcome.PUT_OFF


def _queue(
    kind: Kind,
    title: Text,
    step: Callable[[Claim[Recurring], Turn], RecurringOutcome],
    *,
    calls: bool,
) -> RowQueue[Recurring]:
    def work(claims: Sequence[Claim[Recurring]], turn: Turn) -> list[RecurringOutcome]:
        return [step(claim, turn) for claim in claims]

    return RowQueue(
        name=kind.lower(),
        title=title,
        rows=lambda now: Recurring.objects.filter(kind=kind),
        work=work,
        calls=calls,
        leave=1 if calls else 0,  # one slot free for the reads of orders and the webhook
        lease=leases.SHORT_LEASE,  # a late call of a dead worker only reads
        wait=LONGEST_WAIT,
    )


PULL = _queue(Kind.PULL, _("pull"), _pull, calls=True)
SAMPLE = _queue(Kind.SAMPLE, _("sample"), _sample, calls=True)
SWEEP = _queue(Kind.SWEEP, _("sweep"), _sweep, calls=False)
