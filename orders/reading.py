"""A row that waits for a read from the platform: asked for, held while it is read, given back.

Somebody may ask again while a read is under way: see `due.Claim.listen`.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from django.db import models
from django.utils import timezone

from crm_sync import due, slots
from crm_sync.client import Client
from crm_sync.dispatch import doorbell
from crm_sync.due import Claim, DueModel, Tally
from crm_sync.errors import NotAllowed, NotThere, Passing, Refused
from crm_sync.models import Workspace, awake

log = logging.getLogger(__name__)

Row = TypeVar("Row", bound=DueModel)
# Reads one row, writes what it found, and returns the columns that it leaves with, `due_at` among
# them; raises the client's errors.
Reader = Callable[[Claim[Row], Client], dict[str, Any]]


def ask(rows: "models.QuerySet[Row]", queue: str, workspace_id: int, *, now: datetime) -> None:
    """Make the rows due for a read now, also while one is under way, and ring for a worker."""
    rows.update(due_at=now)
    doorbell.ring(queue, workspace_id)


def workspaces_due(rows: "models.QuerySet[Row]", now: datetime) -> set[int]:
    """Return the ids of the workspaces that have a row to read and are not paused (A8)."""
    waiting = rows.filter(due.free(now), awake(now))
    return set(waiting.values_list("workspace_id", flat=True).distinct())


def drain(
    rows: "models.QuerySet[Row]",
    workspace_id: int,
    budget: float,
    read: Reader[Row],
    *,
    may_read: Callable[[int, datetime], bool] = lambda workspace_id, now: True,
) -> Tally:
    """Read what is due in a workspace, one row after the other, for at most `budget` seconds.

    A row for which `may_read` has nothing left stays due.
    """
    tally, end = Tally(), time.monotonic() + budget
    workspace = Workspace.objects.get(pk=workspace_id)
    mine = rows.filter(workspace_id=workspace_id)
    with slots.hold(workspace) as held:

        def goes_on() -> bool:
            now = timezone.now()
            return time.monotonic() < end and not workspace.is_paused(now) and held.keep(now)

        while held.count and goes_on():
            claim = due.claim(mine, now=timezone.now())
            if claim is None:
                break
            if not may_read(workspace_id, timezone.now()):
                claim.release()
                break
            tally.add(_read_one(claim, workspace, read))
            workspace.refresh_from_db(fields=["paused_until", "pauses", "problem"])
    return tally


def _read_one(claim: Claim[Row], workspace: Workspace, read: Reader[Row]) -> str:
    """Read one row and give it back; the outcome is the word that the tally counts."""
    claim.listen()
    try:
        columns = read(claim, workspace.client())
    except (NotThere, Refused) as error:
        # Reading it again changes nothing: it waits for a person, or for the next event.
        claim.give_back(due_at=None, problem=_text(error))
        return "not there" if isinstance(error, NotThere) else "refused"
    except (Passing, NotAllowed) as error:
        now = timezone.now()
        workspace.pause_for(error, now)
        _put_off(claim, now, error)
        return "put off"
    except Exception as error:
        # A bug of ours, or a value that the database refuses, must not stop the rows behind it.
        log.exception("%s could not be read", claim.row)
        _put_off(claim, timezone.now(), error)
        return "failed"
    workspace.answered()
    claim.give_back(**{"attempts": 0, "problem": "", **columns})
    return "read"


def _put_off(claim: Claim[Row], now: datetime, error: Exception) -> None:
    attempts = claim.row.attempts + 1
    claim.give_back(due_at=now + due.backoff(attempts), attempts=attempts, problem=_text(error))


def _text(error: Exception) -> str:
    return f"{error}"[:1000] or type(error).__name__
