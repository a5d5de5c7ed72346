"""Pauses of a workspace, in which no worker calls the platform (A8, I11)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import Case, Value, When
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from crm_sync.models.due import backoff
from crm_sync.models.problem import ProblemField
from crm_sync.platform.client import Client
from crm_sync.platform.errors import AuthError, SyncError, TransientError, problem_of

# For a busy platform without Retry-After: the least and longest time to the next probe (I11).
LEAST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(seconds=60)
NOT_ALLOWED_PAUSE = timedelta(seconds=60)  # trying faster does not help a wrong token


class Pausing(models.Model):
    """The state of the connection, as the calls of a workspace have shown it.

    Attributes:
        pauses: the number of pauses in a row. Above 0, the next call is a probe.
        problem: what is wrong with the connection, or "".
    """

    paused_until = models.DateTimeField(null=True, blank=True, editable=False)
    pauses = models.PositiveIntegerField(default=0, editable=False)
    problem = ProblemField(blank=True, default="", editable=False)

    class Meta:
        abstract = True

    def client(self, *, deadline: float | None = None) -> Client:
        """Return the client of this workspace, with a `deadline` in seconds for each call."""
        raise NotImplementedError

    def is_paused(self, now: datetime) -> bool:
        """Return whether no worker may call the platform now (A8)."""
        return self.paused_until is not None and now < self.paused_until

    @contextmanager
    def calling(self, *, deadline: float | None = None, by_hand: bool = False) -> Iterator[Client]:
        """Yield a client, and record for all workers what its calls show (A8, I11).

        `paused_until` identifies a pause. If a call was sent before the pause began, its success
        does not end the pause, and its refusal does not count as a second pause.

        Args:
            deadline: as for `client`.
            by_hand: a person tries the connection. A success ends a pause before its time.

        Raises:
            SyncError: the error of a call.
        """
        known = self.paused_until
        try:
            yield self.client(deadline=deadline)
        except SyncError as error:
            self._pause_for(error, timezone.now(), known=known)
            raise
        if self.pauses or self.problem:
            answering = models.Q(paused_until=known)
            self._note(
                answering if by_hand else answering & awake(timezone.now()),
                **{"paused_until": None, "pauses": 0, "problem": ""},
            )

    def _pause_for(self, error: SyncError, now: datetime, *, known: datetime | None) -> None:
        """Record what is wrong, and pause all workers if `error` requires it (A8: 429, 503, 401 …).

        Args:
            known: `paused_until` when the call was sent. If a pause has begun since, this refusal
                belongs to the same burst. Then it can only extend the pause, by its `retry_after`.
        """
        problem = {"problem": problem_of(error)}
        unpaused = models.Q(paused_until=known) | models.Q(pauses=0)
        if isinstance(error, TransientError) and not error.pauses:
            # Not a pause, since other calls may succeed, but the page must not show "connected".
            self._note(unpaused, **problem)
        elif isinstance(error, TransientError | AuthError):
            told = getattr(error, "retry_after", None) or None  # 0: it names no time
            until = Value(now + self._wait(error), output_field=models.DateTimeField())
            one_more = Case(When(unpaused, then=1), default=0)
            self._note(
                unpaused if told is None else models.Q(),
                paused_until=Greatest(Coalesce("paused_until", until), until),
                pauses=models.F("pauses") + one_more,
                **problem,
            )

    def _wait(self, error: TransientError | AuthError) -> timedelta:
        if isinstance(error, AuthError):
            return NOT_ALLOWED_PAUSE
        told = error.retry_after
        return _probing(self.pauses) if not told else timedelta(seconds=told)

    def resume(self) -> None:
        """Remove the pause and the problem, since the connection was set up again."""
        self._note(models.Q(), paused_until=None, pauses=0, problem="")

    def _note(self, where: models.Q, **columns: Any) -> None:
        type(self)._default_manager.filter(where, pk=self.pk).update(**columns)
        self.refresh_from_db(fields=["paused_until", "pauses", "problem"])


def awake(now: datetime, *, at: str = "") -> models.Q:
    """Select the workspaces that are not paused; see `Workspace.is_paused`.

    Args:
        at: the prefix of the workspace's columns, such as `workspace__` for rows with a workspace.
    """
    return models.Q(**{f"{at}paused_until": None}) | models.Q(**{f"{at}paused_until__lte": now})


def _probing(pauses: int) -> timedelta:
    """Return the length of the next pause, so that a platform is seen within a minute once back."""
    return min(LEAST_PAUSE + backoff(pauses), LONGEST_PAUSE)
