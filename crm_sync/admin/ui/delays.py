"""When a worker will do what a person requested: a pause or a lease can delay it."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from crm_sync.admin.ui.cells import local_time
from crm_sync.admin.ui.columns import of_workspace
from crm_sync.platform.errors import ErrorKind
from crm_sync.platform.problems import explain

# Annotations that a row needs for `row_delay`: one query, and no secret (S5).
PAUSE: dict[str, Any] = {
    "paused_until": of_workspace("paused_until"),
    "connection_problem": of_workspace("problem"),
}
CREDENTIALS = (ErrorKind.UNAUTHORIZED, ErrorKind.FORBIDDEN, ErrorKind.NO_CREDENTIALS)


def row_delay(row: Any, now: datetime, *, done: str = "read") -> str:
    """Return when a row will be read, or `done`; "" if a worker can do it at once.

    Args:
        row: a row annotated with `PAUSE`, with a lease.
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
    """Return when something of a workspace will be done, "" if a worker can do it at once.

    Args:
        problem: the stored reason of the pause.
        is_leased: whether a worker holds the row.
        done: a participle, such as "read".
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
    """Show when the rows of each paused workspace will be done, and one message for the rest.

    Args:
        rows: the rows that were made due; one query.
        at_once: the text for rows without a pause; their number is added.
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
    """Return the time of day, with the date if it is not today."""
    there = timezone.localtime(at)
    is_today = there.date() == timezone.localtime(now).date()
    return f"{there:%H:%M %Z}" if is_today else local_time(at)
