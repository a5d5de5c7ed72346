"""Claims of due rows (I1, I3).

A claim is one conditional UPDATE, so it works the same on SQLite and PostgreSQL, and two workers
never hold the same row.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import models

from crm_sync import durability
from crm_sync.models.due import LEASED, RELEASED, DueModel, free
from crm_sync.work import commits
from crm_sync.work.fast_sql import RowInsert, RowUpdate

# A live process renews its leases (`turn.renew`). After a kill, a row waits only as long as a call
# of the dead worker may still reach the platform (I3), or five seconds if none can change it.
LEASE = timedelta(seconds=1.5 * settings.CALL_DEADLINE)
SHORT_LEASE = timedelta(seconds=5)
UPDATE_TRIES = 8  # of a claim, while other workers claim the same rows first

Row = TypeVar("Row", bound=DueModel)
Columns = Mapping[str, Any]


class LeaseLost(Exception):
    """Another worker holds the row now, so this claim may not write to it any more."""


@dataclass(eq=False)
class Lease:
    """The lease of rows that were claimed together. A renewal changes `until`."""

    token: uuid.UUID
    until: datetime
    length: timedelta = LEASE


@dataclass(frozen=True, eq=False)
class Claim(Generic[Row]):
    """A row that this worker has leased; the token of the lease proves it.

    Attributes:
        mark: the value that the claim wrote to `due_at`. A different value later means that
            somebody made the row due.
        abandoned: the previous holder never gave the row back. It has died, or it is suspended and
            one of its calls may still arrive (I3).
        found: the values that the columns of its record had before; `give_back` restores them.
        urgent: the column that marks the rows to handle first, or "".
    """

    row: Row
    lease: Lease
    mark: datetime
    abandoned: bool
    found: Mapping[str, Any] = field(default_factory=dict)
    urgent: str = ""

    @property
    def urgency(self) -> Columns:
        """The column that restores the urgency after a failure, since a person still waits."""
        return {self.urgent: True} if self.found.get(self.urgent) else {}

    @property
    def token(self) -> uuid.UUID:
        """The token of the lease."""
        return self.lease.token

    @property
    def until(self) -> datetime:
        """The end of the lease."""
        return self.lease.until

    @property
    def fenced(self) -> "models.QuerySet[Row]":
        """The row, if we still hold its lease. Each write of the holder uses this queryset."""
        return type(self.row)._default_manager.filter(pk=self.row.pk, lease_token=self.token)

    def lock(self) -> None:
        """Keep others from claiming the row until the transaction ends.

        Raises:
            LeaseLost: another worker holds the row now, or has held it since.
        """
        if not self.fenced.select_for_update(no_key=True).values_list("pk").first():
            raise LeaseLost

    @property
    def _ours(self) -> dict[str, Any]:
        return {"id": self.row.pk, "lease_token": self.token}

    def write(self, columns: Mapping[str, Any], **expected: Any) -> bool:
        """Write columns if we still hold the row and its columns have the `expected` values.

        It does the same as `fenced.filter(**expected).update(**columns)`, for plain values.

        Returns:
            False when nothing was written.
        """
        if not columns:  # SQL has no UPDATE without a column
            return self.fenced.filter(**expected).exists()
        return commits.update(type(self.row), RowUpdate(columns, self._ours | expected)) == 1

    def finish(self, **columns: Any) -> None:
        """Write the result and release the lease; see `finish_if`.

        Raises:
            LeaseLost: we no longer held the row, and nothing was written.
        """
        if not self.finish_if(columns):
            raise LeaseLost

    def finish_if(
        self, columns: Mapping[str, Any], beside: Sequence[RowInsert] = (), **expected: Any
    ) -> bool:
        """Write the result and release the lease, if the row is ours and as `expected`.

        Args:
            columns: the columns to write. `due_at` is required, but is not written if somebody
                made the row due while we held it.
            beside: rows that are inserted in the same transaction.
            expected: values that columns of the row must still have.

        Returns:
            False when nothing was written.
        """
        ending = replace(self.ending(columns, **expected), beside=beside)
        return commits.update(type(self.row), ending) == 1

    def ending(self, columns: Mapping[str, Any], **expected: Any) -> RowUpdate:
        """Return the change that `finish_if` writes."""
        others = RELEASED | {name: value for name, value in columns.items() if name != "due_at"}
        return RowUpdate(others, self._ours | expected, {"due_at": (self.mark, columns["due_at"])})

    def give_back(self) -> None:
        """Release the lease and restore the row; write nothing if the row is not ours."""
        commits.update(type(self.row), self.giving_back())

    def giving_back(self) -> RowUpdate:
        """Return the change that `give_back` writes.

        An abandoned row gets a lease that is over. So the next holder knows that a call of the
        worker before us may still arrive (I3).
        """
        kept = {"lease_token": self.token, "lease_until": self.mark - self.lease.length}
        # If somebody has set the urgency since the claim, it remains.
        found = {name: value for name, value in self.found.items() if name != self.urgent}
        columns = {"due_at": self.row.due_at, **found, **self.urgency}
        return self.ending(columns | (kept if self.abandoned else {}))


def give_back(claims: Sequence[Claim[Row]]) -> list[Claim[Row]]:
    """Give back rows on which no work has begun, with one statement for each form.

    Returns:
        the claims that are still ours because another transaction has locked the row.
    """
    if not claims:
        return []
    model = type(claims[0].row)
    made = commits.update_each(model, [claim.giving_back() for claim in claims])
    left = [claim for number, claim in enumerate(claims) if number not in made]
    held = model._default_manager.filter(lease_token__in={claim.token for claim in left})
    ours = set(held.values_list("pk", "lease_token")) if left else set()
    return [claim for claim in left if (claim.row.pk, claim.token) in ours]


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
    """Claim up to `limit` due rows, the longest due first; return [] if no row is free.

    Read the rows, and lease the rows that have not changed since, in one commit. Then read the
    abandoned rows once more, in one query. Rows that another worker claims first, or that another
    transaction has locked, are skipped. The claim sets `due_at` in the database to the end of the
    lease. A different value later means that somebody has made the row due. `row.due_at` is the
    value from before the claim.

    Args:
        columns: the columns to load besides the columns of the lease; by default all.
        record: called with a row as it was read. An abandoned row still has the lease of its
            previous holder. Returns columns that are written with the claim, before work begins.
        lease: how long the rows are ours without a renewal.
        urgent: the column that marks the rows to handle first. They get half of a claim, the rows
            that have been due for longest get the rest. A claim clears the column, and making a
            row due may set it again.
    """
    # With a second sort column, or conditions on two indexes, a planner may read the whole backlog
    # at each claim.
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
    """Read the rows to claim: the longest due, and in a backlog also urgent rows."""
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
        loaded: all rows, with the columns to load.
    """
    mark = lease.until
    held: dict[str, Any] = {"lease_token": lease.token, "lease_until": mark}
    calm = {urgent: False} if urgent else {}
    changes = [
        # Each claim changes `due_at`. So a row with the same value had no holder in between.
        RowUpdate({**held, "due_at": mark, **calm, **columns}, {"id": row.pk, "due_at": row.due_at})
        for row, columns in zip(rows, records, strict=True)
    ]
    with durability.durable() if any(records) else nullcontext():
        ours = sorted(commits.update_each(type(rows[0]), changes))
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
        claims.append(Claim(row, lease, mark, is_abandoned, found, urgent))
    return claims


def claim(
    queryset: "models.QuerySet[Row]",
    *,
    now: datetime,
    record: Callable[[Row], Columns] = lambda row: {},
) -> Claim[Row] | None:
    """Claim the row that has been due for longest; None when no row is due and free."""
    return next(iter(claim_some(queryset, now=now, limit=1, record=record)), None)


@dataclass
class Tally:
    """The number of rows that a turn handled, by outcome. Each queue has its own outcomes.

    Attributes:
        busy: no slot of the queue was free, so nothing was done.
        more: more rows are due, so another turn is needed.
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
