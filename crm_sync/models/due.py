"""The row is the queue: its columns hold when it is due, and its lease by a worker (I1, I3)."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models

# A lease that ends later than this was written by a clock that ran ahead (I29), and is not valid.
LONGEST_LEASE = timedelta(minutes=10, seconds=3 * settings.CALL_DEADLINE)
BACKOFF_BASE = 2.0  # seconds
BACKOFF_LIMIT = 15 * 60.0  # seconds
RELEASED = {"lease_token": None, "lease_until": None}
LEASED = ("due_at", "lease_token", "lease_until")  # the columns that a claim compares and writes


class DueModel(models.Model):
    """The columns of a row that can be due.

    Only the holder of the lease writes them, except `due_at`: any process may make a row due.
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
    """Return the index by which tick and claim find the due rows of a workspace."""
    due = models.Q(due_at__isnull=False)
    return models.Index(fields=["workspace", "due_at"], name=f"{table}_due", condition=due)


def leased(now: datetime) -> models.Q:
    """Select the rows that a worker has leased."""
    return models.Q(lease_until__gt=now, lease_until__lte=now + LONGEST_LEASE)


def unleased(now: datetime) -> models.Q:
    """Select the rows without a lease, or with one that is over or that a wrong clock wrote."""
    is_over = models.Q(lease_until__lte=now) | models.Q(lease_until__gt=now + LONGEST_LEASE)
    return models.Q(lease_until=None) | is_over


def free(now: datetime, *, wait: timedelta | None = None) -> models.Q:
    """Select the rows that are due and not leased.

    Args:
        wait: the longest time that a row of this queue waits. A wrong clock must have written a
            later `due_at`, so such a row counts as due (I29).
    """
    is_due = models.Q(due_at__lte=now)
    if wait is not None:
        is_due |= models.Q(due_at__gt=now + wait)
    return is_due & unleased(now)


def later(at: datetime) -> models.Q:
    """Select the rows that are due after a moment or never, to make them due by then."""
    return models.Q(due_at=None) | models.Q(due_at__gt=at)


def backoff(attempts: int, *, rng: Callable[[], float] = random.random) -> timedelta:
    """Return the wait after failed attempts: exponential, capped, with full jitter (I11)."""
    ceiling = min(BACKOFF_LIMIT, BACKOFF_BASE * 2.0 ** min(attempts, 20))
    return timedelta(seconds=max(0.5, rng() * ceiling))
