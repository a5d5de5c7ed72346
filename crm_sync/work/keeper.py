"""Keeps what this process holds: a thread renews its slots and the leases of its rows each second.

A process that dies or is suspended renews nothing, so what it held comes free within seconds.
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

EVERY = 1.0  # seconds
IDLE = 10  # rounds in which nothing is held: then the thread ends

# Each renews what is old enough, and returns whether this process holds anything of its kind.
RENEWALS: list[Callable[[datetime], bool]] = []
_lock = threading.Lock()
_thread: threading.Thread | None = None


def begin() -> None:
    """Have the thread run: something is held now. Its end, or a fork, needs no other care."""
    global _thread  # noqa: PLW0603 - there is one in a process
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="keeper", daemon=True)
            _thread.start()


def prolong(
    rows: models.QuerySet[Any], tokens: Collection[uuid.UUID], until: datetime
) -> set[tuple[int, uuid.UUID]]:
    """Extend our leases of these rows; return key and token of each that was extended.

    A row that somebody else holds now is left out. So is one that another transaction has locked,
    which would keep the others waiting; the next round tries it again.
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
                _thread = None  # whoever begins from now on starts another
                return


def _renew(now: datetime) -> bool:
    is_any = False
    for renew in RENEWALS:
        try:
            is_any |= renew(now)
        except Exception as error:  # noqa: BLE001 - without this thread all that is held would be lost
            # What cannot be renewed comes free; whoever holds it sees that at its next write.
            log.warning("the leases of this process are not renewed: %s", error)
            is_any = True
            connection.close()
    connection.close()
    return is_any
