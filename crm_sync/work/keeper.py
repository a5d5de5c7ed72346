"""Keeps what this process holds: a thread renews its slots and the leases of its rows each second.

A process that dies or is suspended renews nothing, so what it held comes free within seconds.
"""

import logging
import threading
import uuid
from collections.abc import Callable, Collection
from datetime import datetime

from django.db import Error, connection, models, transaction
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
    if _thread is not None and _thread.is_alive():
        return
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="keeper", daemon=True)
            _thread.start()


def prolong(
    model: type[models.Model], keys: Collection[int], token: uuid.UUID, until: datetime
) -> set[int]:
    """Extend the lease of these rows, and return the keys of the rows that were extended.

    A row that somebody else holds now is left out. So is one that another transaction has locked,
    which would keep the others waiting; the next round tries it again.
    """
    rows = model._default_manager.filter(pk__in=keys, lease_token=token)
    with durability.lazily(), transaction.atomic():
        found = set(rows.select_for_update(skip_locked=True).values_list("pk", flat=True))
        if found:
            rows.filter(pk__in=found).update(lease_until=until)
    return found


def _run() -> None:
    pause, idle = threading.Event(), 0
    while idle < IDLE:
        pause.wait(EVERY)
        idle = 0 if _renew(timezone.now()) else idle + 1


def _renew(now: datetime) -> bool:
    is_any = False
    for renew in RENEWALS:
        try:
            is_any |= renew(now)
        except Error as error:
            # What cannot be renewed comes free; whoever holds it sees that at its next write.
            log.warning("the leases of this process are not renewed: %s", error)
            is_any = True
            connection.close()
    connection.close()
    return is_any
