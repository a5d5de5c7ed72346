"""A queue, described as data, and one drain of it: what it may use and when it ends."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Generic

from django.db.models import Count, F, Min, OuterRef, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.utils import timezone

from crm_sync import registry, tracing
from crm_sync.jobs import due, runner
from crm_sync.jobs.doorbell import doorbell
from crm_sync.jobs.due import Claim, Columns, Row, Tally
from crm_sync.models import Workspace, awake
from crm_sync.text import clean
from crm_sync.workers import lanes, slots
from crm_sync.workers.lanes import HeldLane
from crm_sync.workers.slots import HeldSlots

# Columns of the workspace that a drain reads again, since people and other workers change them.
REFRESHED = [
    *("paused_until", "pauses", "problem", "restored_at"),
    *("conflict_policy", "read_before_write", "outgoing_kinds"),
]

# Set when this process is asked to end: each drain finishes the rows in progress, then stops.
ending = threading.Event()
# Set while more drains wait than this process runs at once: each then gets one turn, one thread.
crowded = threading.Event()
TURN = 0.5  # seconds


@dataclass
class Drain:
    """One drain in progress.

    Attributes:
        ends_at: when its time is over, by `clock`; while others wait, one turn after `began`.
        began: when work on its first row began. It does not count from the start, because a slow
            database could then use up the turn before any row.
        held: the slots for calls that it holds; None where the queue makes no calls.
        is_probe: it makes one call, to find out whether the platform answers again.
    """

    workspace_id: int
    ends_at: float
    lane: HeldLane
    clock: Callable[[], float] = time.monotonic
    began: float | None = None
    held: HeldSlots | None = None
    is_probe: bool = False

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace; `goes_on` keeps the columns of `REFRESHED` up to date."""
        return Workspace.objects.get(pk=self.workspace_id)

    def is_over(self) -> bool:
        """Tell whether its time is over or this process has to end."""
        if crowded.is_set() and self.began is not None:
            self.ends_at = min(self.ends_at, self.began + TURN)
        return self.clock() >= self.ends_at or ending.is_set()

    def goes_on(self) -> bool:
        """Tell whether more rows may be claimed, and keep what we hold.

        Only the thread of the loop asks; it goes on to ask while it waits for its last rows.
        """
        now = timezone.now()
        has_lane = self.lane.keep(now)
        # Each at its own moment, since a write may wait for a lock for as long as a lease lasts.
        has_slots = self.held is None or self.held.keep(timezone.now())
        if self.is_over() or not has_lane or not has_slots:
            return False
        if self.held is None:
            return True
        self.workspace.refresh_from_db(fields=REFRESHED)
        is_answered = self.is_probe and not self.workspace.pauses
        return not is_answered and not self.workspace.is_paused(now)

    def check(self) -> None:
        """Check, in any thread, that work on a row may begin.

        Raises:
            runner.Stop: the time is over, or no call may be made now.
        """
        if self.began is None:
            self.began = self.clock()
        now = timezone.now()
        may_call = not self.held or not (self.workspace.is_paused(now) or self.held.until < now)
        if self.is_over() or not may_call:
            raise runner.Stop


def put_off(claim: Claim[Row], longest: timedelta = timedelta.max, /, **columns: Any) -> str:
    """Reschedule a row that failed, later each time (I11); return the outcome.

    Args:
        longest: the longest wait that the queue takes for one (`due.free`, I29).
        columns: what else to write, such as the reason.

    Raises:
        LeaseLost: we no longer hold the row.
    """
    attempts = claim.row.attempts + 1
    wait = min(due.backoff(attempts), longest)
    claim.finish(due_at=timezone.now() + wait, attempts=attempts, **columns)
    return "put off"


def error_text(error: Exception) -> str:
    """Return the text of an error for people, without characters that the database refuses."""
    return clean(f"{error}")[0][:1000] or type(error).__name__


def waiting(now: datetime) -> list[tuple[str, int]]:
    """Return (queue name, workspace id) wherever a row is due; one query for each queue."""
    return [(queue.name, pk) for queue in registry.hooks().queues for pk in queue.workspaces(now)]


