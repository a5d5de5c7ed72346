"""The row is the queue: it says when it is due and which worker has leased it (I1, I3).

Each kind of work is a table whose rows have `due_at` and a lease. A claim is one conditional
UPDATE, so it works the same on SQLite and PostgreSQL, and two workers never hold the same row.
"""

import os
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from django.conf import settings
from django.db import connection, models, transaction

from crm_sync.jobs import commits, durability, fast_sql
from crm_sync.jobs.fast_sql import Change

# A process that lives renews its leases each second (`turn.renew`). After a kill a row waits only
# as long as the last call of the dead worker may still land (I3), one without calls a moment.
LEASE = timedelta(seconds=1.5 * settings.CALL_DEADLINE)
SHORT_LEASE = timedelta(seconds=5)
BACKOFF_BASE = 2.0  # seconds
BACKOFF_LIMIT = 15 * 60.0  # seconds
RELEASED = {"lease_token": None, "lease_until": None}
LEASED = ("due_at", "lease_token", "lease_until")  # what a claim compares and writes
UPDATE_TRIES = 8  # of a claim, while other workers claim the same rows first


class DueModel(models.Model):
    """The columns of a row that can be due.

    Only the holder of the lease writes them. The exception is `due_at`: anybody may make a row due.
    """

    due_at = models.DateTimeField(null=True, blank=True, editable=False)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        abstract = True


def no_half_lease(table: str) -> models.CheckConstraint:
    """Return a check constraint: a row has a lease token and an end of the lease, or neither."""
    free = models.Q(lease_token__isnull=True, lease_until__isnull=True)
    held = models.Q(lease_token__isnull=False, lease_until__isnull=False)
    return models.CheckConstraint(condition=free | held, name=f"{table}_has_no_half_lease")


def due_index(table: str) -> models.Index:
    """Return the index by which tick and claim find the due rows of a workspace among all."""
    due = models.Q(due_at__isnull=False)
    return models.Index(fields=["workspace", "due_at"], name=f"{table}_due", condition=due)


Row = TypeVar("Row", bound=DueModel)
Columns = Mapping[str, Any]


class LeaseLost(Exception):
    """Another worker holds the row now; nothing more may be written to it under this claim."""


@dataclass(eq=False)
class Lease:
    """The lease of rows that were claimed together; `until` moves on when it is renewed."""

    token: uuid.UUID
    until: datetime
    length: timedelta = LEASE


@dataclass(frozen=True, eq=False)
class Claim(Generic[Row]):
    """A row that this worker has leased; the token of the lease proves it.

    Attributes:
        mark: what the claim wrote to `due_at`: if it differs later, somebody made the row due.
        abandoned: the previous holder never gave the row back. It has died, or it is suspended and
            a call of it may still arrive (I3).
        found: the values that the columns of its record had before; `give_back` restores them.
    """

    row: Row
    lease: Lease
    mark: datetime
    abandoned: bool
    found: Mapping[str, Any] = field(default_factory=dict)

    @property
    def token(self) -> uuid.UUID:
        """The token of the lease."""
        return self.lease.token

    @property
    def until(self) -> datetime:
        """Until when the row is leased."""
        return self.lease.until

    @property
    def fenced(self) -> "models.QuerySet[Row]":
        """The row, as long as we hold its lease; each write of the holder is limited to this."""
        return type(self.row)._default_manager.filter(pk=self.row.pk, lease_token=self.token)

    @property
    def _ours(self) -> dict[str, Any]:
        return {"id": self.row.pk, "lease_token": self.token}

    def write(self, columns: Mapping[str, Any], **expected: Any) -> bool:
        """Write columns if we still hold the row and its columns have the `expected` values.

        The same as `fenced.filter(**expected).update(**columns)`, for plain values.

        Returns:
            False when nothing was written.
        """
        if not columns:  # an UPDATE of no column is no SQL
            return self.fenced.filter(**expected).exists()
        return update(type(self.row), Change(columns, self._ours | expected)) == 1

    def finish(self, **columns: Any) -> None:
        """Write the result and release the lease; see `finish_if`.

        Raises:
            LeaseLost: we no longer held the row, and nothing was written.
        """
        if not self.finish_if(columns):
            raise LeaseLost

    def finish_if(self, columns: Mapping[str, Any], **expected: Any) -> bool:
        """Write the result and release the lease, if the row is ours and as `expected`.

        Args:
            columns: what to write. It must contain `due_at`, which is written only if nobody has
                made the row due while we held it; else theirs stays.
            expected: values that columns of the row must still have.

        Returns:
            False when nothing was written.
        """
        return update(type(self.row), self.ending(columns, **expected)) == 1

    def ending(self, columns: Mapping[str, Any], **expected: Any) -> Change:
        """Return the change that `finish_if` writes."""
        others = RELEASED | {name: value for name, value in columns.items() if name != "due_at"}
        return Change(others, self._ours | expected, {"due_at": (self.mark, columns["due_at"])})

    def give_back(self) -> None:
        """Release the lease and leave the row as it was; nothing is written if it is not ours.

        A row that was abandoned keeps a lease, one that is over: so the next holder knows that a
        call of the worker before us may still arrive (I3).
        """
        kept = {"lease_token": self.token, "lease_until": self.mark - self.lease.length}
        columns = {"due_at": self.row.due_at, **self.found, **(kept if self.abandoned else {})}
        self.finish_if(columns)


