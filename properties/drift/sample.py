"""The sample: a few properties of a workspace, chosen at random, compared with the platform."""

from collections.abc import Callable

from django.utils import timezone

from crm_sync.models import Workspace
from crm_sync.platform.errors import Problem, problem_of
from crm_sync.sentence import sentence
from crm_sync.work.room import Room, wait_for_room
from properties.drift.comparison import ComparisonError, compare, keys, make_due
from properties.drift.findings import NAMED, DriftReport, DriftVerdict, by_count, entry
from properties.models import DriftCheck

SIZE = 40  # properties, if they can be read in time


def take_sample(
    workspace: Workspace,
    *,
    is_over: Callable[[], bool],
    size: int = SIZE,
    room: Room = wait_for_room,
) -> DriftCheck:
    """Compare a sample, store the result, and make unexplained rows due.

    Args:
        is_over: called after each property; if it is true, the sample ends there.
        room: holds the room for the calls about a property (A8).

    Raises:
        ComparisonError: not even one property could be compared.
    """
    started_at, report = timezone.now(), DriftReport()
    try:
        for finding in compare(workspace, keys(workspace, sample=size), room=room):
            report.add(finding)
            if is_over():
                report.stopped = Problem(sentence("the time of one run was up"))
                break
    except ComparisonError as stop:
        if not report.compared:
            raise
        report.stopped = problem_of(stop)
    make_due(workspace, report.keys_of(DriftVerdict.UNEXPLAINED), now=timezone.now())
    return DriftCheck.objects.create(
        workspace=workspace,
        kind=DriftCheck.Kind.SAMPLE,
        started_at=started_at,
        finished_at=timezone.now(),
        compared=report.compared,
        differing=report.differing,
        unexplained=report.verdicts[DriftVerdict.UNEXPLAINED],
        pending=report.verdicts[DriftVerdict.PENDING],
        blocked=report.verdicts[DriftVerdict.BLOCKED],
        gone=report.gone,
        failed=report.verdicts[DriftVerdict.FAILED],
        fields=dict(by_count(report.fields)[:NAMED]),
        found=_named(report),
        stopped=report.stopped,
    )


def _named(report: DriftReport) -> list[dict[str, object]]:
    """Return entries of the first properties, unexplained ones first; no values (S23)."""
    return [
        entry(
            finding.pk,
            finding.reference,
            finding.verdict,
            [leaf.path for leaf in finding.leaves],
            is_gone=finding.is_gone,
            error=finding.error,
        )
        for finding in report.worst_first()[:NAMED]
    ]
