"""The scheduled work on properties: thin, bounded, and taken up again where it stopped."""

import logging
import time
from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from crm_sync.models import Workspace
from crm_sync.platform.errors import SyncError
from crm_sync.workers.ticker import BUDGET
from properties.drift.sample import take_sample
from properties.drift.sweep import CHUNK, sweep
from properties.models import DriftCheck, Turn, Walk
from properties.pull.walk import pull
from properties.rounds import go_round, longest_ago, take_turn

Kind = DriftCheck.Kind
log = logging.getLogger(__name__)

EVERY = timedelta(hours=1)  # from the end of one walk to the beginning of the next
SAMPLE_EVERY = timedelta(hours=1)
SWEEP_EVERY = timedelta(hours=24)  # from one beginning to the next
SWEEP_ROWS = 2000  # in one run, of all workspaces together: half a million a day
# Seconds. What begins last and hangs ends before the limit of a task all the same: one page, or the
# wait for room and the two calls of a sample.
PAGE_DEADLINE = 15.0
SAMPLE_BUDGET = 15.0


@shared_task(name="properties.pull")
def pull_properties() -> dict[str, str]:
    """Walk on in every workspace whose last walk is unfinished or an hour old.

    Returns:
        what happened, by slug of the workspace; nothing of those that have nothing to do.
    """
    since = timezone.now() - EVERY
    lately = Walk.objects.filter(workspace=OuterRef("pk"), finished_at__gt=since)
    waiting = Workspace.objects.filter(~Exists(lately))
    return go_round(Turn.Task.PULL, waiting, _pull, budget=BUDGET)


def _pull(workspace: Workspace, until: float) -> str:
    now = timezone.now()
    if workspace.is_paused(now):
        return "paused"
    deadline = min(PAGE_DEADLINE, settings.CALL_DEADLINE)
    try:
        for walk in pull(workspace, deadline=deadline):
            if walk.finished_at is None and time.monotonic() > until:
                return f"stopped at page {walk.page}"
    except SyncError as error:
        log.warning("the pull of %s goes on later: %s", workspace.slug, error)
        return "put off"
    return "done"


@shared_task(name="properties.drift_sample")
def sample_drift() -> dict[str, str]:
    """Compare a sample in every workspace whose last one is an hour old, within one budget.

    Returns:
        what happened, by slug of the workspace; nothing of those that have nothing to do.
    """
    waiting = Workspace.objects.filter(~Exists(_begun(Kind.SAMPLE, SAMPLE_EVERY)))
    return go_round(Turn.Task.SAMPLE, waiting, _sample, budget=SAMPLE_BUDGET)


def _sample(workspace: Workspace, until: float) -> str:
    if workspace.is_paused(timezone.now()):
        return "paused"
    check = take_sample(workspace, seconds=until - time.monotonic())
    if check is None:
        return "put off"
    return f"{check.differing} of {check.compared} differ, {check.unexplained} unexplained"


@shared_task(name="properties.drift_sweep")
def sweep_properties() -> dict[str, str]:
    """Sweep on in every workspace whose last sweep is unfinished or began a day ago (I7).

    Returns:
        what happened, by slug of the workspace; nothing of those that have nothing to do.
    """
    begun = _begun(Kind.SWEEP, SWEEP_EVERY).filter(finished_at__isnull=False)
    waiting = list(longest_ago(Turn.Task.SWEEP, Workspace.objects.filter(~Exists(begun))))
    left, outcomes = SWEEP_ROWS, dict[str, str]()

    def step(workspace: Workspace) -> str:
        nonlocal left
        text, compared = _sweep(workspace, max(CHUNK, left // (len(waiting) - len(outcomes))))
        left -= compared
        return text

    for workspace in waiting:
        is_over = left <= 0
        outcome = "put off" if is_over else take_turn(Turn.Task.SWEEP, workspace, step)
        outcomes[workspace.slug] = outcome
    return outcomes


def _sweep(workspace: Workspace, rows: int) -> tuple[str, int]:
    """Compare about so many rows; return what happened, and how many were compared."""
    begun = DriftCheck.objects.filter(workspace=workspace, kind=Kind.SWEEP, finished_at=None)
    before = compared = begun.values_list("compared", flat=True).first() or 0
    text = "left to another worker"
    for check in sweep(workspace):
        compared = check.compared
        text = (
            f"{compared} {'in all' if check.finished_at else 'so far'}, {check.unexplained} found"
        )
        if compared - before >= rows:
            break
    return text, compared - before


def _begun(kind: str, ago: timedelta) -> QuerySet[DriftCheck]:
    """Return the checks of a kind that began since then, for each workspace of an outer query."""
    since = timezone.now() - ago
    return DriftCheck.objects.filter(workspace=OuterRef("pk"), kind=kind, started_at__gt=since)
