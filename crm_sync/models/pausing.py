"""Pauses of a workspace: when all workers leave the platform alone (A8, I11)."""

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

# Where a busy platform does not say how long: one probe in this time, with jitter (I11).
LEAST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(seconds=60)
NOT_ALLOWED_PAUSE = timedelta(seconds=60)  # a wrong token does not get better by asking faster


class Pausing(models.Model):
    """What the calls of a workspace have said of the connection.

    Attributes:
        pauses: how many in a row; above 0 one call is a probe of whether the platform is back.
        problem: what is wrong with the connection; "" when nothing is.
    """

    paused_until = models.DateTimeField(null=True, blank=True, editable=False)
    pauses = models.PositiveIntegerField(default=0, editable=False)
    problem = ProblemField(blank=True, default="", editable=False)

    class Meta:
        abstract = True

    def client(self, *, deadline: float | None = None) -> Client:
        """Return the client of this workspace; `deadline` in seconds for each call."""
        raise NotImplementedError

    def is_paused(self, now: datetime) -> bool:
        """Tell whether all workers leave the platform alone for now (A8)."""
        return self.paused_until is not None and now < self.paused_until

    @contextmanager
    def calling(self, *, deadline: float | None = None, by_hand: bool = False) -> Iterator[Client]:
        """Yield a client, and note for all workers what its calls say of the connection (A8, I11).

        A pause is known by its end. A call that was sent before a pause began does not know it: its
        success ends nothing, and its refusal is no second pause.

        Args:
            deadline: as for `client`.
            by_hand: a person tries the connection: its success ends a pause also before its time.

        Raises:
            SyncError: what the calls raise.
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
        """Note what is wrong, and pause all workers if `error` asks for it (429, 503, 401; A8).

        Args:
            known: `paused_until` when the call was sent. If a pause has begun since, this refusal
                is of the same burst: it only makes the pause longer, if the platform asks for that.
        """
        problem = {"problem": problem_of(error)}
        unpaused = models.Q(paused_until=known) | models.Q(pauses=0)
        if isinstance(error, TransientError) and not error.pauses:
            # Not a pause, since other calls may get through, but nobody should read "connected".
            self._note(unpaused, **problem)
        elif isinstance(error, TransientError | AuthError):
            told = getattr(error, "retry_after", None)
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
        return _probing(self.pauses) if told is None else timedelta(seconds=told)

    def resume(self) -> None:
        """Forget the pause and the problem: the connection was made anew."""
        self._note(models.Q(), paused_until=None, pauses=0, problem="")

    def _note(self, where: models.Q, **columns: Any) -> None:
        type(self)._default_manager.filter(where, pk=self.pk).update(**columns)
        self.refresh_from_db(fields=["paused_until", "pauses", "problem"])


def awake(now: datetime, *, at: str = "") -> models.Q:
    """Workspaces that are not paused; see `Workspace.is_paused`.

    Args:
        at: where the workspace stands, such as `workspace__` for rows of one.
    """
    return models.Q(**{f"{at}paused_until": None}) | models.Q(**{f"{at}paused_until__lte": now})


def _probing(pauses: int) -> timedelta:
    """Give the pause after so many in a row; a platform that is back is seen within a minute."""
    return min(LEAST_PAUSE + backoff(pauses), LONGEST_PAUSE)
