"""When what a button asks for will be done: a pause or a lease keeps a worker from doing it now."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import Count, F, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from crm_sync.admin.ui.cells import local_time
from crm_sync.platform.errors import ErrorKind
from crm_sync.platform.problems import explain

# What a row of a workspace needs for it: one query, and no secret (S5).
PAUSE = {
    "paused_until": F("workspace__paused_until"),
    "connection_problem": F("workspace__problem"),
}
CREDENTIALS = (ErrorKind.UNAUTHORIZED, ErrorKind.FORBIDDEN, ErrorKind.NO_CREDENTIALS)


def row_delay(row: Any, now: datetime, *, done: str = "read") -> str:
    """Say when a row will be read, or what `done` says; "" where a worker may do it at once.

    Args:
        row: annotated with `PAUSE`; its lease counts too.
    """
    is_leased = row.lease_until is not None and row.lease_until > now
    return delay(row.paused_until, row.connection_problem, now=now, is_leased=is_leased, done=done)


def delay(
    paused_until: datetime | None,
    problem: str,
    *,
    now: datetime,
    is_leased: bool = False,
    done: str = "read",
) -> str:
    """Say when something of a workspace will be done; "" where a worker may do it at once.

    Args:
        problem: why the workspace is paused, as it is stored.
        is_leased: a worker is at the row.
        done: what will be done, as a participle.
    """
    if paused_until is not None and paused_until > now:
        at = _clock(paused_until, now)
        if explain(problem).kind in CREDENTIALS:
            text = f"Will be {done} once the platform accepts our credentials"
            return f"{text}; it is asked again after {at}."
        return f"Will be {done} after {at}, when the platform accepts calls again."
    return f"A worker is at it now. Will be {done} after that." if is_leased else ""


def say_when(
    request: HttpRequest,
    rows: QuerySet[Any],
    *,
    now: datetime,
    done: str = "read",
    at_once: str = "A worker reads them again now",
) -> None:
    """Say after a button was pressed when its rows will be done, workspace by workspace.

    Args:
        rows: what was made due; one query.
        at_once: what is said of those that no pause holds back, with their number behind it.
    """
    names = ("workspace__slug", "workspace__paused_until", "workspace__problem")
    count = 0
    for slug, *pause, some in rows.order_by(names[0]).values_list(*names).annotate(Count("pk")):
        if when := delay(*pause, now=now, done=done):
            messages.warning(request, f"{slug}: {when}")
        else:
            count += some
    if count:
        messages.success(request, f"{at_once}: {count}.")


def _clock(at: datetime, now: datetime) -> str:
    """Return the time of day, with the day where it is another one."""
    there = timezone.localtime(at)
    is_today = there.date() == timezone.localtime(now).date()
    return f"{there:%H:%M %Z}" if is_today else local_time(at)