@dataclass(frozen=True)
class RowQueue(Generic[Row]):
    """A table whose rows can be due, and how to work on them.

    Attributes:
        rows: the rows of all workspaces that may be worked on at that time.
        work: finishes claimed rows and returns the outcome of each; see `runner.Source`.
        reason: the column for the reason why a row failed.
        failure: what else is written to a row that failed.
        calls: whether it calls the platform. If so, it needs slots and waits while the workspace
            is paused.
        threads: how many batches are worked on at the same time.
        leave: how many slots of the workspace it leaves to other queues.
        batch_size: how many rows one call of `work` takes.
        wait: see `due.free`.
        record: what a row must hold before work on it begins; see `due.claim_some`.
        columns: the columns that `work` needs; all when none are named.
        since: since when a row is due, where its own `due_at` does not say.
        after: called with the workspace id after a drain; its outcomes are counted too.
    """

    name: str
    rows: Callable[[datetime], QuerySet[Row]]
    work: Callable[[Sequence[Claim[Row]], Drain], Sequence[str]]
    reason: str
    failure: Mapping[str, Any] = field(default_factory=dict)
    calls: bool = True
    threads: Callable[[], int] = lambda: 1
    leave: int = 0
    batch_size: int = 1
    wait: timedelta | None = None
    record: Callable[[Row], Columns] = lambda row: {}
    columns: Sequence[str] = ()
    since: Combinable | None = None
    after: Callable[[int], Sequence[str]] = lambda workspace_id: ()

    def workspaces(self, now: datetime) -> set[int]:
        """Return the ids of the workspaces with a due row; without paused ones, if it calls (A8).

        It reads one index entry for each workspace, however many rows are due there.
        """
        rows = self.rows(now).filter(due.free(now, wait=self.wait), workspace_id=OuterRef("pk"))
        # Sorted by `due_at`, so that every planner uses the index of due rows.
        first = Subquery(rows.order_by("due_at").values("due_at")[:1])
        workspaces = Workspace.objects.alias(first=first).filter(first__isnull=False)
        if self.calls:
            workspaces = workspaces.filter(awake(now))
        return set(workspaces.values_list("pk", flat=True))

    def backlog(self, now: datetime) -> dict[int, tuple[int, datetime]]:
        """Return by workspace how many rows are due and not leased, and since when the first."""
        rows = self.rows(now).filter(due.free(now, wait=self.wait)).order_by()
        found = rows.values_list("workspace_id").annotate(
            due_rows=Count("pk"), due_since=Min(self.since or F("due_at"))
        )
        # Where nothing can be found, Django answers with a row of nothing.
        return {pk: (count, first) for pk, count, first in found if first is not None}

    def drain(
        self, workspace_id: int, budget: float, *, clock: Callable[[], float] = time.monotonic
    ) -> Tally:
        """Work on the due rows of one workspace, for at most `budget` seconds.

        Once it has to stop, it takes no longer than the rows in progress.
        """
        ends_at, began = clock() + budget, None
        tally = Tally()
        waiting = self._waiting(workspace_id)
        if not waiting:
            return tally
        with lanes.enter(self.name, workspace_id) as lane:
            if lane is None:
                return Tally(busy=True)
            while True:
                one = Drain(workspace_id, ends_at, lane, clock, began)
                for outcome, count in self._drain(one, waiting).counts.items():
                    tally.counts[outcome] = tally.counts.get(outcome, 0) + count
                began, tally.more = one.began, one.is_over()
                if tally.more or lane.leave():
                    break
                waiting = self._waiting(workspace_id)
        for outcome in self.after(workspace_id):
            tally.add(outcome)
        return tally

    def _drain(self, one: Drain, waiting: int) -> Tally:
        if not waiting:
            return Tally()
        if not self.calls:
            return self._run(one, waiting)
        # After a pause one call, not all threads, tries whether the platform answers again (I11).
        one.is_probe = one.workspace.pauses > 0
        wanted = 1 if one.is_probe else waiting
        with slots.hold(one.workspace, wanted, leave=self.leave) as held:
            if not held.count:
                return Tally()
            one.held = held
            tally = self._run(one, held.count)
        if one.is_probe and not one.workspace.pauses:
            doorbell.ring(self.name, one.workspace_id)  # the platform answers: all rows go on
        return tally

    def _run(self, one: Drain, threads: int) -> Tally:
        mine = one.workspace_id
        cause = tracing.current().id  # who rang; of a tick it is nobody

        def claim(limit: int) -> Sequence[Claim[Row]]:
            now = timezone.now()
            rows = self.rows(now).filter(workspace_id=mine)
            return due.claim_some(
                rows,
                now=now,
                limit=limit,
                wait=self.wait,
                columns=self.columns,
                record=self.record,
            )

        def work(claims: Sequence[Claim[Row]]) -> Sequence[str]:
            one.check()
            row = claims[0].row
            about = f"{row._meta.label_lower}:{row.pk}" if len(claims) == 1 else ""
            tracing.begin(cause, about=about, attempt=row.attempts + 1)
            return self.work(claims, one)

        source = runner.Source(claim, work, Claim.give_back, self.failed, self.batch_size)
        with tracing.under(cause):  # work may be done in this thread
            return runner.run(source, goes_on=one.goes_on, threads=threads, clock=one.clock)

    def failed(self, claim: Claim[Row], error: Exception) -> str:
        """Reschedule a row at which our own code failed, and return the outcome."""
        longest = self.wait or timedelta.max
        try:
            put_off(claim, longest, **{self.reason: error_text(error)}, **self.failure)
        except due.LeaseLost:
            return runner.LOST
        return "failed"

    def _waiting(self, workspace_id: int) -> int:
        """Count the due rows, up to the number of threads that the drain may use."""
        now = timezone.now()
        rows = self.rows(now).filter(due.free(now, wait=self.wait), workspace_id=workspace_id)
        # Threads take time to start, and each needs a database connection.
        threads = 1 if crowded.is_set() else self.threads()
        return rows.order_by()[:threads].count()
