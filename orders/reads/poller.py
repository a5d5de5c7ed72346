"""Reads due rows from the platform, one by one."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from django.db import models
from django.utils import timezone

from crm_sync.models import Workspace
from crm_sync.platform.client import Client
from crm_sync.platform.errors import (
    AuthError,
    ErrorKind,
    NotFoundError,
    RejectedError,
    TransientError,
    problem_of,
)
from crm_sync.work import queues
from crm_sync.work.doorbell import doorbell
from crm_sync.work.leases import Claim
from crm_sync.work.queues import Turn
from orders.models import MaterialSet
from orders.models.order import MirroredModel

NOT_THERE_YET = 8  # 404 answers in a row, over some minutes in total: a copy may lag behind
ABSENT = (ErrorKind.NOT_FOUND, ErrorKind.FORBIDDEN)  # the kinds of a `NotFoundError` (A5)
Row = TypeVar("Row", bound=MirroredModel | MaterialSet)
# Reads one row from the platform and writes it. Returns the columns to finish with, including
# `due_at`. Raises the client's errors.
Reader = Callable[[Claim[Row], Client], dict[str, Any]]
Gone = Callable[[Row, datetime], dict[str, Any]]  # returns columns of a row that still is not there


class ReadOutcome(StrEnum):
    """The outcome of a read."""

    READ = "read"
    NOT_THERE = "not there"
    REFUSED = "refused"
    PUT_OFF = "put off"
    SETTLED = "settled a placement"  # an order that was read is that of the placement


def ask(rows: "models.QuerySet[Row]", queue: str, workspace_id: int, *, now: datetime) -> None:
    """Make the rows due for a read now, even if one is in progress, and ring for a worker."""
    rows.update(due_at=now)
    doorbell.ring(queue, workspace_id)


def one_by_one(
    read: Reader[Row],
    *,
    may_read: Callable[[int, datetime], bool] | None = None,
    gone: Gone[Row] = lambda row, now: {},
) -> Callable[[Sequence[Claim[Row]], Turn], Sequence[ReadOutcome]]:
    """Return the `work` of a queue that reads its rows with this reader.

    Args:
        may_read: takes one read from the limit of a workspace. If none is left, rows are still due.
        gone: returns more columns to write if a row still is not there.
    """

    def work(claims: Sequence[Claim[Row]], turn: Turn) -> Sequence[ReadOutcome]:
        if may_read is not None and not may_read(turn.workspace_id, timezone.now()):
            raise queues.Stop
        return [_read_one(claim, turn.workspace, read, gone) for claim in claims]

    return work


def _read_one(
    claim: Claim[Row], workspace: Workspace, read: Reader[Row], gone: Gone[Row]
) -> ReadOutcome:
    """Read one row and end its claim. Return the outcome."""
    try:
        with workspace.calling() as client:
            columns = read(claim, client)
    except NotFoundError as error:
        if claim.row.problem.kind not in ABSENT:
            claim.row.attempts = 0  # those before were no 404
        if claim.row.attempts + 1 < NOT_THERE_YET:
            queues.put_off(claim, problem=problem_of(error))
            return ReadOutcome.PUT_OFF
        # The row waits for a person, or for the next event, which allows as many tries again.
        columns = gone(claim.row, timezone.now())
        claim.finish(due_at=None, attempts=0, problem=problem_of(error), **columns)
        return ReadOutcome.NOT_THERE
    except RejectedError as error:
        # Another read would not help.
        claim.finish(due_at=None, problem=problem_of(error))
        return ReadOutcome.REFUSED
    except (TransientError, AuthError) as error:
        queues.put_off(claim, problem=problem_of(error))
        return ReadOutcome.PUT_OFF
    claim.finish(**{"attempts": 0, "problem": "", **columns})
    return ReadOutcome.READ
