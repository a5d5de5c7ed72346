"""Health checks for monitors and people: this process, the database, workers, beat, the broker."""

import shutil
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.installed import command
from crm_sync.models import Heartbeat
from crm_sync.text import counted
from crm_sync.translated import Text, ago, span
from crm_sync.work import heartbeat, slots, turn
from crm_sync.work.heartbeat import Kind, Presence

MEBIBYTE = 1024**2
LEAST_FREE = 100 * MEBIBYTE  # bytes of the disk of DATA_DIR; with less it counts as full
LATE = timedelta(seconds=60)  # a row that is due for longer, without a worker, is stalled
# Texts about a kind: one is alive, none was ever alive, none for some time.
TEXTS: dict[Kind, tuple[Text, Text, Text]] = {
    Kind.WORKER: (
        _("Worker last seen %(when)s"),
        _("No worker ever ran here"),
        _("No worker for %(span)s"),
    ),
    Kind.BEAT: (
        _("Beat last seen %(when)s"),
        _("No beat ever ran here"),
        _("No beat for %(span)s"),
    ),
    Kind.TICK: (
        _("Tick last seen %(when)s"),
        _("No message ever came through the broker"),
        _("No message has come through the broker for %(span)s"),
    ),
}
REMEDIES: dict[Kind, Text] = {
    Kind.WORKER: _("Start one with: %(command)s"),
    Kind.BEAT: _("Start one with: %(command)s"),
    Kind.TICK: _(
        "Start it, or correct CELERY_BROKER_URL; workers and beat come back by themselves"
    ),
}
EFFECTS: dict[Kind, Text] = {
    Kind.WORKER: _("Nothing is pushed, read or applied; nothing is lost."),
    Kind.BEAT: _("What was put off does not begin, and schedules do not run; nothing is lost."),
    Kind.TICK: _("Nothing that is due begins; nothing is lost."),
}
# Names for monitors. Each tick is a message, so a missing tick means that the broker fails.
NAMES = {Kind.WORKER: "worker", Kind.BEAT: "beat", Kind.TICK: "broker"}


@dataclass(frozen=True)
class HealthReport:
    """The state of a kind of process, or of the broker, in words for people.

    Attributes:
        remedy: what to do, "" if a process is alive.
    """

    kind: Heartbeat.Kind
    text: str
    remedy: str = ""
    effect: str = ""
    tone: str = "good"


def reports(now: datetime) -> list[HealthReport]:
    """Return whether a worker and a beat are alive, and what to do if not. One query.

    The broker has its own report only while it delivers no message.
    """
    return [_report(one) for one in _presences(now)]


def _presences(now: datetime) -> list[Presence]:
    """Return the presences of worker and beat; add the tick if only the tick is missing.

    If worker or beat is missing, there is no tick, even if the broker works.
    """
    *processes, tick = heartbeat.presences(now, (*heartbeat.EXPECTED, Kind.TICK))
    is_away = tick.is_missing and not any(one.is_missing for one in processes)
    return [*processes, tick] if is_away else processes


def _report(one: Presence) -> HealthReport:
    alive, never, silent = TEXTS[one.kind]
    if one.silence is not None and not one.is_missing:
        return HealthReport(one.kind, alive % {"when": ago(one.silence)})
    text = str(never) if one.silence is None else silent % {"span": span(one.silence)}
    remedy = REMEDIES[one.kind] % {"command": command(f"run {NAMES[one.kind]}")}
    return HealthReport(one.kind, text, remedy, str(EFFECTS[one.kind]), "danger")


def stalled(now: datetime) -> list[tuple[str, int]]:
    """Return (queue name, workspace id) of rows that are due for `LATE` without any worker.

    A backlog that a worker works on is not stalled, even if it is long.
    """
    late = turn.waiting(now - LATE)
    if not late:
        return []
    # It must be due now too: `waiting` treats a row far ahead of its `now` as due (a wrong clock).
    waiting = set(turn.waiting(now)) - slots.worked_on(now - LATE, now)
    return [one for one in late if one in waiting]


class MigrationsMissing(Exception):
    """The database is older than this version."""


def free_space() -> int:
    """Return how many bytes are free on the disk of DATA_DIR, where SQLite and uploads are.

    Raises:
        OSError: there is no such folder.
    """
    return shutil.disk_usage(settings.DATA_DIR).free


def unapplied() -> list[str]:
    """Return the migrations that the database lacks, such as "crm_sync 0001_initial"."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{one.app_label} {one.name}" for one, _ in plan]


@lru_cache(maxsize=1)  # of no migration: a process asks until none is missing
def _require_migrations(_minute: int) -> None:
    """Look once a minute: an older backup may have taken the place of the database."""
    if missing := unapplied():
        raise MigrationsMissing(f"the database lacks {counted(len(missing), 'migration')}")


def healthz(_request: HttpRequest) -> JsonResponse:
    """Answer 200: this process is alive."""
    return JsonResponse({"status": "ok"})


def readyz(_request: HttpRequest) -> JsonResponse:
    """Answer 200 if this process can store callbacks, tested by a write; else 503.

    It does not depend on workers: without them, callbacks are stored and applied later.
    """
    now = timezone.now()
    try:
        _require_migrations(int(now.timestamp() // 60))
        heartbeat.prove(Kind.WEB, socket.gethostname(), now)
    except MigrationsMissing as error:
        return JsonResponse({"status": str(error)}, status=503)
    except Error:
        return JsonResponse({"status": "the database takes nothing"}, status=503)
    return JsonResponse({"status": "ok"})


def workersz(_request: HttpRequest) -> JsonResponse:
    """Answer 200 if worker, beat and broker live and no queue is stalled; else 503 with names."""
    now = timezone.now()
    try:
        missing = [NAMES[one.kind] for one in _presences(now) if one.is_missing]
        queues = sorted({queue for queue, _ in stalled(now)})
    except Error:
        return JsonResponse({"status": "no database"}, status=503)
    if missing or queues:
        found = {"status": "work is stalled", "missing": missing, "stalled": queues}
        return JsonResponse(found, status=503)
    return JsonResponse({"status": "ok"})
