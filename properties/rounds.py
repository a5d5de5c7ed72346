"""A scheduled task visits all workspaces within one budget, and none delays the others for long.

The workspace that was tried longest ago comes first, and each attempt is noted before it begins. So
a workspace that was not reached is first the next time, and one that never answers is not first
more often than others.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from crm_sync.models import Workspace
from properties.models import Turn

log = logging.getLogger(__name__)

AT_ONCE = 8  # workspaces at the same time; so many may hang before others have to wait

Step = Callable[[Workspace, float], str]


def go_round(
    task: Turn.Task, waiting: QuerySet[Workspace], step: Step, *, budget: float
) -> dict[str, str]:
    """Take workspaces that have something to do, several at a time, those tried longest ago first.

    Args:
        step: does what is due in one workspace until a moment of the monotonic clock, a share of
            what is left, and says what happened. It may run over by one call.
        budget: seconds in which steps may begin.

    Returns:
        what happened, by slug of the workspace.
    """
    workspaces = list(longest_ago(task, waiting))
    threads = max(1, min(AT_ONCE, settings.PUSH_THREADS, len(workspaces)))
    end = time.monotonic() + budget

    def one(place: int) -> str:
        now, rounds = time.monotonic(), max(1.0, (len(workspaces) - place) / threads)
        if now >= end:
            return "put off"
        return take_turn(task, workspaces[place], lambda it: step(it, now + (end - now) / rounds))

    if threads == 1:
        outcomes = [one(place) for place in range(len(workspaces))]
    else:
        with ThreadPoolExecutor(threads) as pool:
            outcomes = list(pool.map(_closing(one), range(len(workspaces))))
    return dict(zip((workspace.slug for workspace in workspaces), outcomes, strict=True))


def longest_ago(task: Turn.Task, waiting: QuerySet[Workspace]) -> QuerySet[Any]:
    """Return the workspaces, first the one whose last try is oldest, with it as `tried_at`.

    Their secrets are left out: one that no key opens must not keep all the others from their turn.
    """
    tried = waiting.annotate(tried_at=Max("turn__tried_at", filter=Q(turn__task=task)))
    return tried.defer(*Workspace.SECRETS).order_by(F("tried_at").asc(nulls_first=True), "slug")


def take_turn(task: Turn.Task, workspace: Any, step: Callable[[Workspace], str]) -> str:
    """Note the attempt and do the step; one that fails is logged and stops no other.

    Args:
        workspace: as `longest_ago` returned it; if another worker took the turn since, this one
            does nothing.
    """
    if not _is_ours(task, workspace, timezone.now()):
        return "left to another worker"
    try:
        return step(workspace)
    except Exception:
        # A bug of ours, or what the database refuses, in one workspace.
        log.exception("the %s of %s failed", task.label.lower(), workspace.slug)
        return "failed"


def _is_ours(task: Turn.Task, workspace: Any, now: datetime) -> bool:
    turn, is_first = Turn.objects.get_or_create(
        workspace=workspace, task=task, defaults={"tried_at": now}
    )
    same = Turn.objects.filter(pk=turn.pk, tried_at=workspace.tried_at)
    return is_first or same.update(tried_at=now) == 1


def _closing(one: Callable[[int], str]) -> Callable[[int], str]:
    """Give the thread's connection to the database back."""

    def act(place: int) -> str:
        try:
            return one(place)
        finally:
            connection.close()

    return act
