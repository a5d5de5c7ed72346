"""One turn: some seconds of work on one queue of a workspace (decision 22).

A turn takes a slot, works on claimed rows one after the other, and releases the slot. If more rows
are due, it then sends a message for another turn, which waits behind all others.
While the platform answers, a turn rings for one more in parallel: so a workspace reaches its limit
of calls, unless its platform hangs.

The turns of one process share the rows of one claim. So one statement serves many turns, and a
call that hangs holds up only its own row.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection
from django.utils import timezone

from crm_sync import durability, hooks, tracing
from crm_sync.models import Workspace
from crm_sync.secrets import SecretUnreadable, encrypted_columns
from crm_sync.work import keeper, leases, queues, row_spans, slots
from crm_sync.work.doorbell import doorbell
from crm_sync.work.leases import Claim, Lease, LeaseLost, Tally
from crm_sync.work.queues import RowOutcome, RowQueue, Stop
from crm_sync.work.slots import HeldSlot

log = logging.getLogger(__name__)

SECONDS = 3.0  # of a turn, whose own cost is only a few statements
AHEAD = 2  # rows that are claimed for each turn under way
UNTOUCHED = timedelta(seconds=0.5)  # then a claimed row that is not begun is given back
RENEWED_AFTER = timedelta(seconds=2)  # age of a lease; most rows are done before
FRESH = 1.0  # seconds after an answer in which a new turn rings for another at once
# Columns of the workspace that turns read again, since people and other workers change them.
REFRESHED = [
    *("paused_until", "pauses", "problem", "restored_at"),
    *("conflict_policy", "owners", "read_before_write", "outgoing_kinds"),
]
REFRESHED_AFTER = 0.5  # seconds
READ_AFTER = 5.0  # seconds; then all columns are read, such as the address and the limit of calls


class Store:
    """The claimed rows that the turns of this process share, for one queue of a workspace.

    A thread holds `_claiming` during a whole claim, but `_lock` only for a moment.
    """

    def __init__(self, queue: RowQueue[Any], workspace_id: int) -> None:
        self.queue, self.workspace_id = queue, workspace_id
        self.turns = 0  # under way
        self._lock, self._claiming, self._reading = (threading.Lock() for _ in range(3))
        self._giving_back = threading.Lock()  # else the last turn could leave before the keeper
        self._waiting: deque[Claim[Any]] = deque()
        self._claimed_at = timezone.now()
        self._is_full = False  # the last claim found as many rows as its limit
        self._is_dry = False  # the last claim found nothing, and more cannot be due since it began
        self._changes = 0  # turns that entered and batches that ended: after each, more may be due
        self._workspace: Workspace | None = None
        self._read_at = self._refreshed_at = 0.0
        self._answered_at = -math.inf

    def enter(self) -> None:
        """Count a turn. More rows may be due than at the last claim."""
        with self._lock:
            self.turns += 1
            self._expect_more()

    def leave(self) -> Sequence[Claim[Any]]:
        """End a turn. The last turn returns the rows that are not begun, to be given back."""
        with self._giving_back, self._lock:
            self.turns -= 1
            return () if self.turns else self._emptied()

    def take(self) -> list[Claim[Any]]:
        """Take a batch of claimed rows; return [] if nothing is due."""
        taken = self._pop()
        if not taken:
            with self._claiming:  # another turn may have claimed for us before
                taken = self._pop()
                if not taken and not self._is_dry:
                    self._claim()
                    taken = self._pop()
        elif self._runs_low() and self._claiming.acquire(blocking=False):
            try:  # claim before other turns have to wait for rows
                self._claim()
            except DatabaseError as error:  # a turn that finds the store empty tries again
                log.warning("%s: rows could not be claimed ahead (%s)", self.queue.name, error)
            finally:
                self._claiming.release()
        return taken

    def _runs_low(self) -> bool:
        is_ahead = self.queue.batch_size == 1
        return is_ahead and self._is_full and len(self._waiting) < self.turns

    def _claim(self) -> None:
        # The rows of a batch are handled together. Single rows are claimed ahead.
        size = self.queue.batch_size
        limit = size if size > 1 else AHEAD * self.turns
        changes = self._changes
        claims = self.queue.claim(self.workspace_id, limit)
        with self._lock:
            self._waiting.extend(claims)
            self._claimed_at = timezone.now()
            self._is_full = len(claims) == limit
            self._is_dry = not claims and changes == self._changes

    def _pop(self) -> list[Claim[Any]]:
        with self._lock:
            size = min(self.queue.batch_size, len(self._waiting))
            return [self._waiting.popleft() for _ in range(size)]

    def note_end(self) -> None:
        """Count a batch that ended. Who made one of its rows due meanwhile found it leased."""
        with self._lock:
            self._expect_more()

    def _expect_more(self) -> None:
        self._changes += 1
        self._is_dry = False

    def note_answer(self) -> None:
        """Record that work on a row has just ended without a failure of the platform."""
        self._answered_at = time.monotonic()

    @property
    def has_more(self) -> bool:
        """Whether rows of the last claim are not begun, or more were due at that claim."""
        return bool(self._waiting) or self._is_full

    @property
    def grows(self) -> bool:
        """Whether one more turn has work, is within the limit, and the platform answers."""
        is_answered = time.monotonic() - self._answered_at < FRESH
        return self.has_more and is_answered and self.turns < self._share()

    def _share(self) -> int:
        queue = self.queue
        return slots.share(self.workspace(), queue.leave) if queue.calls else queue.slots

    def workspace(self) -> Workspace:
        """Return the workspace, read again at intervals since others change it."""
        with self._reading:
            now = time.monotonic()
            if self._workspace is None:
                self._workspace = _read(self.workspace_id)
                self._read_at = self._refreshed_at = now
            elif now - self._read_at > READ_AFTER:
                # Update the same object, in which the pushes under way check for a pause.
                fresh = _read(self.workspace_id)
                self._workspace.__dict__.update(fresh.__dict__)
                self._read_at = self._refreshed_at = now
            elif now - self._refreshed_at > REFRESHED_AFTER:
                self._workspace.refresh_from_db(fields=REFRESHED)
                self._refreshed_at = now
            return self._workspace

    def is_held(self) -> bool:
        """Return whether a person holds the work of the queue (I34).

        Each call of a client asks by itself, and the next claim finds nothing.
        """
        queue = self.queue
        return not queue.calls and queue.is_held(self.workspace_id, timezone.now())

    def give_back_idle(self, now: datetime) -> None:
        """Give back claimed rows that were not begun in time: all turns here are in long calls."""
        with self._giving_back:
            with self._lock:
                idle = self._emptied() if now - self._claimed_at > UNTOUCHED else []
            left: Sequence[Claim[Any]] = idle
            try:
                with durability.working():
                    left = leases.give_back(idle)
            finally:  # what is locked, or could not be written, is tried again
                with self._lock:
                    self._waiting.extend(left)
        if len(left) < len(idle):  # else they wait for the tick as well
            doorbell.ring(self.queue.name, self.workspace_id)

    def _emptied(self) -> list[Claim[Any]]:
        left = list(self._waiting)
        self._waiting.clear()
        self._is_dry = self._is_dry and not left
        return left


def _read(workspace_id: int) -> Workspace:
    try:
        return Workspace.objects.get(pk=workspace_id)
    except SecretUnreadable:  # only a row that needs the secret fails, and is put off
        secrets = [name for model, name in encrypted_columns() if model is Workspace]
        return Workspace.objects.defer(*secrets).get(pk=workspace_id)


def give_back(claims: Sequence[Claim[Any]]) -> None:
    """Give back rows on which no work has begun, and wait for locked rows."""
    for claim in leases.give_back(claims):
        claim.give_back()


_lock = threading.Lock()
_stores: dict[tuple[str, int], Store] = {}
_under_way: dict[Claim[Any], None] = {}  # in the order of their beginning, as they are renewed


@contextmanager
def under_way(claims: Sequence[Claim[Any]]) -> Iterator[None]:
    """Renew the leases of these rows in this block, while the process lives."""
    with _lock:
        _under_way.update(dict.fromkeys(claims))
    keeper.begin()
    try:
        yield
    finally:
        with _lock:
            for claim in claims:
                _under_way.pop(claim, None)


def renew(now: datetime) -> bool:
    """Renew the leases of the rows in progress, and give back rows that were not begun in time.

    Returns:
        whether this process has any row or turn.
    """
    with _lock:
        stores, claims = list(_stores.values()), list(_under_way)
    by_lease: dict[Lease, list[Claim[Any]]] = {}
    for claim in claims:
        left, length = claim.lease.until - now, claim.lease.length
        # If a lease ends too late, the clock has been set back since.
        if not length - RENEWED_AFTER <= left <= length:
            by_lease.setdefault(claim.lease, []).append(claim)
    for lease, mine in by_lease.items():
        until, keys = now + lease.length, {one.row.pk for one in mine}
        # A lease that is over is not renewed: another worker may have read the row as free.
        rows = type(mine[0].row)._default_manager.filter(pk__in=keys, lease_until__gt=now)
        prolonged = keeper.prolong(rows, [lease.token], until)
        if len(prolonged) == len(keys):
            lease.until = until  # else a row was lost, is locked, or has just been given back
    for store in stores:
        store.give_back_idle(now)
    return bool(stores or claims)


keeper.RENEWALS.append(renew)


@contextmanager
def _entered(queue: RowQueue[Any], workspace_id: int) -> Iterator[Store]:
    """Enter the store that all turns of this queue in this process share."""
    key = (queue.name, workspace_id)
    with _lock:
        store = _stores.setdefault(key, Store(queue, workspace_id))
        store.enter()
    try:
        yield store
    finally:
        left = store.leave()
        with _lock:
            if not store.turns and _stores.get(key) is store:
                del _stores[key]
        give_back(left)


class Turn:
    """One turn in progress.

    Attributes:
        ends_at: the time by `clock` after which no further row is begun. It counts from the first
            row, since a slow database could use up the turn before it.
        is_dry: whether it ended since nothing was due. What is due since then has its own ring:
            another turn for each row of an import would cost more than the row.
    """

    def __init__(
        self, store: Store, slot: HeldSlot, seconds: float, clock: Callable[[], float]
    ) -> None:
        self.store, self.slot, self.seconds, self.clock = store, slot, seconds, clock
        self.workspace_id, self.ends_at = store.workspace_id, math.inf
        self.is_dry = self._has_asked = False

    @property
    def workspace(self) -> Workspace:
        """The workspace: `REFRESHED` is half a second old at most, other columns five seconds."""
        return self.store.workspace()

    @property
    def is_out_of_time(self) -> bool:
        """Whether its time is over, so that more may be due."""
        return self.clock() >= self.ends_at

    def is_over(self) -> bool:
        """Return whether its time is over, this process has to end, or a person holds its work."""
        return self.is_out_of_time or queues.ending.is_set() or self.store.is_held()

    def may_begin(self) -> bool:
        """Return whether work on a row may begin now (A8, I11)."""
        now = timezone.now()
        if self.is_over() or self.slot.until < now:
            return False
        return not (self.store.queue.calls and self.workspace.is_paused(now))

    def run(self, tally: Tally) -> None:
        """Work on rows until its time is over, nothing is due, or no call may be made."""
        is_probe = self.store.queue.calls and self.workspace.pauses > 0
        while self.may_begin():
            if not is_probe:  # before taking a row, which would remain leased after an error here
                self._ask_for_another()
            claims = self.store.take()
            if not claims:
                self.is_dry = True
                return
            self.ends_at = min(self.ends_at, self.clock() + self.seconds)
            try:
                with under_way(claims):
                    outcomes, is_answered = self._work(claims)
            except Stop:
                give_back(claims)
                return
            self.store.note_end()
            for outcome in outcomes:
                tally.add(outcome)
            if is_probe:  # one call tries whether the platform is back; if it is, all turns go on
                return
            if is_answered:
                self.store.note_answer()
                self._ask_for_another()

    def _ask_for_another(self) -> None:
        """Ring once for one more turn beside this one."""
        if not self._has_asked and self.store.grows:
            self._has_asked = True
            doorbell.ring(self.store.queue.name, self.workspace_id)

    def _work(self, claims: Sequence[Claim[Any]]) -> tuple[Sequence[str], bool]:
        """Work on a batch; return its outcomes, and whether the platform answered well."""
        with row_spans.work_on(self.store.queue.name, self.workspace_id, claims) as note:
            outcomes, is_answered = self._outcomes(claims)
            note(outcomes)
        return outcomes, is_answered

    def _outcomes(self, claims: Sequence[Claim[Any]]) -> tuple[Sequence[str], bool]:
        queue = self.store.queue
        try:
            outcomes = queue.work(claims, self)
        except LeaseLost:
            return [RowOutcome.LOST] * len(claims), True
        except Stop:
            raise
        except Exception as error:
            # A bug of ours, or a value that the database refuses. The other rows must go on.
            log.exception("%s failed", ", ".join(str(claim) for claim in claims))
            return [queue.failed(claim, error) for claim in claims], True
        return outcomes, not (queue.calls and self.workspace.problem)


def take(
    queue: RowQueue[Any],
    workspace_id: int,
    *,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Tally:
    """Take one turn.

    Args:
        seconds: after this time no further row is begun.

    Returns:
        the outcomes. `more` means that it has rung for another turn.
    """
    tally = Tally()
    with tracing.kept(), durability.working():
        with _entered(queue, workspace_id) as store, _slot(queue, store) as slot:
            if slot is None:
                tally.busy = True
                if queue.calls:
                    slots.note_refused(queue.name, workspace_id, timezone.now())
                return tally
            turn = Turn(store, slot, seconds, clock)
            turn.run(tally)
            if tally.counts and turn.is_out_of_time:
                slots.note_worked(queue.name, workspace_id, timezone.now())
        # The slot is free now: first ring for a queue that waits for one, then for more rows here.
        if queue.calls and (refused := slots.take_refused(workspace_id)):
            doorbell.ring(refused, workspace_id)
        if tally.counts:
            for outcome in queue.after(workspace_id):
                tally.add(outcome)
            # With a backlog, the query is not needed.
            tally.more = not (queues.ending.is_set() or turn.is_dry) and (
                (turn.is_over() and store.has_more) or queue.is_due(workspace_id, timezone.now())
            )
            if tally.more:
                doorbell.ring(queue.name, workspace_id)
    return tally


def _slot(queue: RowQueue[Any], store: Store) -> AbstractContextManager[HeldSlot | None]:
    if not queue.calls:
        return slots.hold_own(queue.name, store.workspace_id, queue.slots)
    workspace = store.workspace()
    return slots.hold(
        workspace, queue=queue.name, leave=queue.leave, first_alone=workspace.pauses > 0
    )


def waiting(now: datetime) -> list[tuple[str, int]]:
    """Return (queue name, workspace id) for each pair with a due row, in one query."""
    asked = [queue.due_pairs(now) for queue in hooks.plugged().queues]
    parts = [part for part in asked if part is not None]
    if not parts:
        return []
    values = [value for _, some in parts for value in some]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(sql for sql, _ in parts), values)
        return [(queue, workspace_id) for queue, workspace_id in cursor.fetchall()]
