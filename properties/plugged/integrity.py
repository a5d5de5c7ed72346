"""The integrity checks of the properties: a row to be pushed is due, or has a reason to wait."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import Prefetch, Q, QuerySet

from crm_sync.hooks import CheckGroup, Wrong
from crm_sync.integrity.audit import leased_too_long, of_a_queue, too_late
from crm_sync.models import Workspace, awake, due
from properties import recurring
from properties.domain import owners
from properties.drift.comparison import forgotten
from properties.models import Conflict, DeliveredFile, Import, Property, Recurring, Source, Undo
from properties.models.delivered_file import FileState
from properties.models.import_ import ImportState
from properties.models.property import ProblemKind, WaitReason, with_rules

CHUNK = 200  # rows held in memory
SHOWN = 3  # fields of a row that are named
NAME = ("workspace", "object_reference_id", "platform_id")
READ = (
    *NAME,
    *("desired", "observed", "inflight", "problem"),
    *("due_at", "lease_until", "create_sent_at", "read_at"),
)


def check_groups(workspace_id: int, now: datetime) -> list[CheckGroup]:
    """Return the checks on a workspace as of `now`."""
    each = (properties, imports, undos, sources, delivered_files, recurring_work)
    return [add(workspace_id, now) for add in each]


def properties(workspace_id: int, now: datetime) -> CheckGroup:
    """Due = under way + ready + paused + behind a parent + later. Others are in sync or blocked."""
    is_due, is_done = Q(due_at__isnull=False), Q(due_at=None)
    waits = is_due & due.unleased(now)
    may_go = waits & awake(now, at="workspace__")
    later = may_go & Q(due_at__gt=now)
    behind = Q(wait_reason=WaitReason.PARENT)
    return CheckGroup(
        "properties",
        Property.objects.filter(workspace=workspace_id).only(*NAME),
        {
            "under way": is_due & due.leased(now),
            "ready": may_go & Q(due_at__lte=now),
            "paused": waits & Q(workspace__paused_until__gt=now),
            "behind a parent": later & behind,
            "later": later & ~behind,
            "in sync": is_done & Q(problem={}),
            "with a person": is_done & ~Q(problem={}),
        },
        of_a_queue(now),
        walk=walk,
    )


def walk(rows: QuerySet[Property], now: datetime) -> Iterator[Wrong]:
    """Check the documents of all rows; 100,000 rows take about ten seconds."""
    open_ones = Conflict.objects.filter(decision=Conflict.Decision.OPEN)
    asked = Prefetch("conflict_set", open_ones.only("real_estate_property", "path"), "asked")
    whole = with_rules(rows.only(*READ)).order_by("pk").prefetch_related(asked)
    for row in whole.iterator(chunk_size=CHUNK):
        is_idle = row.due_at is None and (row.lease_until is None or row.lease_until <= now)
        if is_idle and "" not in row.blocked:
            yield from _forgotten(row)
        theirs = row.observed.get("id")
        if theirs is not None and str(theirs) != row.platform_id:
            yield "mirrors another property", f"{row} ({row.platform_id}): {theirs}"
        yield from _undecided(row)


def _forgotten(row: Property) -> Iterator[Wrong]:
    """Yield the work on an idle row that nothing made due, and that waits for no person."""
    if row.inflight:
        text = "may have been sent, but the row is not due"
        yield text, _at(row, row.inflight)
    elif paths := forgotten(row, owners.of(row)):
        yield "differs, though nothing made it due", _at(row, paths)
    elif row.platform_id is None:
        yield "is not on the platform, and nothing made it due", str(row)
    if row.create_sent_at is not None:
        yield "was perhaps created, but is not due", str(row)


def _undecided(row: Any) -> Iterator[Wrong]:
    """Yield fields with a conflict problem but no open conflict, and the reverse."""
    waiting = row.problem.get(ProblemKind.CONFLICT, {}).keys()
    asked = {conflict.path for conflict in row.asked}
    if paths := waiting - asked:
        yield "waits for a decision that nobody is asked for", _at(row, paths)
    if paths := asked - waiting:
        yield "has an open conflict at a field that does not wait", _at(row, paths)


def _at(row: Property, paths: Iterable[str]) -> str:
    names = sorted(paths)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{row}: {', '.join(names[:SHOWN])}{more}"


def imports(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that each upload is worked on, waits for a person, or has ended."""
    return CheckGroup(
        "imports",
        Import.objects.filter(workspace=workspace_id).only("workspace"),
        {state.label.lower(): Q(state=state) for state in ImportState},
        of_a_queue(now),
    )


def undos(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that each undo of many changes is worked on, or has ended."""
    has_ended = Q(ended_at__isnull=False)
    return CheckGroup(
        "undos",
        Undo.objects.filter(workspace=workspace_id).only("workspace"),
        {"ended": has_ended, "under way": ~has_ended},
        of_a_queue(now),
    )


def sources(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that each source of feeds is on its schedule, or switched off."""
    is_due = Q(due_at__isnull=False)
    return CheckGroup(
        "sources",
        Source.objects.filter(workspace=workspace_id).only("workspace"),
        {"on a schedule": is_due, "off": ~is_due},
        of_a_queue(now),
    )


def delivered_files(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that each file in turn is over, is being imported, or waits."""
    return CheckGroup(
        "delivered files",
        DeliveredFile.objects.filter(source__workspace=workspace_id).only("pk"),
        {state.label.lower(): Q(state=state) for state in FileState},
    )


def recurring_work(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that a workspace with credentials has its pull, sample and sweep."""
    is_well = Q(problem="")
    return CheckGroup(
        "recurring work",
        Recurring.objects.filter(workspace=workspace_id).only("workspace", "kind"),
        {"in order": is_well, "with a problem": ~is_well},
        [too_late("is done", now, recurring.LONGEST_WAIT), leased_too_long(now)],
        walk=partial(_missing, workspace_id),
    )


def _missing(workspace_id: int, rows: QuerySet[Recurring], _: datetime) -> Iterator[Wrong]:
    connected = Workspace.objects.filter(pk=workspace_id, credentials_at__isnull=False)
    if connected.exists():
        there = set(rows.values_list("kind", flat=True))
        for kind in Recurring.Kind:
            if kind not in there:
                yield "is never done", f"{kind.label.lower()} of workspace {workspace_id}"
