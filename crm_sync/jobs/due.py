"""The row is the queue: what is due, who holds it, when it comes again (I1, I3).

Every kind of work is a table whose rows carry `due_at` and a lease. A claim is one conditional
UPDATE, so SQLite and PostgreSQL behave alike and two workers never hold one row.
"""

import random
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from django.conf import settings
from django.db import models

from crm_sync.jobs import commits
from crm_sync.jobs.fast_sql import Change

LEASE = timedelta(seconds=3 * settings.CALL_DEADLINE)  # three calls to their hard end (I13)
BACKOFF_BASE = 2.0  # seconds
BACKOFF_LIMIT = 15 * 60.0  # seconds
RELEASED = {"lease_token": None, "lease_until": None}
TRIES = 8  # to claim rows that other workers claim as well


class DueModel(models.Model):
    """The columns of a row that can have work: owned by whoever holds the lease, but `due_at`."""

    due_at = models.DateTimeField(null=True, blank=True, editable=False)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        abstract = True


def no_half_lease(table: str) -> models.CheckConstraint:
    """Return the law of a table with a lease: a row has both its token and its end, or neither."""
    free = models.Q(lease_token__isnull=True, lease_until__isnull=True)
    leased_ = models.Q(lease_token__isnull=False, lease_until__isnull=False)
    return models.CheckConstraint(condition=free | leased_, name=f"{table}_has_no_half_lease")


Row = TypeVar("Row", bound=DueModel)


class LeaseLost(Exception):
    """Somebody else holds the row now: whoever sees this writes nothing more to it."""


@dataclass(frozen=True)
class Claim(Generic[Row]):
    """A row that we hold until `until`, fenced by `token`.

    Attributes:
        abandoned: the holder before us never gave it back: it died, or it is suspended and
            may yet write (I3).
        found: what stood in the columns that `write_each` wrote; it is given back with the row.
    """

    row: Row
    token: uuid.UUID
    until: datetime
    abandoned: bool
    found: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fenced(self) -> "models.QuerySet[Row]":
        """The row as long as it is ours: every write of the holder goes through this."""
        return type(self.row)._default_manager.filter(pk=self.row.pk, lease_token=self.token)

    @property
    def _ours(self) -> dict[str, Any]:
        return {"id": self.row.pk, "lease_token": self.token}

    def write(self, columns: Mapping[str, Any], **at: Any) -> bool:
        """Write columns as long as the row is ours and the columns of `at` stand like that.

        It is `fenced.filter(**at).update(**columns)`, for plain values.
        """
        if not columns:  # no SQL says that
            return self.fenced.filter(**at).exists()
        return commits.update(type(self.row), Change(columns, self._ours | at)) == 1

    def finish(self, **columns: Any) -> None:
        """Give the row back with its ending; see `finish_if`.

        Raises:
            LeaseLost: it was no longer ours, and nothing was written.
        """
        if not self.finish_if(columns):
            raise LeaseLost

    def finish_if(self, columns: Mapping[str, Any], **at: Any) -> bool:
        """Give the row back where it is ours and the columns of `at` stand like that.

        Args:
            columns: what to write, `due_at` among it: that counts only where nobody has made the
                row due while we held it. Then it stays as they set it.

        Returns:
            False when nothing was written.
        """
        return commits.update(type(self.row), self.ending(columns, **at)) == 1

    def ending(self, columns: Mapping[str, Any], **at: Any) -> Change:
        """Return what `finish_if` writes."""
        others = RELEASED | {name: value for name, value in columns.items() if name != "due_at"}
        return Change(others, self._ours | at, {"due_at": (self.until, columns["due_at"])})

    def give_back(self) -> None:
        """Give the row back as it was; of one that is not ours any more nothing is written.

        One that was abandoned stays so, with a lease that is over: whoever works on it next has to
        know that a call of the holder before us may still be on its way (I3).
        """
        kept = {"lease_token": self.token, "lease_until": self.until - LEASE}
        columns = {"due_at": self.row.due_at, **self.found, **(kept if self.abandoned else {})}
        self.finish_if(columns)


def leased(now: datetime) -> models.Q:
    """Rows that a worker holds."""
    return models.Q(lease_until__gt=now)


def unleased(now: datetime) -> models.Q:
    """Rows that nobody holds, or whose holder never came back."""
    return models.Q(lease_until=None) | models.Q(lease_until__lte=now)


