"""Is this process alive, can it take callbacks, does anybody work: for monitors and people."""

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

LATE = timedelta(seconds=60)  # that a row is due and nobody takes it
COMMANDS = {Kind.WORKER: "celery -A config worker", Kind.BEAT: "celery -A config beat"}
EFFECTS = {
    Kind.WORKER: "Nothing is pushed, read or applied; nothing is lost.",
    Kind.BEAT: "Schedules do not run: the pull, the samples, the cleaning.",
}


@dataclass(frozen=True)
class Report:
    """What a person reads about a kind of process.

    Attributes:
        remedy: what to do; "" when one is alive.
    """

    kind: Heartbeat.Kind
    text: str
    remedy: str = ""
    effect: str = ""
    tone: str = "good"


def reports(now: datetime) -> list[Report]:
    """Say of workers and beat whether one is alive, and what to do where none is; one query."""
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
    """Return (queue name, workspace id) with a row due for `LATE` that no worker is at.

    A backlog that a worker drains just now moves, however long it is.
    """
    late = queues.waiting(now - LATE)
    if not late:
        return []
    # Also due now: a row far ahead is due too (a clock was wrong), and further ahead of the past.
    waiting = set(queues.waiting(now)) - lanes.busy(now)
    return [one for one in late if one in waiting]


def healthz(_: HttpRequest) -> JsonResponse:
    """Answer 200 as long as this process answers at all."""
    return JsonResponse({"status": "ok"})


def readyz(_: HttpRequest) -> JsonResponse:
    """Answer 200 when this process can take callbacks: the database takes a row of it; else 503.

    Workers do not matter: what is received without them is stored, and applied later.
    """
    try:
        heartbeat.prove(Kind.WEB, socket.gethostname(), timezone.now())
    except Error:
        return JsonResponse({"status": "the database takes nothing"}, status=503)
    return JsonResponse({"status": "ok"})


def workersz(_: HttpRequest) -> JsonResponse:
    """Answer 200 when worker and beat are alive and every queue moves; else 503 with the names."""
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
