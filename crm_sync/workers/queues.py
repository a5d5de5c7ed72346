"""A queue of rows, as data, and one drain of it: what it may use, and when it ends."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Generic

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from crm_sync import registry
from crm_sync.jobs import due, runner
from crm_sync.jobs.doorbell import doorbell
from crm_sync.jobs.due import Claim, Row, Tally
from crm_sync.models import Workspace, awake
from crm_sync.text import clean
from crm_sync.workers import lanes, slots
from crm_sync.workers.lanes import HeldLane
from crm_sync.workers.slots import HeldSlots

# What people and other workers change of a workspace while we drain counts at once.
MEANWHILE = ["paused_until", "pauses", "problem", "conflict_policy", "read_before_write"]

# Set when this process is asked to end: every drain of it ends what it has begun, and no more.
ending = threading.Event()
# Set while more drains wait than this process has places: each of them has a turn, and one thread.
crowded = threading.Event()
TURN = 1.0  # seconds


@dataclass
class Drain:
    """One drain under way.

    Attributes:
        ends_at: when its time is over, on its clock; once others wait, a turn after `began`.
        began: when work on its first row began. Not before: where the database makes it wait, a
            turn could pass without a row.
        held: the calls that it may have under way; None where the queue makes no calls.
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
        """The workspace, with what is newest of `MEANWHILE`."""
        return Workspace.objects.get(pk=self.workspace_id)

    def is_over(self) -> bool:
        """Tell whether its time is over, or this process is to end."""
        if crowded.is_set() and self.began is not None:
            self.ends_at = min(self.ends_at, self.began + TURN)
        return self.clock() >= self.ends_at or ending.is_set()

    def goes_on(self) -> bool:
        """Tell whether more may be claimed; asked in one thread alone."""
        now = timezone.now()
        if self.is_over() or not self.lane.keep(now):
            return False
        if self.held is None:
            return True
        self.workspace.refresh_from_db(fields=MEANWHILE)
        if self.is_probe and not self.workspace.pauses:
            return False
        return not self.workspace.is_paused(now) and self.held.keep(now)

    def check(self) -> None:
        """Ask before work on a row begins; in any thread.

        Raises:
            runner.Stop: the time is over, or no call may be made for now.
        """
        if self.began is None:
            self.began = self.clock()
        now = timezone.now()
        may_call = not self.held or not (self.workspace.is_paused(now) or self.held.until < now)
        if self.is_over() or not may_call:
            raise runner.Stop


def put_off(claim: Claim[Row], error: Exception, **columns: Any) -> None:
    """Give back a row at which something failed: it is tried again later and later (I11).

    Args:
        columns: what else to write, such as the reason.

    Raises:
        LeaseLost: it is not ours any more.
    """
    attempts = claim.row.attempts + 1
    claim.finish(due_at=timezone.now() + due.backoff(attempts), attempts=attempts, **columns)


def error_text(error: Exception) -> str:
    """Return what a person reads of an error, as the database can keep it."""
    return clean(f"{error}")[0][:1000] or type(error).__name__


def waiting(now: datetime) -> list[tuple[str, int]]:
    """Return (queue, workspace id) for everything that is due; one query for each queue."""
    return [(queue.name, pk) for queue in registry.hooks().queues for pk in queue.workspaces(now)]


@dataclass(frozen=True)
class RowQueue(Generic[Row]):
    """A table whose due rows are worked off.

    Attributes:
        rows: those that may be worked on at that time, of all workspaces.
        work: takes claimed rows to their end and returns the outcome of each; see `runner.Source`.
        reason: the column that says why a row failed.
        failure: what else is written of a row that failed.
        calls: whether it calls the platform: within the workspace's limit, not while it is paused.
        threads: how many rows are worked on at one time.
        leave: how many of the workspace's calls it leaves to others.
        together: how many rows `work` takes at one time.
        wait: see `due.free`.
        begin: writes what has to stand in claimed rows before work on any of them begins, in one
            commit for all, and returns their claims.
        columns: what `work` looks at, all where none are named; see `due.claim_some`.
        after: asked at the end of a drain that was not in vain; its outcomes count as well.
    """

    name: str
    rows: Callable[[datetime], QuerySet[Row]]
    work: Callable[[Sequence[Claim[Row]], Drain], Sequence[str]]
    reason: str
    failure: Mapping[str, Any] = field(default_factory=dict)
    calls: bool = True
    threads: Callable[[], int] = lambda: 1
    leave: int = 0
    together: int = 1
    wait: timedelta | None = None
    begin: Callable[[Sequence[Claim[Row]]], Sequence[Claim[Row]]] = lambda claims: claims
    columns: Sequence[str] = ()
    after: Callable[[int], Sequence[str]] = lambda workspace_id: ()

    def workspaces(self, now: datetime) -> set[int]:
        """Return the ids of the workspaces with a row that is due; paused ones wait (A8).

        One look at the index for each workspace, however many rows are due in it.
        """
        rows = self.rows(now).filter(due.free(now, wait=self.wait), workspace_id=OuterRef("pk"))
        # In this order, so that no planner takes another index than that of what is due.
        first = Subquery(rows.order_by("due_at").values("due_at")[:1])
        workspaces = Workspace.objects.alias(first=first).filter(first__isnull=False)
        if self.calls:
            workspaces = workspaces.filter(awake(now))
        return set(workspaces.values_list("pk", flat=True))

    def drain(
        self, workspace_id: int, budget: float, *, clock: Callable[[], float] = time.monotonic
    ) -> Tally:
        """Do what is due in one workspace, for at most `budget` seconds.

        It ends within what one row takes after that, or after anything else that stops it.
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
        # After a pause one call asks whether the platform is back, and not all threads at once
        # (I11).
        one.is_probe = one.workspace.pauses > 0
        wanted = 1 if one.is_probe else waiting
        with slots.hold(one.workspace, wanted, leave=self.leave) as held:
            if not held.count:
                return Tally()
            one.held = held
            tally = self._run(one, held.count)
        if one.is_probe and not one.workspace.pauses:
            doorbell.ring(self.name, one.workspace_id)  # for all the others
        return tally

    def _run(self, one: Drain, threads: int) -> Tally:
        mine = one.workspace_id

        def claim(limit: int) -> Sequence[Claim[Row]]:
            now = timezone.now()
            rows = self.rows(now).filter(workspace_id=mine)
            claims = due.claim_some(
                rows, now=now, limit=limit, wait=self.wait, columns=self.columns
            )
            return self.begin(claims)

        def work(claims: Sequence[Claim[Row]]) -> Sequence[str]:
            one.check()
            return self.work(claims, one)

        source = runner.Source(claim, work, Claim.give_back, self.failed, self.together)
        return runner.run(source, goes_on=one.goes_on, threads=threads, clock=one.clock)

    def failed(self, claim: Claim[Row], error: Exception) -> str:
        """Put off a row at which our own code failed; returns the outcome."""
        try:
            put_off(claim, error, **{self.reason: error_text(error)}, **self.failure)
        except due.LeaseLost:
            return runner.LOST
        return "failed"

    def _waiting(self, workspace_id: int) -> int:
        """Count what is due, as far as there are threads for it."""
        now = timezone.now()
        rows = self.rows(now).filter(due.free(now, wait=self.wait), workspace_id=workspace_id)
        # To start many threads for each drain takes time, and each thread a connection.
        threads = 1 if crowded.is_set() else self.threads()
        return rows.order_by()[:threads].count()