def leased(now: datetime) -> models.Q:
    """Select the rows that a worker has leased."""
    return models.Q(lease_until__gt=now)


def unleased(now: datetime) -> models.Q:
    """Select the rows without a lease, or with one that is over."""
    return models.Q(lease_until=None) | models.Q(lease_until__lte=now)


def free(now: datetime, *, wait: timedelta | None = None) -> models.Q:
    """Select the rows that are due and not leased.

    Args:
        wait: the longest time that a row of this queue waits. A `due_at` further ahead was written
            by a clock that was wrong, so that row counts as due (I29).
    """
    is_due = models.Q(due_at__lte=now)
    if wait is not None:
        is_due |= models.Q(due_at__gt=now + wait)
    return is_due & unleased(now)


def claim_some(
    queryset: "models.QuerySet[Row]",
    *,
    now: datetime,
    limit: int,
    wait: timedelta | None = None,
    columns: Sequence[str] = (),
    record: Callable[[Row], Columns] = lambda row: {},
    lease: timedelta = LEASE,
    urgent: str = "",
) -> list[Claim[Row]]:
    """Claim up to `limit` due rows, the longest due first; an empty list when none is free.

    The rows are read, and those that still stand as they were read are leased, in one commit; those
    that were abandoned are then read once more, all at one time. Rows that another worker claims
    first, or that another transaction has locked, are left out. In the database `due_at` is set to
    the end of the lease: if it differs later, somebody has made the row due meanwhile. `row.due_at`
    is the value from before the claim.

    Args:
        columns: the columns to load besides those of the lease; all when none are named.
        record: called with a row as it was read, with the lease of the holder before us if it is
            abandoned; returns what the row must hold before work on it begins, which is written
            with the claim.
        lease: how long the rows are ours without a renewal.
        urgent: the column that says which rows go first; half of a claim is left to the longest
            due, so that these move on. A claim clears it: who makes the row due meanwhile sets it.
    """
    # With a second column to sort by, or with conditions on two indexes, a planner may read the
    # whole backlog at each claim.
    everything = queryset.model._default_manager
    chosen = (*columns, *LEASED, *((urgent,) if urgent else ())) if columns else ()
    waiting = queryset.filter(free(now, wait=wait)).order_by("due_at").only(*chosen)
    for _ in range(UPDATE_TRIES):
        rows = _first(waiting, limit, urgent)
        if not rows:
            break
        records = [record(row) for row in rows]
        if claims := _lease(
            rows, Lease(uuid.uuid4(), now + lease, lease), records, everything.only(*chosen), urgent
        ):
            return claims
    return []


