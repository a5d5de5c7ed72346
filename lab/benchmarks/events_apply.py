"""Stored events, applied by one process: python -m lab.benchmarks.events_apply BACKLOG…

Prints for each backlog how many a second are applied of it, as JSON; nobody analyzes the tables. A
hundred orders at a time go through their lives side by side.
"""

import hashlib
import itertools
import json
import secrets
import sys
import time
from datetime import UTC, datetime, timedelta

import django

django.setup()

from crm_sync.inbox import store  # noqa: E402 - Django is set up only now
from crm_sync.models import ReceivedEvent, Workspace  # noqa: E402
from crm_sync.work import turn  # noqa: E402
from lab.benchmarks.stock import a_received_event, copies  # noqa: E402

MOVES = ("CREATED", "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", "IN_PRODUCTION", "DELIVERED")
EACH = 2 * (len(MOVES) - 1) + 2
SIDE_BY_SIDE = 100
SECONDS, MOST = 2.0, 10_000  # it drains for so long, and so many are more than it applies in that


def main(backlogs: list[int]) -> None:
    measured(SIDE_BY_SIDE)  # what a process does once is not counted
    for backlog in backlogs:
        rate = measured(backlog)
        print(json.dumps({"backlog": backlog, "a second": rate}), flush=True)


def measured(backlog: int) -> float:
    """How many events are applied a second, of so many that wait in a workspace of their own."""
    name = f"apply-{secrets.token_hex(4)}"
    workspace = Workspace.objects.create(slug=name, base_url="http://platform.test")
    fill(workspace, min(backlog, MOST))
    if backlog > MOST:
        last = datetime.now(UTC) + timedelta(seconds=1)
        behind = a_received_event(workspace, secrets.token_hex(4), due_at=last)
        copies(behind, backlog - MOST - 1, "digest")
    began = time.perf_counter()
    counts = turn.take(store.RECEIVED_EVENTS, workspace.pk, seconds=SECONDS).counts
    seconds = time.perf_counter() - began
    if set(counts) != {"APPLIED"}:
        raise RuntimeError(counts)
    return counts["APPLIED"] / seconds


def fill(workspace: Workspace, count: int) -> None:
    """Store so many events as the endpoint does; they are due already."""
    run, now = secrets.token_hex(4), datetime.now(UTC) - timedelta(minutes=1)
    begun = now - timedelta(hours=1)
    events = (
        event(f"{run}-{order}", n, begun + timedelta(seconds=n))
        for first in range(0, count // EACH, SIDE_BY_SIDE)
        for n in range(EACH)
        for order in range(first, min(first + SIDE_BY_SIDE, count // EACH))
    )
    bodies = (json.dumps(one).encode() for one in events)
    rows = (
        ReceivedEvent(
            workspace=workspace,
            digest=hashlib.sha256(body).hexdigest(),
            body=body,
            headers={"Content-Type": "application/json"},
            method="POST",
            received_at=now + timedelta(microseconds=n),
            due_at=now + timedelta(microseconds=n),
        )
        for n, body in enumerate(bodies)
    )
    while some := list(itertools.islice(rows, 1000)):
        ReceivedEvent.objects.bulk_create(some)


def event(order: str, n: int, at: datetime) -> dict[str, str]:
    """The nth of the events of an order with one assignment."""
    fields = {"orderId": order, "occurredAt": at.isoformat()}
    if n in (0, EACH - 1):
        moves = ("PLACED", "IN_PROGRESS") if n == 0 else ("IN_PROGRESS", "COMPLETED")
        return fields | {"event": "ORDER_STATUS_UPDATED", **_move(moves)}
    fields |= {"assignmentId": f"{order}-1", "assignmentType": "PHOTO"}
    step = (n - 1) // 2
    if n % 2:
        return fields | {"event": "ASSIGNMENT_STATUS_UPDATED", **_move(MOVES[step : step + 2])}
    day = f"2026-02-0{step + 1}"
    return fields | {"event": "ESTIMATED_DELIVERY_UPDATED", "estimatedDeliveryAt": day}


def _move(moves: tuple[str, ...]) -> dict[str, str]:
    return {"previousStatus": moves[0], "newStatus": moves[1]}


if __name__ == "__main__":
    main([int(one) for one in sys.argv[1:]])
