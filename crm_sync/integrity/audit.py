"""The audit: it counts every row, and finds rows in a state that will never end (I31).

Wherever a process stops, each row must wait for a worker, a point in time or a person. So the
invariants hold at any instant, also in the middle of the work and after a `kill -9`.
"""

import functools
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Case, Count, Q, Value, When

from crm_sync import hooks
from crm_sync.hooks import CheckGroup, Invariant
from crm_sync.models import Workspace
from crm_sync.work import leases

NAMED = 20  # rows that are named for one invariant; all rows are counted
CLOCKS = timedelta(minutes=1)  # how much the clocks of our machines may differ
NOT_IN_ONE_PART = "is in none of the parts, or in two"


@dataclass
class Violation:
    """The number of rows that break an invariant, and the names of the first few."""

    invariant: str
    count: int = 0
    rows: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """Count one row."""
        self.count += 1
        if len(self.rows) < NAMED:
            self.rows.append(name)


@dataclass(frozen=True)
class CheckResult:
    """The result of one group of checks in one workspace."""

    workspace: str
    title: str
    total: int
    parts: dict[str, int]
    broken: list[Violation]

    @property
    def adds_up(self) -> bool:
        """Whether the counts of the parts add up to the total."""
        return self.total == sum(self.parts.values())

    @property
    def holds(self) -> bool:
        """Whether the counts add up and every invariant holds."""
        return self.adds_up and not self.broken


@contextmanager
def snapshot() -> Iterator[None]:
    """Read the database as of one moment within a `with` block, without blocking writers.

    During the block PostgreSQL keeps old versions of rows, and SQLite of pages (WAL).
    """
    if connection.in_atomic_block:  # the caller has a snapshot
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")  # it holds no lock
            yield
    else:
        # Not `atomic`, which would take the lock of all writers (transaction_mode IMMEDIATE).
        connection.ensure_connection()
        connection.connection.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            connection.connection.execute("ROLLBACK")


def check_groups(workspace: Workspace, now: datetime) -> list[CheckGroup]:
    """Return the groups of checks of all apps for a workspace, in the order of the apps."""
    return [group for app in hooks.plugged().integrity_checks for group in app(workspace.pk, now)]


def read(
    group: CheckGroup, workspace: Workspace, *, now: datetime, walks: bool = True
) -> CheckResult:
    """Evaluate one group of checks of a workspace; call it within a `snapshot`.

    Args:
        walks: whether to read the documents of each row too, which takes longer.
    """
    places = functools.reduce(operator.add, (_as_number(part) for part in group.parts.values()))
    violated = functools.reduce(
        operator.or_, (invariant.broken for invariant in group.invariants), Q(pk__in=())
    )
    mine = group.rows.annotate(places=places, violated=_as_number(violated))
    invariants = [*group.invariants, Invariant(NOT_IN_ONE_PART, ~Q(places=1) & Q(violated=0))]
    counts = mine.aggregate(
        total=Count("pk"),
        **{f"part_{n}": Count("pk", filter=part) for n, part in enumerate(group.parts.values())},
        **{
            f"invariant_{n}": Count("pk", filter=invariant.broken)
            for n, invariant in enumerate(invariants)
        },
    )
    broken = []
    for n, invariant in enumerate(invariants):
        if counts[f"invariant_{n}"]:
            rows = mine.filter(invariant.broken).order_by("pk")[:NAMED]
            names = [str(row) for row in rows]
            broken.append(Violation(invariant.name, counts[f"invariant_{n}"], names))
    if group.walk is not None and walks:
        found: dict[str, Violation] = {}
        for name, row in group.walk(group.rows, now):
            found.setdefault(name, Violation(name)).add(row)
        broken += found.values()
    parts = {name: counts[f"part_{n}"] for n, name in enumerate(group.parts)}
    return CheckResult(workspace.slug, group.title, counts["total"], parts, broken)


def _as_number(condition: Q) -> Case:
    """Return 1 if the condition holds, else 0, also for NULL."""
    return Case(When(condition, then=Value(1)), default=Value(0))


def leased_too_long(now: datetime, longest: timedelta = leases.LEASE) -> Invariant:
    """Return the invariant that no lease is too long (`DueModel`, slots)."""
    too_long = Q(lease_until__gt=now + longest + CLOCKS)
    return Invariant("is leased for longer than a lease lasts", too_long)


def too_late(what: str, now: datetime, longest: timedelta) -> Invariant:
    """Return the invariant that no row is due after its longest wait; `what` says for what."""
    return Invariant(f"{what} later than any wait", Q(due_at__gt=now + longest + CLOCKS))


def of_a_queue(now: datetime) -> list[Invariant]:
    """Return what holds for each row that workers take."""
    return [never_left(now), leased_too_long(now)]


def never_left(now: datetime) -> Invariant:
    """Return the invariant that no row has an ended lease and is not due, so never claimed."""
    return Invariant(
        "is leased by a dead worker, and not due", Q(due_at=None, lease_until__lte=now)
    )
