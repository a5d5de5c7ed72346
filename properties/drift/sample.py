"""The sample: a few properties of a workspace, chosen at random, compared with the platform."""

import time

from django.conf import settings
from django.utils import timezone

from crm_sync.models import Workspace
from properties.drift.comparison import Stopped, compare, keys, make_due
from properties.drift.findings import NAMED, Report, Verdict, by_count, entry
from properties.models import DriftCheck

SIZE = 40  # properties, if they can be read in time
DEADLINE = 8.0  # seconds for a call: two of them end well within the limit of a task


def take_sample(workspace: Workspace, *, seconds: float, size: int = SIZE) -> DriftCheck | None:
    """Compare a sample for at most so many seconds, store the result, make unexplained rows due.

    Returns:
        None when not even one property could be compared.
    """
    started_at, end = timezone.now(), time.monotonic() + seconds
    report, deadline = Report(), min(DEADLINE, settings.CALL_DEADLINE)
    try:
        for finding in compare(workspace, keys(workspace, sample=size), deadline=deadline):
            report.add(finding)
            if time.monotonic() > end:
                report.stopped = "the time of one run was up"
                break
    except Stopped as stop:
        report.stopped = str(stop)
        if not report.compared:
            return None
    make_due(workspace, report.keys_of(Verdict.UNEXPLAINED), now=timezone.now())
    return DriftCheck.objects.create(
        workspace=workspace,
        kind=DriftCheck.Kind.SAMPLE,
        started_at=started_at,
        finished_at=timezone.now(),
        compared=report.compared,
        differing=report.differing,
        unexplained=report.verdicts[Verdict.UNEXPLAINED],
        pending=report.verdicts[Verdict.PENDING],
        blocked=report.verdicts[Verdict.BLOCKED],
        gone=report.gone,
        failed=report.verdicts[Verdict.FAILED],
        fields=dict(by_count(report.fields)[:NAMED]),
        found=_named(report),
        stopped=report.stopped[:255],
    )


def _named(report: Report) -> list[dict[str, object]]:
    """Name the first properties, those first that nothing explains; no values (S23)."""
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
