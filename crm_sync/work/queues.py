"""A queue, described as data: which rows can be due, and how to work on them."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Generic, Protocol

from django.db.models import Count, Exists, F, Min, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.utils import timezone
from django.utils.functional import cached_property

from crm_sync.models import Hold, Workspace, awake, due
from crm_sync.platform.errors import problem_of
from crm_sync.platform.work_kind import WorkKind
from crm_sync.translated import Text
from crm_sync.work import leases
from crm_sync.work.fast_sql import Expression, TimedSelect
from crm_sync.work.leases import Claim, Columns, Row

# Set when this process has to end: each turn finishes the rows in progress, then stops.
ending = threading.Event()


class RowOutcome(StrEnum):
    """The outcome of a row whose `work` failed, in any queue."""

    FAILED = "failed"
    LOST = "lost to another worker"


class Stop(Exception):
    """Raised by `work` if nothing more can be done now. Its rows are given back, the turn ends."""


class Turn(Protocol):
    """The turn, as the work on a row sees it."""

    workspace_id: int
    ends_at: float  # on the monotonic clock; after it no further row is begun

    @property
    def workspace(self) -> Workspace:
        """The workspace, read a few seconds ago at most; see `turn.Turn.workspace`."""

    def is_over(self) -> bool:
        """Return whether its time is over, this process has to end, or a person holds its work."""


def put_off(claim: Claim[Row], longest: timedelta = timedelta.max, /, **columns: Any) -> None:
    """Reschedule a row that failed, later each time (I11).

    Args:
        longest: the longest wait that the queue allows (`due.free`, I29).
        columns: other columns to write, such as the reason.

    Raises:
        LeaseLost: we no longer hold the row.
    """
    attempts = claim.row.attempts + 1
    wait = min(due.backoff(attempts), longest)
    later = {"due_at": timezone.now() + wait, "attempts": attempts}
    claim.finish(**later, **claim.urgency, **columns)


@dataclass(frozen=True)
class RowQueue(Generic[Row]):
    """A table whose rows can be due, and how to work on them.

    Attributes:
        title: the name for people.
        rows: the rows of all workspaces that may be worked on at a given time.
        work: finishes claimed rows and returns the outcome of each. It may raise `LeaseLost` if
            another worker holds a row now, or `Stop`.
        failure: returns the columns to write to a failed row, from the text of its error.
        calls: whether it calls the platform. If so, its turns need slots of the workspace, and
            none runs while the workspace is paused.
        slots: the number of turns at a time in a workspace, if it makes no calls.
        leave: the number of the workspace's slots that are reserved for other queues.
        batch_size: the number of rows for one call of `work`.
        is_on: whether the settings want its work at all.
        wait: see `due.free`.
        record: returns columns to write before work on a row begins; see `leases.claim_some`.
        columns: the columns that `work` needs; by default all.
        urgent: the column that marks the rows to handle first.
        since: the time since when a row is due, if this is not its `due_at`.
        work_kind: the kind of work that a person can hold, or None if this queue only reads.
        after: called with the workspace id after a turn that handled a row; its outcomes are
            counted too.
    """

    name: str
    title: Text
    rows: Callable[[datetime], QuerySet[Row]]
    work: Callable[[Sequence[Claim[Row]], Turn], Sequence[str]]
    failure: Callable[[str], Columns] = lambda text: {"problem": text}
    calls: bool = True
    slots: int = 1
    leave: int = 0
    batch_size: int = 1
    lease: timedelta = leases.LEASE
    is_on: Callable[[], bool] = lambda: True
    wait: timedelta | None = None
    record: Callable[[Row], Columns] = lambda row: {}
    columns: Sequence[str] = ()
    urgent: str = ""
    since: Combinable | None = None
    work_kind: WorkKind | None = None
    after: Callable[[int], Sequence[str]] = lambda workspace_id: ()

    def workspaces(self, now: datetime) -> set[int]:
        """Return the ids of workspaces with a due row, without paused and held ones (A8, I34)."""
        return set(self.with_due(now).values_list("pk", flat=True))

    def with_due(self, now: datetime) -> QuerySet[Workspace]:
        """Return the same as `workspaces`, as a query.

        It reads only one index entry for each workspace.
        """
        rows = self.free(now).filter(workspace_id=OuterRef("pk"))
        # Sorted by `due_at`, so that every planner uses the index of due rows.
        first = Subquery(rows.order_by("due_at").values("due_at")[:1])
        workspaces = Workspace.objects.alias(first=first).filter(first__isnull=False)
        if self.work_kind is not None:
            workspaces = workspaces.exclude(pk__in=self._held(self.work_kind, now))
        return workspaces.filter(awake(now)) if self.calls else workspaces

    def due_pairs(self, now: datetime) -> Expression | None:
        """Return SQL and its values for (name, workspace id) of `with_due`, None if it is off."""
        return self._due_pairs.at(now) if self.is_on() else None

    @cached_property
    def _due_pairs(self) -> TimedSelect:
        name = Value(self.name)
        return TimedSelect(lambda now: self.with_due(now).order_by().values_list(name, "pk"))

    def free(self, now: datetime) -> QuerySet[Row]:
        """Return the rows that are due and not leased."""
        return self.wanted(now).filter(due.free(now, wait=self.wait))

    def wanted(self, now: datetime) -> QuerySet[Row]:
        """Return the rows that may be worked on, or none if the settings want no such work."""
        rows = self.rows(now)
        return rows if self.is_on() else rows.none()

    def is_due(self, workspace_id: int, now: datetime) -> bool:
        """Return whether a row of the workspace is due in this queue."""
        return self.with_due(now).filter(pk=workspace_id).exists()

    def backlog(self, now: datetime) -> dict[int, tuple[int, datetime]]:
        """Return by workspace the number of due rows without a lease, and since when one is due.

        Rows that a person holds are no backlog: they wait for no worker.
        """
        rows = self.free(now)
        if self.work_kind is not None:
            rows = rows.exclude(workspace_id__in=self._held(self.work_kind, now))
        found = (
            rows.order_by()
            .values_list("workspace_id")
            .annotate(due_rows=Count("pk"), due_since=Min(self.since or F("due_at")))
        )
        # For a query that cannot match, Django returns a row of None.
        return {pk: (count, first) for pk, count, first in found if first is not None}

    def claim(self, workspace_id: int, limit: int) -> list[Claim[Row]]:
        """Claim up to `limit` due rows of a workspace, none if they are held (I34).

        See `leases.claim_some`.
        """
        now = timezone.now()
        rows = self.wanted(now).filter(workspace_id=workspace_id)
        if self.work_kind is not None:  # part of the same statement, evaluated once
            held = Hold.objects.of(self.work_kind, now).filter(workspace=workspace_id)
            rows = rows.filter(~Exists(held))
        return leases.claim_some(
            rows,
            now=now,
            limit=limit,
            wait=self.wait,
            columns=self.columns,
            record=self.record,
            lease=self.lease,
            urgent=self.urgent,
        )

    def is_held(self, workspace_id: int, now: datetime) -> bool:
        """Return whether a person holds the work of this queue in the workspace (I34)."""
        if self.work_kind is None:
            return False
        return Hold.objects.of(self.work_kind, now).filter(workspace=workspace_id).exists()

    @staticmethod
    def _held(kind: WorkKind, now: datetime) -> QuerySet[Any]:
        return Hold.objects.of(kind, now).values("workspace")

    def failed(self, claim: Claim[Row], error: Exception) -> RowOutcome:
        """Reschedule a row after an error in our own code, and return the outcome."""
        longest = self.wait or timedelta.max
        try:
            put_off(claim, longest, **self.failure(problem_of(error)))
        except leases.LeaseLost:
            return RowOutcome.LOST
        return RowOutcome.FAILED
