"""When a worker will do what a person requested: a pause or a lease can delay it."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _, ngettext_lazy

from crm_sync.admin.ui.cells import local_time
from crm_sync.admin.ui.columns import of_workspace
from crm_sync.platform.errors import ErrorKind
from crm_sync.platform.problems import explain
from crm_sync.translated import Counted, Text, said_of

# Annotations that a row needs for `row_delay`: one query, and no secret (S5).
PAUSE: dict[str, Any] = {
    "paused_until": of_workspace("paused_until"),
    "connection_problem": of_workspace("problem"),
}
# What will be done with a row → once the credentials are accepted, after a pause, after a lease.
TEXTS: dict[str, tuple[Text, Text, Text]] = {
    "read": (
        _(
            "Will be read once the platform accepts our credentials; it is asked again after"
            " %(at)s."
        ),
        _("Will be read after %(at)s, when the platform accepts calls again."),
        _("A worker is at it now. Will be read after that."),
    ),
    "polled": (
        _(
            "Will be polled once the platform accepts our credentials; it is asked again after"
            " %(at)s."
        ),
        _("Will be polled after %(at)s, when the platform accepts calls again."),
        _("A worker is at it now. Will be polled after that."),
    ),
    "placed": (
        _(
            "Will be placed once the platform accepts our credentials; it is asked again after"
            " %(at)s."
        ),
        _("Will be placed after %(at)s, when the platform accepts calls again."),
        _("A worker is at it now. Will be placed after that."),
    ),
    "pushed": (
        _(
            "Will be pushed once the platform accepts our credentials; it is asked again after"
            " %(at)s."
        ),
        _("Will be pushed after %(at)s, when the platform accepts calls again."),
        _("A worker is at it now. Will be pushed after that."),
    ),
}
AGAIN = ngettext_lazy(
    "A worker reads it again now.", "A worker reads all %(count)s again now.", "count"
)
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
        done: a key of TEXTS.
    """
    refused, paused, leased = TEXTS[done]
    if paused_until is not None and paused_until > now:
        text = refused if explain(problem).kind in CREDENTIALS else paused
        return text % {"at": _clock(paused_until, now)}
    return str(leased) if is_leased else ""


def say_when(
    request: HttpRequest,
    rows: QuerySet[Any],
    *,
    now: datetime,
    done: str = "read",
    at_once: Any = AGAIN,
) -> None:
    """Show when the rows of each paused workspace will be done, and one message for the rest.

    Args:
        rows: the rows that were made due; one query.
        at_once: the lazy text for rows without a pause, with a plural by their number.
    """
    names = ("workspace__slug", "workspace__paused_until", "workspace__problem")
    count = 0
    for slug, *pause, some in rows.order_by(names[0]).values_list(*names).annotate(Count("pk")):
        if when := delay(*pause, now=now, done=done):
            messages.warning(request, said_of(slug, when))
        else:
            count += some
    if count:
        messages.success(request, at_once % {"count": Counted(count)})


def _clock(at: datetime, now: datetime) -> str:
    """Return the time of day, with the date if it is not today."""
    there = timezone.localtime(at)
    is_today = there.date() == timezone.localtime(now).date()
    return f"{there:%H:%M %Z}" if is_today else local_time(at)
