"""manage.py drift: find differences between us and the platform."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.management.base import PARTLY, SyncCommand, count
from crm_sync.models import Workspace
from crm_sync.platform.errors import problem_of
from properties.domain.difference import short
from properties.drift.comparison import ComparisonError, compare, keys, make_due
from properties.drift.findings import ORDER, DriftFinding, DriftReport, DriftVerdict, by_count

SHOWN = 20  # properties in the text for a person, and fields of each property
MOVED = {"ours": "never sent", "theirs": "changed there", "both": "changed on both sides"}


class Command(SyncCommand):
    """Compares our desired documents with the platform. Only `--repair` changes anything."""

    help = (
        "Read properties on the platform and say which differ, in which fields, and why. Exit code:"
        " 0 nothing is unexplained, 1 the platform did not answer to the end, 3 some differ"
        " unexplained or could not be compared."
    )
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument(
            "--sample", type=count, metavar="N", help="only N properties, chosen at random"
        )
        parser.add_argument(
            "--repair", action="store_true", help="make due for a push what nothing explains"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        workspace, sample = self.workspace(options["slug"]), options["sample"]
        chosen = keys(workspace, sample=sample)
        report = self._compare(workspace, chosen)
        drifted = report.keys_of(DriftVerdict.UNEXPLAINED)
        due = None
        if options["repair"]:
            is_dry = options["dry_run"]
            due = len(drifted) if is_dry else make_due(workspace, drifted, now=timezone.now())
        document = _document(report, len(chosen), due)
        lines = _lines(report, len(chosen), due, is_dry=options["dry_run"])
        self.emit(document, lines, as_json=options["json"])
        if report.stopped or (chosen and not report.compared):
            self.fail(f"{workspace}: compared {report.compared} of {len(chosen)}: {_why(report)}")
        if drifted or report.verdicts[DriftVerdict.FAILED]:
            failed = report.verdicts[DriftVerdict.FAILED]
            self.fail(
                f"{len(drifted)} of {report.compared} properties differ and nothing explains it"
                + (f"; {failed} could not be compared" if failed else ""),
                PARTLY,
            )

    def _compare(self, workspace: Workspace, chosen: list[int]) -> DriftReport:
        report = DriftReport()
        try:
            for finding in compare(workspace, self.track(chosen, "comparing")):
                report.add(finding)
        except ComparisonError as stop:
            report.stopped = problem_of(stop)
        return report


def _why(report: DriftReport) -> str:
    return report.stopped or next((one.error for one in report.findings), "")


def _document(report: DriftReport, total: int, due: int | None) -> dict[str, Any]:
    return {
        "properties": total,
        "compared": report.compared,
        "differing": report.differing,
        **{verdict.value: report.verdicts[verdict] for verdict in ORDER},
        "gone": report.gone,
        "fields": dict(by_count(report.fields)),
        "stopped": report.stopped,
        "made due": due,
        "found": [_found(finding) for finding in report.findings],
    }


def _found(finding: DriftFinding) -> dict[str, Any]:
    return {
        "reference": finding.reference,
        "verdict": finding.verdict.value,
        "gone": finding.is_gone,
        "error": finding.error,
        "fields": [asdict(leaf) for leaf in finding.leaves],
    }


def _lines(report: DriftReport, total: int, due: int | None, *, is_dry: bool) -> Iterator[str]:
    why = [one for one in ORDER if report.verdicts[one] and one != DriftVerdict.FAILED]
    counts = ", ".join(f"{report.verdicts[one]} {one}" for one in why)
    yield f"{report.differing} of {report.compared} differ" + (f": {counts}" if counts else "")
    if report.compared < total:
        yield f"{total - report.compared} of {total} were not compared"
    if report.fields:
        said = [f"{path} {count}" for path, count in by_count(report.fields)[:SHOWN]]
        yield f"in these fields: {', '.join(said)}"
    found = report.worst_first()
    for finding in found[:SHOWN]:
        yield from _finding_lines(finding)
    if len(found) > SHOWN:
        yield f"… and {len(found) - SHOWN} more: --json has them all"
    if due is not None:
        yield f"{'would be made' if is_dry else 'made'} due: {due}"


def _finding_lines(finding: DriftFinding) -> Iterator[str]:
    what = "the platform has no such property" if finding.is_gone else finding.error
    yield f"{finding.verdict:11} {finding.reference}{f'  {what}' if what else ''}"
    for leaf in finding.leaves[:SHOWN]:
        values = f"ours {_said(leaf.ours)}, theirs {_said(leaf.theirs)}"
        yield f"            {leaf.path}: {values} ({leaf.verdict}; {MOVED[leaf.moved]})"
    if len(finding.leaves) > SHOWN:
        yield f"            … and {len(finding.leaves) - SHOWN} more fields"


def _said(value: Any) -> str:
    return "nothing" if value is None else short(value)
