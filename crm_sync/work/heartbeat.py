"""The heartbeat: each worker and each beat has a row in which it writes when it was last alive.

`beat` may be called from any thread, as often as you like.
"""

import atexit
import logging
import os
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from celery.signals import beat_embedded_init, beat_init
from django.db import Error, connection
from django.db.models import Max
from django.utils import timezone

from crm_sync.models import Heartbeat, call_log, due

log = logging.getLogger(__name__)

Kind = Heartbeat.Kind
INTERVAL = timedelta(seconds=5)  # between two writes of one process
MISSING_AFTER = timedelta(seconds=30)  # six intervals: a database may be busy
GONE_AFTER = timedelta(hours=1)  # then the row of a process that was killed is removed
PROOF_LASTS = timedelta(seconds=1)  # calling `prove` more often costs no commit
EXPECTED = (Kind.WORKER, Kind.BEAT)  # an installation needs one of each

# By kind and name, since a process may have several: start, last attempt, last successful write.
_started: dict[tuple[str, str], datetime] = {}
_tried: dict[tuple[str, str], datetime] = {}
_written: dict[tuple[str, str], datetime] = {}
_failing: set[tuple[str, str]] = set()
_kept: set[tuple[str, str, int]] = set()  # with the process id: a forked child has no such thread
_ends = threading.Event()  # set when this process ends


@dataclass(frozen=True)
class Presence:
    """The time since any process of a kind was last alive.

    Attributes:
        silence: this time, or None if no such process ever ran here.
    """

    kind: Heartbeat.Kind
    silence: timedelta | None

    @property
    def is_missing(self) -> bool:
        """Whether no process is alive. A restart takes less time than MISSING_AFTER."""
        return self.silence is None or self.silence > MISSING_AFTER


def forget() -> None:
    """Forget what this process has written, as if it had just started."""
    for known in (_started, _tried, _written, _failing):
        known.clear()


def beat(kind: str, name: str, now: datetime) -> bool:
    """Record that this process is alive; return True when a row was written.

    It writes at most once in `INTERVAL`, and never inside a transaction of the caller. If the
    database fails, this is logged once, and once more when it works again.

    Args:
        name: unique among processes of its kind: Celery's hostname, or host and process id.
    """
    key = (kind, name)
    if _is_early(_tried.get(key), now, INTERVAL) or _ends.is_set() or connection.in_atomic_block:
        return False
    _tried[key] = now  # before the write: threads of one process share the interval
    try:
        _write(key, now)
    except Error as error:
        connection.close_if_unusable_or_obsolete()
        if key not in _failing:
            _failing.add(key)
            log.warning("the heartbeat of %s %s is not written: %s", kind, name, error)
        return False
    if key in _failing:
        _failing.discard(key)
        log.warning("the heartbeat of %s %s is written again", kind, name)
    return True


def prove(kind: str, name: str, now: datetime) -> None:
    """Prove that this process can write. A write within `PROOF_LASTS` is enough.

    Raises:
        django.db.Error: the database refuses the write.
    """
    if not _is_early(_written.get((kind, name)), now, PROOF_LASTS):
        _write((kind, name), now)


def _is_early(last: datetime | None, now: datetime, pause: timedelta) -> bool:
    # After the clock was set back, write again.
    return last is not None and last <= now < last + pause


def _write(key: tuple[str, str], now: datetime) -> None:
    """Insert or update our row; the first time also remove old rows."""
    kind, name = key
    is_first = key not in _written
    started_at = _started.setdefault(key, now)
    row = Heartbeat(kind=kind, name=name, started_at=started_at, seen_at=now, stopped_at=None)
    Heartbeat.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["kind", "name"],
        update_fields=["started_at", "seen_at", "stopped_at"],
    )
    if is_first:
        Heartbeat.objects.filter(kind=kind, seen_at__lt=now - GONE_AFTER).delete()
    _written[key] = now


def leave(kind: str, name: str, now: datetime) -> None:
    """Record that this process ends normally, so that it is not reported as dead."""
    try:
        Heartbeat.objects.filter(kind=kind, name=name).update(stopped_at=now)
    except Error as error:
        log.warning("could not record the end of %s %s: %s", kind, name, error)


def presences(now: datetime, kinds: Sequence[Kind] = EXPECTED) -> list[Presence]:
    """Return the presence of each of these kinds, in one query."""
    # A later one was written by a clock that ran ahead (I29).
    sane = Heartbeat.objects.filter(seen_at__lte=now + due.LONGEST_LEASE)
    rows = sane.values_list("kind").annotate(Max("seen_at")).order_by()
    seen: dict[str, datetime] = dict(rows)
    silence = {kind: max(now - last, timedelta(0)) for kind, last in seen.items()}
    return [Presence(kind, silence.get(kind)) for kind in kinds]


def died(now: datetime) -> list[Heartbeat]:
    """Return the workers and beats that died in the last hour: silent, without a recorded end."""
    unended = Heartbeat.objects.filter(kind__in=EXPECTED, stopped_at=None)
    recent = unended.filter(seen_at__lt=now - MISSING_AFTER, seen_at__gte=now - GONE_AFTER)
    return list(recent.order_by("-seen_at", "pk"))


def keep(kind: str, name: str) -> None:
    """Start one thread for each name, which beats until this process ends."""
    if (kind, name, os.getpid()) in _kept:
        return
    _kept.add((kind, name, os.getpid()))
    thread = threading.Thread(target=_run, args=(kind, name), name="heartbeat", daemon=True)
    thread.start()
    atexit.register(_end, kind, name, thread)


def _run(kind: str, name: str) -> None:
    while True:
        try:
            beat(kind, name, timezone.now())
            call_log.flush()
        except Exception:  # the driver may raise an error that is not a Django error
            log.exception("the heartbeat of %s %s goes on", kind, name)
        connection.close()  # so that no connection is open while a pool forks
        if _ends.wait(1):
            return


def _end(kind: str, name: str, thread: threading.Thread) -> None:
    if thread.is_alive():  # not in a child that was forked after `keep`
        _ends.set()
        thread.join(timeout=2)
        leave(kind, name, timezone.now())


def _beat_is_ready(**_: Any) -> None:
    keep(Kind.BEAT, f"beat@{socket.gethostname()}")


beat_init.connect(_beat_is_ready)
beat_embedded_init.connect(_beat_is_ready)
