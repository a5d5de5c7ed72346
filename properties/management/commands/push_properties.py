"""manage.py push_properties: push the due properties in this process."""

import json
import logging
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Count, Max, Q
from django.utils import timezone

from crm_sync.management.base import FAILED, OK, PARTLY, USAGE, SyncCommand
from crm_sync.models import Workspace
from crm_sync.platform.errors import OnHold
from crm_sync.platform.problems import explain
from crm_sync.platform.work_kind import WorkKind
from crm_sync.work import leases, turn
from crm_sync.work.leases import Claim, LeaseLost
from properties.domain import owners
from properties.domain.difference import planned
from properties.merge import document
from properties.models import Property
from properties.models.property import WaitReason
from properties.push.plan import PushOutcome
from properties.push.push import push
from properties.push.queue import PROPERTIES

log = logging.getLogger(__name__)

Row = dict[str, Any]
SHOWN = 20
LATELY = timedelta(minutes=15)
BY_A_WORKER = "by a worker"
GOOD = {PushOutcome.CREATED, PushOutcome.PUSHED, PushOutcome.IN_SYNC, BY_A_WORKER}


class Command(SyncCommand):
    """Pushes the due properties of a workspace, or the given ones."""

    help = "Push properties that are due, or those named by --reference even if nothing is due."
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument(
            "--reference",
            action="append",
            default=[],
            metavar="R",
            help="a property by its reference; may be given again",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Push, and print a line for each property. The exit code is 3 if some failed or wait."""
        workspace = self.workspace(options["slug"])
        due = Q(due_at__lte=timezone.now())
        if options["dry_run"]:  # a worker puts off what is held
            due |= Q(due_at__isnull=False, wait_reason=WaitReason.HELD)
        rows = self._rows(workspace, options["reference"], due)
        if options["dry_run"]:
            self._plan(rows, _held(workspace), as_json=options["json"])
            return
        workspace.refuse_held(WorkKind.PUSHES)
        if options["reference"]:
            rows.update(due_at=timezone.now())
        done = list(self._push(workspace, rows))
        lately = _lately(workspace, timezone.now())
        self.emit(
            {"properties": done, "lately": lately}, _lines(done, lately), as_json=options["json"]
        )
        code = _exit_code(done)
        if code != OK:
            bad = sum(row["outcome"] not in GOOD for row in done)
            self.fail(f"{bad} of {len(done)} properties did not get through", code)

    def _rows(self, workspace: Workspace, references: list[str], due: Q) -> Any:
        mine = Property.objects.filter(workspace=workspace)
        if not references:
            return mine.filter(due)
        found = mine.filter(object_reference_id__in=references)
        unknown = set(references) - set(found.values_list("object_reference_id", flat=True))
        if unknown:
            self.fail(f"no property {', '.join(sorted(unknown))} in {workspace}", USAGE)
        return found

    def _push(self, workspace: Workspace, rows: Any) -> Iterable[Row]:
        found = rows.order_by("due_at", "pk").values_list("pk", "desired__parentRealtyReferenceId")
        # A child waits until its parent is created, so properties without a parent go first.
        keys = [pk for pk, parent in sorted(found, key=lambda row: bool(row[1]))]
        outcomes = _pushed(self.track(keys, "pushing"), workspace)
        for pk in keys:
            row = Property.objects.get(pk=pk)
            yield {
                "reference": str(row),
                "outcome": outcomes.get(pk) or (BY_A_WORKER if row.due_at is None else "busy"),
                "answer": row.last_answer,
                "waits": row.waits_because(timezone.now()),
                "problem": row.problem,
            }

    def _plan(self, rows: Any, held: str, *, as_json: bool) -> None:
        plan = [
            {"reference": str(row), "call": call, "body": document(parts)}
            for row in rows.with_rules().order_by("due_at", "pk")
            for call, parts in [planned(row, owners.of(row))]
        ]
        lines = [f"{step['reference']}: {step['call']} {_json(step['body'])}" for step in plan]
        lines = (lines or ["nothing is due"]) + ([held] if held else [])
        self.emit({"plan": plan, "held": held}, lines, as_json=as_json)


def _held(workspace: Workspace) -> str:
    """Return who holds the changes and why, as a push says it; "" if nobody does."""
    try:
        workspace.refuse_held(WorkKind.PUSHES)
    except OnHold as hold:
        return str(explain(hold, is_repeated=False))
    return ""


def _json(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False)


def _pushed(keys: Iterable[int], workspace: Workspace) -> dict[int, str]:
    """Push these rows in this order. Return their outcomes, without rows that a worker pushes."""
    outcomes: dict[int, str] = {}
    for pk in keys:
        if (claim := _claim(pk)) is None:
            continue
        try:
            with turn.under_way([claim]):
                outcomes[pk] = push(claim, workspace)
        except LeaseLost:
            continue
        except Exception as error:
            log.exception("%s failed", claim.row)
            outcomes[pk] = PROPERTIES.failed(claim, error)
    return outcomes


def _claim(pk: int) -> Claim[Property] | None:
    """Claim a row, or wait for its worker. None if that worker did the work or still holds it."""
    end = time.monotonic() + leases.LEASE.total_seconds()
    while time.monotonic() < end:
        claim = leases.claim(Property.objects.filter(pk=pk), now=timezone.now())
        if claim or not Property.objects.filter(pk=pk, lease_token__isnull=False).exists():
            return claim
        time.sleep(0.1)
    return None


def _exit_code(done: list[Row]) -> int:
    good = sum(row["outcome"] in GOOD for row in done)
    if good == len(done):
        return OK
    return PARTLY if good else FAILED


def _lately(workspace: Workspace, now: datetime) -> Row:
    """Return how many properties the workers and this command pushed within LATELY, and when."""
    pushed = Property.objects.filter(workspace=workspace, pushed_at__gt=now - LATELY)
    return pushed.aggregate(pushed=Count("pk"), last=Max("pushed_at"))


def _lines(done: list[Row], lately: Row) -> list[str]:
    lines = [f"{row['outcome']:11} {row['reference']}  {_why(row)}" for row in done[:SHOWN]]
    if len(done) > SHOWN:
        lines.append(f"… and {len(done) - SHOWN} more")
    if lines:
        return lines
    if not lately["pushed"]:
        return ["nothing is due"]
    minutes = LATELY.seconds // 60
    return [
        f"nothing is due; properties sent in the last {minutes} minutes:"
        f" {lately['pushed']}, the last at {timezone.localtime(lately['last']):%H:%M:%S}"
    ]


def _why(row: Row) -> str:
    return str(row["waits"] if row["outcome"] == PushOutcome.WAITING else row["answer"])
