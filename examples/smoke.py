"""Checks that both sides end in the same state: our rows and the sandbox's (make smoke)."""

import time
from collections.abc import Iterator
from typing import Any

import requests
from django.utils import timezone
from rich.console import Console
from rich.table import Table

from crm_sync.models import ReceivedEvent
from crm_sync.work import turn
from orders.models import Assignment, Material, MaterialFile, Order
from properties.catalog import equal
from properties.models import Property

Row = tuple[str, str, str, bool]  # what, here, there, fine


def check(sandbox: str, *, limit: float) -> int:
    """Wait until the order is finished and nothing is due, print a table; return 0 if all agree."""
    end = time.monotonic() + limit
    while time.monotonic() < end and not is_finished():
        time.sleep(0.5)
    state = requests.get(f"{sandbox}/_sandbox/state", timeout=10).json()
    rows = list(compare(state))
    table = Table("what", "here", "on the platform", "")
    for what, here, there, fine in rows:
        table.add_row(what, here, there, "ok" if fine else "DIFFERS")
    Console(width=110).print(table)
    bad = sum(not fine for *_, fine in rows)
    print(f"{len(rows) - bad} passed, {bad} failed")
    return 1 if bad else 0


def is_finished() -> bool:
    order = Order.objects.first()
    if order is None or order.status != "COMPLETED" or turn.waiting(timezone.now()):
        return False
    # A leased file is not in `waiting`, but not stored yet either.
    return not MaterialFile.objects.filter(due_at__isnull=False).exists()


def compare(state: dict[str, Any]) -> Iterator[Row]:
    """Yield one row for each thing that must be the same on both sides."""
    for row in Property.objects.order_by("pk"):
        there = state["properties"].get(str(row.platform_id), {})
        same = all(equal(name, value, there.get(name)) for name, value in row.desired.items())
        what = f"property {row}"
        yield what, f"{len(row.desired)} fields", f"{len(there)} fields", same and bool(there)
    for order in Order.objects.order_by("pk"):
        there = state["orders"].get(order.platform_id, {})
        yield (
            f"order {order.platform_id}",
            order.status,
            there.get("status", "none"),
            (order.status == there.get("status") == "COMPLETED"),
        )
    for assignment in Assignment.objects.order_by("pk"):
        there = state["assignments"].get(assignment.platform_id, {})
        yield (
            f"assignment {assignment.platform_id}",
            assignment.status,
            there.get("status", ""),
            (assignment.status == there.get("status") == "DELIVERED"),
        )
    not_applied = ReceivedEvent.objects.exclude(state__in=["APPLIED", "DUPLICATE", "STALE"])
    received = ReceivedEvent.objects.count()
    yield (
        "callbacks",
        f"{received} received",
        f"{not_applied.count()} not applied",
        (received > 0 and not not_applied.exists()),
    )
    materials = Material.objects.count()
    yield "materials", f"{materials} known", "", materials > 0
    wanted, stored = MaterialFile.objects.count(), MaterialFile.objects.exclude(name="").count()
    yield "files", f"{stored} stored", f"{wanted} wanted", 0 < wanted == stored
    waiting = turn.waiting(timezone.now())
    yield "due", f"{len(waiting)} queues", "", not waiting
