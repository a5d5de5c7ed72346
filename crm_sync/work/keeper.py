"""A thread that renews the slots of this process, and the leases of its rows.

A process that dies or is suspended renews nothing, so its slots and rows are free within seconds.
"""

import logging
import threading
import uuid
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from django.db import connection, models, transaction
from django.utils import timezone

from crm_sync import durability

log = logging.getLogger(__name__)

EVERY = 0.5  # seconds; a slot or a lease is renewed once it is some seconds old
IDLE = 20  # after so many rounds without a slot or a row the thread ends

# Each function renews old slots or leases, and returns whether this process holds any.
RENEWALS: list[Callable[[datetime], bool]] = []
_lock = threading.Lock()
_thread: threading.Thread | None = None


def begin() -> None:
    """Start the thread if it does not run. Call this for each new slot or lease."""
    global _thread  # noqa: PLW0603 - there is one in a process
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="keeper", daemon=True)
            _thread.start()


def prolong(
    rows: models.QuerySet[Any], tokens: Collection[uuid.UUID], until: datetime
) -> set[tuple[int, uuid.UUID]]:
    """Extend our leases of these rows; return the key and token of each extended row.

    It skips a row that another worker holds now, and a row that another transaction has locked,
    since the other rows would have to wait for it. The next round tries the locked row again.
    """
    ours = rows.filter(lease_token__in=tokens)
    with durability.lazily(), transaction.atomic():
        unlocked = ours.select_for_update(skip_locked=True)
        found = set(unlocked.values_list("pk", "lease_token"))
        if found:
            ours.filter(pk__in={pk for pk, _ in found}).update(lease_until=until)
    return found


def _run() -> None:
    global _thread  # noqa: PLW0603
    pause, idle = threading.Event(), 0
    while True:
        pause.wait(EVERY)
        idle = 0 if _renew(timezone.now()) else idle + 1
        with _lock:
            if idle >= IDLE:
                _thread = None  # the next `begin` starts another one
                return


def _renew(now: datetime) -> bool:
    is_any = False
    for renew in RENEWALS:
        try:
            is_any |= renew(now)
        except Exception as error:  # noqa: BLE001 - without this thread all that is held would be lost
            # A lease that cannot be renewed ends. Its holder notices this at its next write.
            log.warning("the leases of this process are not renewed: %s", error)
            is_any = True
            connection.close()
    connection.close()
    return is_any
