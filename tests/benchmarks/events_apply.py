"""Stored events, applied by one process: python -m tests.benchmarks.events_apply COUNT

Prints how many that were a second, as JSON. The orders go through their lives side by side.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from datetime import UTC, datetime, timedelta

import django

django.setup()

from crm_sync import inbox  # noqa: E402 - Django is set up only now
from crm_sync.models import Delivery, Workspace  # noqa: E402

MOVES = ("CREATED", "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", "IN_PRODUCTION", "DELIVERED")
EACH = 2 * (len(MOVES) - 1) + 2


def main(count: int) -> None:
    workspace = Workspace.objects.get()
    Delivery.objects.filter(due_at__isnull=False).update(due_at=None, state="APPLIED")
    run, now = secrets.token_hex(4), datetime.now(UTC)
    for n in range(EACH):
        for order in range(count // EACH):
            body = json.dumps(event(f"{run}-{order}", n, now - timedelta(hours=1, seconds=-n)))
            inbox.store(
                workspace.pk,
                body.encode(),
                headers={"Content-Type": "application/json"},
                method="POST",
                source=Delivery.Source.CALLBACK,
                now=datetime.now(UTC),
            )
    began = time.monotonic()
    counts = inbox.drain(workspace.pk, 120.0).counts
    seconds = time.monotonic() - began
    if counts != {"APPLIED": count // EACH * EACH}:
        raise RuntimeError(counts)
    print(json.dumps({"a second": count / seconds}))


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
    main(int(sys.argv[1]))
