"""A queue, described as data: which rows can be due, and how to work on them."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Generic, Protocol

from django.db.models import Count, F, Min, OuterRef, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.utils import timezone

from crm_sync.models import Workspace, awake, due
from crm_sync.platform.errors import problem_of
from crm_sync.work import leases
from crm_sync.work.leases import Claim, Columns, Row

# Set when this process is asked to end: each turn finishes the rows in progress, then stops.
ending = threading.Event()


class RowOutcome(StrEnum):
    """What came of a row of any queue where its `work` did not end."""

    FAILED = "failed"
    LOST = "lost to another worker"


class Stop(Exception):
    """Raised by `work`: nothing more can be done now. Its rows are given back, the turn ends."""


class Turn(Protocol):
    """What the work on a row knows of the turn in which it is done."""

    workspace_id: int
    ends_at: float  # by the monotonic clock: when no further row is begun

    @property
    def workspace(self) -> Workspace:
        """The workspace, as it was read less than a second ago."""

    def is_over(self) -> bool:
        """Tell whether its time is over or this process has to end."""


def put_off(claim: Claim[Row], longest: timedelta = timedelta.max, /, **columns: Any) -> None:
    """Reschedule a row that failed, later each time (I11).

    Args:
        longest: the longest wait that the queue takes for one (`due.free`, I29).
        columns: what else to write, such as the reason.

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
        rows: the rows of all workspaces that may be worked on at that time.
        work: finishes claimed rows and returns the outcome of each. May raise `LeaseLost`, when
            another worker holds a row now, and `Stop`.
        failure: what is written to a row that failed, by the text of its error.
        calls: whether it calls the platform. If so, its turns need slots of the workspace and wait
            while that is paused.
        slots: how many turns it has at a time in a workspace, if it makes no calls.
        leave: how many slots of the workspace it leaves to other queues.
        batch_size: how many rows one call of `work` takes.
        wait: see `due.free`.
        record: what a row must hold before work on it begins; see `leases.claim_some`.
        columns: the columns that `work` needs; all when none are named.
        urgent: the column that says which rows go first.
        since: since when a row is due, where its own `due_at` does not say.
        after: called with the workspace id after a turn that did something; its outcomes are
            counted too.
    """

    name: str
    rows: Callable[[datetime], QuerySet[Row]]
    work: Callable[[Sequence[Claim[Row]], Turn], Sequence[str]]
    failure: Callable[[str], Columns] = lambda text: {"problem": text}
    calls: bool = True
    slots: int = 1
    leave: int = 0
    batch_size: int = 1
    lease: timedelta = leases.LEASE
    wait: timedelta | None = None
    record: Callable[[Row], Columns] = lambda row: {}
    columns: Sequence[str] = ()
    urgent: str = ""
    since: Combinable | None = None
    after: Callable[[int], Sequence[str]] = lambda workspace_id: ()

    def workspaces(self, now: datetime) -> set[int]:
        """Return the ids of those with a due row; without paused ones, if it calls (A8)."""
        return set(self.with_due(now).values_list("pk", flat=True))

    def with_due(self, now: datetime) -> QuerySet[Workspace]:
        """Return the same as `workspaces`, as a query.

        It reads one index entry for each workspace, however many rows are due there.
        """
        rows = self.free(now).filter(workspace_id=OuterRef("pk"))
        # Sorted by `due_at`, so that every planner uses the index of due rows.
        first = Subquery(rows.order_by("due_at").values("due_at")[:1])
        workspaces = Workspace.objects.alias(first=first).filter(first__isnull=False)
        return workspaces.filter(awake(now)) if self.calls else workspaces

    def free(self, now: datetime) -> QuerySet[Row]:
        """Return the rows that are due and not leased."""
        return self.rows(now).filter(due.free(now, wait=self.wait))

    def is_due(self, workspace_id: int, now: datetime) -> bool:
        """Tell whether the workspace has something to do here now."""
        return self.with_due(now).filter(pk=workspace_id).exists()

    def backlog(self, now: datetime) -> dict[int, tuple[int, datetime]]:
        """Return by workspace how many rows are due and not leased, and since when the first."""
        found = (
            self.free(now)
            .order_by()
            .values_list("workspace_id")
            .annotate(due_rows=Count("pk"), due_since=Min(self.since or F("due_at")))
        )
        # Where nothing can be found, Django answers with a row of nothing.
        return {pk: (count, first) for pk, count, first in found if first is not None}

    def claim(self, workspace_id: int, limit: int) -> list[Claim[Row]]:
        """Claim up to `limit` due rows of a workspace; see `leases.claim_some`."""
        now = timezone.now()
        return leases.claim_some(
            self.rows(now).filter(workspace_id=workspace_id),
            now=now,
            limit=limit,
            wait=self.wait,
            columns=self.columns,
            record=self.record,
            lease=self.lease,
            urgent=self.urgent,
        )

    def failed(self, claim: Claim[Row], error: Exception) -> RowOutcome:
        """Reschedule a row at which our own code failed, and return the outcome."""
        longest = self.wait or timedelta.max
        try:
            put_off(claim, longest, **self.failure(problem_of(error)))
        except leases.LeaseLost:
            return RowOutcome.LOST
        return RowOutcome.FAILED
