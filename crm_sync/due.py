"""The row is the queue: what is due, who holds it, when it comes again (design §2.1, §5).

Every kind of work is a table whose rows carry `due_at` and a lease. A claim is one conditional
UPDATE, so SQLite and PostgreSQL behave alike and two workers never hold one row.
"""

import random
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import models, transaction

from crm_sync import statements

LEASE = timedelta(seconds=3 * settings.CALL_DEADLINE)  # three calls to their hard end (I13)
BACKOFF_BASE = 2.0  # seconds
BACKOFF_LIMIT = 15 * 60.0  # seconds
RELEASED = {"lease_token": None, "lease_until": None}  # by `Claim.write`, with what else is set
TRIES = 8  # to claim rows that other workers claim as well


class DueModel(models.Model):
    """The columns of a row that can have work: owned by whoever holds the lease, but `due_at`."""

    due_at = models.DateTimeField(null=True, blank=True, editable=False)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        abstract = True


Row = TypeVar("Row", bound=DueModel)


class LeaseLost(Exception):
    """Somebody else holds the row now: whoever sees this writes nothing more to it."""


@dataclass(frozen=True)
class Claim(Generic[Row]):
    """A row that we hold until `until`, fenced by `token`.

    Attributes:
        abandoned: the holder before us never gave it back: it died, or it stands still and may
            yet write (I3).
    """

    row: Row
    token: uuid.UUID
    until: datetime
    abandoned: bool

    @property
    def fenced(self) -> "models.QuerySet[Row]":
        """The row as long as it is ours: every write of the holder goes through this."""
        return type(self.row)._default_manager.filter(pk=self.row.pk, lease_token=self.token)

    def write(self, columns: Mapping[str, Any], **at: Any) -> bool:
        """Write columns as long as the row is ours and the columns of `at` stand like that.

        It is `fenced.filter(**at).update(**columns)`, for plain values.
        """
        if not columns:  # no SQL says that
            return self.fenced.filter(**at).exists()
        ours = {"id": self.row.pk, "lease_token": self.token}
        return statements.update(type(self.row), columns, ours | at) == 1

    def release(self, **columns: Any) -> bool:
        """Give the row back and set `columns`; False when it was no longer ours."""
        return self.fenced.update(**RELEASED, **columns) == 1

    def listen(self) -> None:
        """Notice from now on when somebody makes the row due again.

        `due_at` moves to the end of the lease; what `give_back` says counts only where it stands.
        """
        self.fenced.update(due_at=self.until)

    def give_back(self, *, due_at: datetime | None, **columns: Any) -> bool:
        """Release the row after `listen`; where somebody made it due meanwhile, it stays due.

        One commit, so that a stop in between does not leave a row that nobody comes to.
        """
        with transaction.atomic():
            self.fenced.filter(due_at=self.until).update(due_at=due_at)
            return self.release(**columns)


def held(now: datetime) -> models.Q:
    """Rows that a worker holds."""
    return models.Q(lease_until__gt=now)


def unheld(now: datetime) -> models.Q:
    """Rows that nobody holds, or whose holder never came back."""
    return models.Q(lease_until=None) | models.Q(lease_until__lte=now)


def free(now: datetime) -> models.Q:
    """Rows that are due and that nobody holds."""
    return models.Q(due_at__lte=now) & unheld(now)


def claim_some(queryset: "models.QuerySet[Row]", *, now: datetime, limit: int) -> list[Claim[Row]]:
    """Take up to `limit` rows, those that have been due for longest; empty when none is free.

    Three statements for all of them. Where another worker is faster, its rows are left out.
    """
    waiting = queryset.filter(free(now)).order_by("due_at", "pk").values_list("pk", "lease_token")
    for _ in range(TRIES):
        found = dict(waiting[:limit])
        if not found:
            break
        token, until = uuid.uuid4(), now + LEASE
        mine = queryset.filter(free(now), pk__in=found)
        if mine.update(lease_token=token, lease_until=until):
            ours = queryset.model._default_manager.filter(pk__in=found, lease_token=token)
            # A token that was given back meanwhile counts as abandoned: one read too many.
            return [Claim(row, token, until, abandoned=found[row.pk] is not None) for row in ours]
    return []


def claim(queryset: "models.QuerySet[Row]", *, now: datetime) -> Claim[Row] | None:
    """Take the row that has been due for longest, or None when nothing is due or free."""
    return next(iter(claim_some(queryset, now=now, limit=1)), None)


def backoff(attempts: int, *, rng: Callable[[], float] = random.random) -> timedelta:
    """Give the wait after `attempts` failed tries: exponential, capped, full jitter (I11)."""
    ceiling = min(BACKOFF_LIMIT, BACKOFF_BASE * 2.0 ** min(attempts, 20))
    return timedelta(seconds=max(0.5, rng() * ceiling))


@dataclass
class Tally:
    """What a drain did: outcome to number of rows, in the words of the queue."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, outcome: str) -> None:
        """Count one row."""
        self.counts[outcome] = self.counts.get(outcome, 0) + 1

    @property
    def total(self) -> int:
        """How many rows were handled."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Queue:
    """One kind of due work.

    Attributes:
        workspaces: ids of the workspaces that have a row due at that time.
        drain: does what is due in one workspace, at most `budget` seconds of it.
    """

    name: str
    workspaces: Callable[[datetime], Iterable[int]]
    drain: Callable[[int, float], Tally]


QUEUES: dict[str, Queue] = {}  # filled when the apps load


def register(queue: Queue) -> None:
    """Make a queue known to the tick, the doorbell and `manage.py drain`."""
    QUEUES[queue.name] = queue


def waiting(now: datetime) -> list[tuple[str, int]]:
    """Return every (queue name, workspace id) with something due; one query for each queue."""
    return [(queue.name, pk) for queue in QUEUES.values() for pk in queue.workspaces(now)]
