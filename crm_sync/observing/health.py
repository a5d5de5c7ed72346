"""Health checks, for monitors and people: this process, the database, workers, beat, the broker."""

import socket
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import Error
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from crm_sync.models import Heartbeat
from crm_sync.text import span
from crm_sync.work import heartbeat, rings, slots, turn
from crm_sync.work.heartbeat import Kind, Presence

LATE = timedelta(seconds=60)  # a row that is due for longer, without a worker, is stalled
REMEDIES = {
    Kind.WORKER: "Start one with: celery -A config worker",
    Kind.BEAT: "Start one with: celery -A config beat",
    Kind.TICK: "Start it, or correct CELERY_BROKER_URL; workers and beat come back by themselves",
}
EFFECTS = {
    Kind.WORKER: "Nothing is pushed, read or applied; nothing is lost.",
    Kind.BEAT: "What was put off does not begin, and schedules do not run; nothing is lost.",
    Kind.TICK: "Nothing that is due begins; nothing is lost.",
}
# What a monitor reads. Each tick is a message: without one for so long none gets through.
NAMES = {Kind.WORKER: "worker", Kind.BEAT: "beat", Kind.TICK: "broker"}


@dataclass(frozen=True)
class HealthReport:
    """The state of a kind of process, or of the broker, in words for people.

    Attributes:
        remedy: what to do; "" when one is alive.
    """

    kind: Heartbeat.Kind
    text: str
    remedy: str = ""
    effect: str = ""
    tone: str = "good"


def reports(now: datetime) -> list[HealthReport]:
    """Return whether a worker and a beat are alive, and what to do if not; one query.

    The broker has a report of its own only while no message gets through it.
    """
    return [_report(one) for one in _presences(now)]


def _presences(now: datetime) -> list[Presence]:
    """Return those of worker and beat, and that of the tick where it is missing although both live.

    Where one of them is missing, no tick can come, whatever the broker does.
    """
    *processes, tick = heartbeat.presences(now, (*heartbeat.EXPECTED, Kind.TICK))
    is_away = tick.is_missing and not any(one.is_missing for one in processes)
    return [*processes, tick] if is_away else processes


def _report(one: Presence) -> HealthReport:
    name = one.kind.label
    if one.silence is not None and not one.is_missing:
        is_now = one.silence < timedelta(seconds=1)
        when = "just now" if is_now else f"{span(one.silence)} ago"
        return HealthReport(one.kind, f"{name} last seen {when}")
    never, lately = f"No {name.lower()} ever ran here", f"No {name.lower()} for"
    if one.kind == Kind.TICK:
        never = "No message ever came through the broker"
        lately = "No message has come through the broker for"
    text = never if one.silence is None else f"{lately} {span(one.silence)}"
    return HealthReport(one.kind, text, REMEDIES[one.kind], EFFECTS[one.kind], "danger")


def stalled(now: datetime) -> list[tuple[str, int]]:
    """Return (queue name, workspace id) wherever a row is due for `LATE` and nobody works on it.

    A backlog that a worker works on is not stalled, however long it is.
    """
    late = turn.waiting(now - LATE)
    if not late:
        return []
    # It must be due now too: `waiting` counts a row far ahead of its `now` as due (a wrong clock).
    waiting = set(turn.waiting(now)) - slots.busy(now) - rings.fresh(now)
    return [one for one in late if one in waiting]


def healthz(_: HttpRequest) -> JsonResponse:
    """Answer 200, which shows that this process is alive."""
    return JsonResponse({"status": "ok"})


def readyz(_: HttpRequest) -> JsonResponse:
    """Answer 200 if this process can store callbacks, tested by a write; else 503.

    It does not depend on workers: without them callbacks are stored, and applied later.
    """
    try:
        heartbeat.prove(Kind.WEB, socket.gethostname(), timezone.now())
    except Error:
        return JsonResponse({"status": "the database takes nothing"}, status=503)
    return JsonResponse({"status": "ok"})


def workersz(_: HttpRequest) -> JsonResponse:
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
