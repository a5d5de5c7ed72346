"""Logs and counts each call to the platform, and stores it depending on `PLATFORM_CALLS`.

`note` runs no statement. The rows wait in this process for `flush`, which runs once a second in a
worker, after a request, and at the end of a command. A killed process loses its waiting rows. This
is acceptable, since no work depends on these figures.
"""

import logging
import threading
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from crm_sync import durability, tracing
from crm_sync.expiry import Part, deletion, older
from crm_sync.models.platform_call import TOTAL, CallCount, PlatformCall
from crm_sync.platform.exchange import Exchange, Result

log = logging.getLogger("crm_sync.calls")

OFF, ERRORS, ALL = "off", "errors", "all"
WANTED = (OFF, ERRORS, ALL)  # the values of PLATFORM_CALLS
# A property is searched before it is created, so 404 is not an error.
EXPECTED = {Result.OK, Result.NOT_FOUND}
SHOWN = 500  # characters of a path, and of an error
BODY = 4_000  # characters of each body
WAITING = 1_000  # calls that wait in one process; further calls are only counted

_lock = threading.Lock()
_calls: list[PlatformCall] = []
_counts: dict[tuple[datetime, int, str], list[int]] = {}
_dropped = 0

_ADD = """
    INSERT INTO crm_sync_callcount (hour, workspace_id, result, count, milliseconds)
    VALUES (%s, %s, %s, %s, %s) ON CONFLICT (hour, workspace_id, result) DO UPDATE
    SET count = crm_sync_callcount.count + excluded.count,
        milliseconds = crm_sync_callcount.milliseconds + excluded.milliseconds
"""


def note(workspace_id: int, exchange: Exchange) -> None:
    """Write the result of a call to the log, count it, and store it if it is wanted."""
    global _dropped  # noqa: PLW0603 - of this process, like the others
    now, took = timezone.now(), round(exchange.took * 1000)
    if log.isEnabledFor(logging.INFO):
        # The text of an error begins with the call.
        answered = f"{exchange.method} {exchange.address(SHOWN)}: {exchange.status}"
        what = exchange.problem(SHOWN) or answered
        log.info("workspace %s: %s, %s ms", workspace_id, what, took)
    is_wanted = settings.PLATFORM_CALLS == ALL or exchange.result not in EXPECTED
    row = None
    if is_wanted and settings.PLATFORM_CALLS != OFF and len(_calls) < WAITING:
        row = _row(workspace_id, exchange, now, took)
    hour = now.replace(minute=0, second=0, microsecond=0)
    with _lock:
        for at in (hour, TOTAL):
            counted = _counts.setdefault((at, workspace_id, exchange.result), [0, 0])
            counted[0] += 1
            counted[1] += took
        if row is not None:
            _calls.append(row)
        elif is_wanted and settings.PLATFORM_CALLS != OFF:
            _dropped += 1


def _row(workspace_id: int, exchange: Exchange, now: datetime, took: int) -> PlatformCall:
    trace = tracing.current()
    return PlatformCall(
        workspace_id=workspace_id,
        at=now,
        method=exchange.method,
        address=exchange.address(SHOWN),
        result=exchange.result,
        status=exchange.status,
        milliseconds=took,
        about=trace.about,
        attempt=trace.attempt,
        request_id=trace.id,
        problem=exchange.problem(SHOWN),
        **exchange.bodies(BODY),
    )


def flush() -> int:
    """Write all waiting rows in one transaction, and return the number of calls.

    If the database refuses them, they are lost, and this is logged.
    """
    global _dropped  # noqa: PLW0603 - as above
    with _lock:
        calls, counts, dropped = list(_calls), dict(_counts), _dropped
        _calls.clear()
        _counts.clear()
        _dropped = 0
    if dropped:
        log.warning("%s calls were counted and not kept: too many at once", dropped)
    if not counts:
        return 0
    # Always in the same order, so that no two processes wait for each other.
    rows = [[*key, *counted] for key, counted in sorted(counts.items())]
    try:
        with durability.relaxed(), connection.cursor() as cursor:
            cursor.executemany(_ADD, [_stored(row) for row in rows])
            PlatformCall.objects.bulk_create(calls)
    except Error as error:
        log.warning("%s calls are neither counted nor kept: %s", len(calls), error)
        return 0
    return len(calls)


def _stored(row: list[Any]) -> list[Any]:
    at = connection.ops.adapt_datetimefield_value(row[0])
    return [at, *row[1:]]


def forget() -> None:
    """For tests: drop all waiting rows of this process."""
    _calls.clear()
    _counts.clear()


def expired(now: datetime) -> dict[str, Part]:
    """Return the parts that remove calls above the limit of age or number, and old counts."""
    days, most = settings.KEEP_DAYS["calls"], settings.PLATFORM_CALLS_KEEP_ROWS
    newest = PlatformCall.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    calls, hours = PlatformCall.objects.order_by("pk"), CallCount.objects.filter(hour__gt=TOTAL)
    return {
        "calls": deletion(older(calls, "at", days=days, now=now)),
        "calls above the limit": deletion(calls.filter(pk__lte=newest - most)),
        # The overview shows the last 24 hours.
        "hours of calls": deletion(older(hours, "hour", days=max(days, 2) if days else 0, now=now)),
    }
