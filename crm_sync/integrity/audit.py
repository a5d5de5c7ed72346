"""Do the books add up: every row is counted, and none is in a state that nobody comes to (I31).

A stop at any point must leave rows that some worker, some moment or some person takes on. So what
is checked holds at any instant, also in the middle of the work and after a `kill -9`.
"""

import functools
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Case, Count, Q, Value, When

from crm_sync.integrity.invariants import AUDITS, Book, Law
from crm_sync.jobs import due
from crm_sync.models import Workspace

NAMED = 20  # rows that are named under one law; the count has all of them
CLOCKS = timedelta(minutes=1)  # by which the clocks of our machines may differ
ASTRAY = "is in none of the parts, or in two"


@dataclass
class Broken:
    """Rows for which a law does not hold; the first few by name."""

    law: str
    count: int = 0
    rows: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """Count one row."""
        self.count += 1
        if len(self.rows) < NAMED:
            self.rows.append(name)


@dataclass(frozen=True)
class Page:
    """One book of one workspace, added up."""

    workspace: str
    title: str
    total: int
    parts: dict[str, int]
    broken: list[Broken]

    @property
    def adds_up(self) -> bool:
        """Whether the parts are the whole."""
        return self.total == sum(self.parts.values())

    @property
    def holds(self) -> bool:
        """Whether they are, and every law holds."""
        return self.adds_up and not self.broken


@contextmanager
def snapshot() -> Iterator[None]:
    """See the database as of one moment for as long as this lasts; no writer waits for it.

    PostgreSQL keeps the old versions of rows meanwhile, SQLite those of its pages (WAL).
    """
    if connection.in_atomic_block:  # the caller's moment is ours
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")  # it holds no lock
            yield
    else:
        # Past `atomic`, which would take the one lock of all writers (transaction_mode IMMEDIATE).
        connection.ensure_connection()
        connection.connection.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            connection.connection.execute("ROLLBACK")


def books(workspace: Workspace, now: datetime) -> list[Book]:
    """Return the books of all apps on a workspace, those of the platform first."""
    return [book for app in AUDITS for book in app(workspace.pk, now)]


def read(book: Book, workspace: Workspace, *, now: datetime, walks: bool = True) -> Page:
    """Add up one book of a workspace; to be called within a `snapshot`.

    Args:
        walks: also look into the documents of each row, which takes its time.
    """
    places = functools.reduce(operator.add, (_as_number(part) for part in book.parts.values()))
    lawless = functools.reduce(operator.or_, (law.broken for law in book.laws), Q(pk__in=()))
    mine = book.rows.annotate(places=places, lawless=_as_number(lawless))
    laws = [*book.laws, Law(ASTRAY, ~Q(places=1) & Q(lawless=0))]
    counts = mine.aggregate(
        total=Count("pk"),
        **{f"part_{n}": Count("pk", filter=part) for n, part in enumerate(book.parts.values())},
        **{f"law_{n}": Count("pk", filter=law.broken) for n, law in enumerate(laws)},
    )
    broken = []
    for n, law in enumerate(laws):
        if counts[f"law_{n}"]:
            rows = mine.filter(law.broken).order_by("pk")[:NAMED]
            names = [str(row) for row in rows]
            broken.append(Broken(law.name, counts[f"law_{n}"], names))
    if book.walk is not None and walks:
        found: dict[str, Broken] = {}
        for name, row in book.walk(book.rows, now):
            found.setdefault(name, Broken(name)).add(row)
        broken += found.values()
    parts = {name: counts[f"part_{n}"] for n, name in enumerate(book.parts)}
    return Page(workspace.slug, book.title, counts["total"], parts, broken)


def _as_number(condition: Q) -> Case:
    """Return 1 where it holds, else 0; what is unknown to SQL does not hold."""
    return Case(When(condition, then=Value(1)), default=Value(0))


def free_from_leases(now: datetime, longest: timedelta = due.LEASE) -> list[Law]:
    """Return the laws of rows that a worker holds for a while (`DueModel`, slots)."""
    half = Q(lease_token=None, lease_until__isnull=False)
    other_half = Q(lease_token__isnull=False, lease_until=None)
    return [
        Law("has half a lease", half | other_half),
        Law("is held for longer than a lease lasts", Q(lease_until__gt=now + longest + CLOCKS)),
    ]


def never_left(now: datetime) -> Law:
    """Return the law of rows that nobody claims any more, since they are not due."""
    return Law("is held by nobody who lives, and not due", Q(due_at=None, lease_until__lte=now))
