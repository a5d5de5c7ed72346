"""The scheduled work on properties: thin, bounded, and taken up again where it stopped."""

import logging
import time
from datetime import timedelta

from celery import shared_task
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from crm_sync.errors import SyncError
from crm_sync.models import Workspace
from crm_sync.tasks import BUDGET
from properties.models import DriftCheck, Walk
from properties.pull import pull
from properties.sampling import forget_old, take_sample
from properties.sweep import sweep

Kind = DriftCheck.Kind
log = logging.getLogger(__name__)

EVERY = timedelta(hours=1)  # from the end of one walk to the beginning of the next
SAMPLE_EVERY = timedelta(hours=1)
SWEEP_EVERY = timedelta(hours=24)  # from one beginning to the next
SWEEP_ROWS = 2000  # in one run, of all workspaces together: half a million a day


@shared_task(name="properties.pull")
def pull_properties() -> dict[str, str]:
    """Walk on in every workspace whose last walk is unfinished or an hour old.

    Returns:
        what happened, by slug of the workspace.
    """
    return {workspace.slug: _pull(workspace) for workspace in Workspace.objects.order_by("slug")}


def _pull(workspace: Workspace) -> str:
    now = timezone.now()
    if workspace.is_paused(now):
        return "paused"
    if Walk.objects.filter(workspace=workspace, finished_at__gt=now - EVERY).exists():
        return "not yet"
    end = time.monotonic() + BUDGET
    try:
        for walk in pull(workspace):
            if walk.finished_at is None and time.monotonic() > end:
                return f"stopped at page {walk.page}"
    except SyncError as error:
        log.warning("the pull of %s goes on later: %s", workspace.slug, error)
        workspace.pause_for(error, now)
        return "put off"
    return "done"


@shared_task(name="properties.drift_sample")
def sample_drift() -> dict[str, str]:
    """Compare a sample in every workspace whose last one is an hour old, within one budget.

    Returns:
        what happened, by slug of the workspace.
    """
    forget_old()
    end = time.monotonic() + BUDGET
    return {workspace.slug: _sample(workspace, end) for workspace in _longest_ago(Kind.SAMPLE)}


def _sample(workspace: Workspace, end: float) -> str:
    now, seconds = timezone.now(), end - time.monotonic()
    if workspace.is_paused(now):
        return "paused"
    if _checks(workspace, Kind.SAMPLE).filter(started_at__gt=now - SAMPLE_EVERY).exists():
        return "not yet"
    check = take_sample(workspace, seconds=seconds) if seconds > 0 else None
    if check is None:
        return "put off"
    return f"{check.differing} of {check.compared} differ, {check.unexplained} unexplained"


@shared_task(name="properties.drift_sweep")
def sweep_properties() -> dict[str, str]:
    """Sweep on in every workspace whose last sweep is unfinished or began a day ago (I7).

    Returns:
        what happened, by slug of the workspace.
    """
    rows, told = SWEEP_ROWS, {}
    for workspace in _longest_ago(Kind.SWEEP):
        told[workspace.slug], looked = _sweep(workspace, rows)
        rows -= looked
    return told


def _sweep(workspace: Workspace, rows: int) -> tuple[str, int]:
    """Look at about so many rows; returns what happened, and how many there were."""
    checks = _checks(workspace, Kind.SWEEP)
    begun = checks.filter(finished_at=None).first()
    since = timezone.now() - SWEEP_EVERY
    if begun is None and checks.filter(started_at__gt=since).exists():
        return "not yet", 0
    before = looked = begun.compared if begun else 0
    text = "put off"
    steps = sweep(workspace) if rows > 0 else ()
    for check in steps:
        looked = check.compared
        text = f"{looked} {'in all' if check.finished_at else 'so far'}, {check.unexplained} found"
        if looked - before >= rows:
            break
    return text, looked - before


def _checks(workspace: Workspace, kind: str) -> QuerySet[DriftCheck]:
    return DriftCheck.objects.filter(workspace=workspace, kind=kind)


def _longest_ago(kind: str) -> QuerySet[Workspace]:
    """Return the workspaces, first the one whose last check of this kind is oldest."""
    last = Max("driftcheck__started_at", filter=Q(driftcheck__kind=kind))
    checked = Workspace.objects.annotate(checked_at=last)
    return checked.order_by(F("checked_at").asc(nulls_first=True), "slug")
