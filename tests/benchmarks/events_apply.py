"""Stored events, applied by one process: python -m tests.benchmarks.events_apply BACKLOG LAST

Prints how many the last ones of the backlog were a second, as JSON. A hundred orders at a time go
through their lives side by side.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import secrets
import sys
from datetime import UTC, datetime, timedelta

import django

django.setup()

from django.db import connection  # noqa: E402 - Django is set up only now
from django.db.models import F  # noqa: E402

from crm_sync import inbox  # noqa: E402 - Django is set up only now
from crm_sync.models import Delivery, Workspace  # noqa: E402

MOVES = ("CREATED", "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", "IN_PRODUCTION", "DELIVERED")
EACH = 2 * (len(MOVES) - 1) + 2
SIDE_BY_SIDE = 100


def main(backlog: int, last: int) -> None:
    workspace = Workspace.objects.get()
    left = Delivery.objects.filter(due_at__isnull=False)
    left.update(due_at=None, state="APPLIED", canonical_digest=F("digest"))
    fill(workspace, backlog)
    with connection.cursor() as cursor:
        cursor.execute("analyze")  # as autovacuum does within a minute
    counts = inbox.DELIVERIES.drain(workspace.pk, 600.0).counts
    ended = datetime.now(UTC)
    if counts != {"APPLIED": backlog}:
        raise RuntimeError(counts)
    newest = Delivery.objects.order_by("-pk").values_list("applied_at", flat=True)
    seconds = (ended - newest[last - 1]).total_seconds()
    print(json.dumps({"a second": last / seconds}))


def fill(workspace: Workspace, count: int) -> None:
    """Store so many events as the endpoint does."""
    run, now = secrets.token_hex(4), datetime.now(UTC)
    begun = now - timedelta(hours=1)
    told = (
        event(f"{run}-{order}", n, begun + timedelta(seconds=n))
        for first in range(0, count // EACH, SIDE_BY_SIDE)
        for n in range(EACH)
        for order in range(first, min(first + SIDE_BY_SIDE, count // EACH))
    )
    bodies = (json.dumps(one).encode() for one in told)
    rows = (
        Delivery(
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
        Delivery.objects.bulk_create(some)


def event(order: str, n: int, at: datetime) -> dict[str, str]:
    """The nth of the events of an order with one assignment."""
    told = {"orderId": order, "occurredAt": at.isoformat()}
    if n in (0, EACH - 1):
        moves = ("PLACED", "IN_PROGRESS") if n == 0 else ("IN_PROGRESS", "COMPLETED")
        return told | {"event": "ORDER_STATUS_UPDATED", **_move(moves)}
    told |= {"assignmentId": f"{order}-1", "assignmentType": "PHOTO"}
    step = (n - 1) // 2
    if n % 2:
        return told | {"event": "ASSIGNMENT_STATUS_UPDATED", **_move(MOVES[step : step + 2])}
    day = f"2026-02-0{step + 1}"
    return told | {"event": "ESTIMATED_DELIVERY_UPDATED", "estimatedDeliveryAt": day}


def _move(moves: tuple[str, ...]) -> dict[str, str]:
    return {"previousStatus": moves[0], "newStatus": moves[1]}


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
