"""Health checks, for monitors and people: this process, the database, workers and beat."""

import socket
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import Error
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from crm_sync.models import Heartbeat
from crm_sync.text import span
from crm_sync.workers import heartbeat, lanes, queues
from crm_sync.workers.heartbeat import Kind, Presence

LATE = timedelta(seconds=60)  # a row that is due for longer, without a worker, is stalled
COMMANDS = {Kind.WORKER: "celery -A config worker", Kind.BEAT: "celery -A config beat"}
EFFECTS = {
    Kind.WORKER: "Nothing is pushed, read or applied; nothing is lost.",
    Kind.BEAT: "Schedules do not run: the pull, the samples, the cleaning.",
}


@dataclass(frozen=True)
class Report:
    """The state of a kind of process, in words for people.

    Attributes:
        remedy: what to do; "" when one is alive.
    """

    kind: Heartbeat.Kind
    text: str
    remedy: str = ""
    effect: str = ""
    tone: str = "good"


def reports(now: datetime) -> list[Report]:
    """Return whether a worker and a beat are alive, and what to do if not; one query."""
    return [_report(one) for one in heartbeat.presences(now)]


def _report(one: Presence) -> Report:
    name = one.kind.label
    if one.silence is not None and not one.is_missing:
        is_now = one.silence < timedelta(seconds=1)
        when = "just now" if is_now else f"{span(one.silence)} ago"
        return Report(one.kind, f"{name} last seen {when}")
    text = f"No {name.lower()} ever ran here"
    if one.silence is not None:
        text = f"No {name.lower()} for {span(one.silence)}"
    tone = "danger" if one.kind == Kind.WORKER else "warning"
    return Report(one.kind, text, f"Start one with: {COMMANDS[one.kind]}", EFFECTS[one.kind], tone)


def stalled(now: datetime) -> list[tuple[str, int]]:
    """Return (queue name, workspace id) wherever a row is due for `LATE` and no worker drains it.

    A backlog that a worker is draining is not stalled, however long it is.
    """
    late = queues.waiting(now - LATE)
    if not late:
        return []
    # It must be due now too: `waiting` counts a row far ahead of its `now` as due (a wrong clock).
    waiting = set(queues.waiting(now)) - lanes.busy(now)
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
    """Answer 200 if a worker and a beat are alive and no queue is stalled; else 503 with names."""
    now = timezone.now()
    try:
        missing = [str(one.kind) for one in heartbeat.presences(now) if one.is_missing]
        queues = sorted({queue for queue, _ in stalled(now)})
    except Error:
        return JsonResponse({"status": "no database"}, status=503)
    if missing or queues:
        found = {"status": "work is stalled", "missing": missing, "stalled": queues}
        return JsonResponse(found, status=503)
    return JsonResponse({"status": "ok"})