def free(now: datetime, *, wait: timedelta | None = None) -> models.Q:
    """Rows that are due and that nobody holds.

    Args:
        wait: the longest that a row of this queue ever waits: what is due later than that was
            written by a clock that went ahead, and is due now (I29).
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
) -> list[Claim[Row]]:
    """Take up to `limit` rows, those that have been due for longest; empty when none is free.

    Three statements for all of them. Where another worker is faster, its rows are left out.
    In the database `due_at` moves to the end of the lease, so that the holder can tell whether
    somebody makes the row due meanwhile; `row.due_at` is what it was.

    Args:
        columns: those that are loaded with the rows, all where none are named.
    """
    is_free = free(now, wait=wait)
    # Each statement leaves one index to take. With another column of order, or with conditions
    # for two indexes, a planner may read the whole backlog at each claim.
    waiting = queryset.filter(is_free).order_by("due_at")
    everything = queryset.model._default_manager
    for _ in range(TRIES):
        found = {
            pk: (due_at, token)
            for pk, due_at, token in waiting.values_list("pk", "due_at", "lease_token")[:limit]
        }
        if not found:
            break
        token, until = uuid.uuid4(), now + LEASE
        mine = everything.filter(is_free, pk__in=found)
        if mine.update(lease_token=token, lease_until=until, due_at=until):
            claims = []
            ours = everything.filter(pk__in=found, lease_token=token)
            for row in ours.only(*columns) if columns else ours:
                # A token that was given back meanwhile counts as abandoned: one read too many.
                row.due_at, before = found[row.pk]
                claims.append(Claim(row, token, until, abandoned=before is not None))
            return sorted(claims, key=lambda one: (one.row.due_at, one.row.pk))
    return []


def claim(queryset: "models.QuerySet[Row]", *, now: datetime) -> Claim[Row] | None:
    """Take the row that has been due for longest, or None when nothing is due or free."""
    return next(iter(claim_some(queryset, now=now, limit=1)), None)


def write_each(
    claims: Sequence[Claim[Row]], columns: Sequence[Mapping[str, Any]]
) -> list[Claim[Row]]:
    """Write to claimed rows what has to stand there before work on any of them begins: one commit.

    Args:
        columns: what to write of each, the same columns of all; empty where nothing is written.

    Returns:
        the claims; those that were written with these columns in the row, and `found`. Where a row
        is not ours any more, or is locked, nothing was written.
    """
    wanted = [number for number, one in enumerate(columns) if one]
    if not wanted:
        return list(claims)
    changes = [Change(columns[number], claims[number]._ours) for number in wanted]
    made = commits.update_each(type(claims[0].row), changes)
    written = {wanted[number] for number in made}
    return [
        _written(claim, columns[number]) if number in written else claim
        for number, claim in enumerate(claims)
    ]


def _written(claim: Claim[Row], columns: Mapping[str, Any]) -> Claim[Row]:
    found = {name: getattr(claim.row, name) for name in columns}
    for name, value in columns.items():
        setattr(claim.row, name, value)
    return replace(claim, found=found)


def backoff(attempts: int, *, rng: Callable[[], float] = random.random) -> timedelta:
    """Give the wait after `attempts` failed tries: exponential, capped, full jitter (I11)."""
    ceiling = min(BACKOFF_LIMIT, BACKOFF_BASE * 2.0 ** min(attempts, 20))
    return timedelta(seconds=max(0.5, rng() * ceiling))


@dataclass
class Tally:
    """What a drain did: outcome to number of rows, in the words of the queue.

    Attributes:
        busy: another worker drains the queue, and nothing was done.
        more: its time was over before the work was.
    """

    counts: dict[str, int] = field(default_factory=dict)
    busy: bool = False
    more: bool = False

    def add(self, outcome: str) -> None:
        """Count one row."""
        self.counts[outcome] = self.counts.get(outcome, 0) + 1

    @property
    def total(self) -> int:
        """How many rows were handled."""
        return sum(self.counts.values())


class Queue(Protocol):
    """One kind of due work."""

    @property
    def name(self) -> str:
        """The word by which a ring names it."""

    def workspaces(self, now: datetime) -> Iterable[int]:
        """Return the ids of the workspaces that have a row due at that time."""

    def drain(self, workspace_id: int, budget: float) -> Tally:
        """Do what is due in one workspace, at most `budget` seconds of it."""