def _first(waiting: "models.QuerySet[Row]", limit: int, urgent: str) -> list[Row]:
    """Read the rows that go first: the longest due, and beside a backlog the urgent ones."""
    rows = list(waiting[:limit])
    if urgent and len(rows) == limit:
        before = list(waiting.filter(**{urgent: True})[: (limit + 1) // 2])
        known = {row.pk for row in before}
        rows = [*before, *(row for row in rows if row.pk not in known)][:limit]
    return sorted(rows, key=lambda row: (not (urgent and getattr(row, urgent)), row.due_at, row.pk))


def _lease(
    rows: Sequence[Row],
    lease: Lease,
    records: Sequence[Columns],
    loaded: "models.QuerySet[Row]",
    urgent: str,
) -> list[Claim[Row]]:
    """Lease the rows that nobody has claimed since they were read.

    Args:
        loaded: all rows, with the columns that are wanted.
    """
    mark = lease.until
    held: dict[str, Any] = {"lease_token": lease.token, "lease_until": mark}
    calm = {urgent: False} if urgent else {}
    changes = [
        # Each claim moves `due_at`, so one that is as it was read had no holder meanwhile.
        Change({**held, "due_at": mark, **calm, **columns}, {"id": row.pk, "due_at": row.due_at})
        for row, columns in zip(rows, records, strict=True)
    ]
    with durability.durable() if any(records) else nullcontext():
        ours = sorted(_update_each(type(rows[0]), changes))
    # The last holder of an abandoned row may have written to it until now (I3).
    abandoned = [rows[number].pk for number in ours if rows[number].lease_token]
    fresh = loaded.in_bulk(abandoned) if abandoned else {}
    claims = []
    for number in ours:
        read, columns = rows[number], records[number]
        is_abandoned = read.lease_token is not None
        row = fresh.get(read.pk) if is_abandoned else read
        if row is None:
            continue  # it was deleted
        found = {name: getattr(read, name) for name in (*calm, *columns)}
        for name, value in {**held, **calm, **columns, "due_at": read.due_at}.items():
            setattr(row, name, value)
        claims.append(Claim(row, lease, mark, is_abandoned, found))
    return claims


def claim(
    queryset: "models.QuerySet[Row]",
    *,
    now: datetime,
    record: Callable[[Row], Columns] = lambda row: {},
) -> Claim[Row] | None:
    """Claim the row that has been due for longest; None when no row is due and free."""
    return next(iter(claim_some(queryset, now=now, limit=1, record=record)), None)


def backoff(attempts: int, *, rng: Callable[[], float] = random.random) -> timedelta:
    """Return the wait after failed attempts: exponential, capped, with full jitter (I11)."""
    ceiling = min(BACKOFF_LIMIT, BACKOFF_BASE * 2.0 ** min(attempts, 20))
    return timedelta(seconds=max(0.5, rng() * ceiling))


@dataclass
class Tally:
    """How many rows a turn handled, by their outcome; each queue has its own outcomes.

    Attributes:
        busy: others use all slots of the queue, so nothing was done.
        more: more is due, so another turn has to come.
    """

    counts: dict[str, int] = field(default_factory=dict)
    busy: bool = False
    more: bool = False

    def add(self, outcome: str) -> None:
        """Count one row with this outcome."""
        self.counts[outcome] = self.counts.get(outcome, 0) + 1

    @property
    def total(self) -> int:
        """The number of rows handled."""
        return sum(self.counts.values())


def update(model: type[models.Model], change: Change) -> int:
    """Make one change of a row by its id, and commit it as `durability` says; 1 where it was made.

    Inside a transaction the commit is the caller's.
    """
    if os.environ.get("GROUP"):
        return commits.update(model, change)
    with durability.of_ending():
        waits = durability.waits() or connection.in_atomic_block or connection.vendor == "sqlite"
        return fast_sql.update(model, change, waits=waits)


def _update_each(model: type[models.Model], changes: Sequence[Change]) -> set[int]:
    """Make changes, each of a row by its id; one commit for those of one form.

    Returns:
        the numbers of those that were made; on PostgreSQL a row that another transaction has locked
        is left out as well, see `fast_sql.update_unlocked`.
    """
    if connection.vendor == "postgresql":
        alike: dict[fast_sql.Form, list[int]] = {}
        for number, change in enumerate(changes):
            alike.setdefault(fast_sql.form_of(change), []).append(number)
        return {
            numbers[n]
            for numbers in alike.values()
            for n in fast_sql.update_unlocked(model, [changes[number] for number in numbers])
        }
    with durability.of_ending(), transaction.atomic():
        if fast_sql.update_many(model, changes) == len(changes):  # nobody else wants them
            return set(range(len(changes)))
        transaction.set_rollback(True)
    with durability.of_ending(), transaction.atomic():
        return {n for n, change in enumerate(changes) if fast_sql.update(model, change)}


class Queue(Protocol):
    """What all know of a queue; `workers.queues.RowQueue` is one."""

    @property
    def name(self) -> str:
        """The name by which rings, commands and pages know it."""

    def workspaces(self, now: datetime) -> set[int]:
        """Return the ids of the workspaces that have a row due at `now`."""

    def with_due(self, now: datetime) -> "models.QuerySet[Any]":
        """Return the same workspaces, as a query."""

    def backlog(self, now: datetime) -> Mapping[int, tuple[int, datetime]]:
        """Return by workspace how many rows are due and not leased, and since when the first."""
