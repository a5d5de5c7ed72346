"""The ticks of `tick` as JSON: python -m lab.benchmarks.tick_rounds

A line `{"what": text, "milliseconds": [of each tick]}` for each state of the database. Whatever is
due, a message waits for it already: a tick looks at all of it and sends nothing.
"""

import json
import time
from datetime import timedelta

import django

django.setup()

from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync.models import WebhookMonitor, Workspace  # noqa: E402
from crm_sync.work import rings, turn  # noqa: E402
from lab.benchmarks.stock import a_property, a_received_event, copies  # noqa: E402

ROUNDS = 30
WORKSPACES, BUSY = 1_000, 50
STOCK = 100_000
SIZES = (1_000, 10_000, 100_000)


def main() -> None:
    """Print the ticks over more and more that is due."""
    now = timezone.now()
    Workspace.objects.bulk_create(
        Workspace(slug=f"w{number}", base_url="http://platform.test", fixed_token="bench")
        for number in range(WORKSPACES)
    )
    first, *others = Workspace.objects.order_by("pk")
    WebhookMonitor.objects.bulk_create(
        WebhookMonitor(workspace=one, due_at=now + timedelta(hours=1)) for one in (first, *others)
    )
    copies(a_property(first, "S"), STOCK, "object_reference_id", "platform_id")
    ticks(f"{STOCK:,} properties, none due")
    for one in others[: BUSY - 1]:
        a_property(one, "D", due_at=now - timedelta(minutes=1))
    due_one = a_property(first, "D", due_at=now - timedelta(minutes=1))
    ticks(f"{WORKSPACES:,} workspaces, {BUSY} have something due")
    event = a_received_event(first, "D", due_at=now - timedelta(minutes=1))
    there = 1
    for size in SIZES:
        due_one.object_reference_id += f"-{size}-"
        due_one.platform_id += f"-{size}-"
        due_one.save()
        event.digest = f"{size}-"
        event.save()
        copies(due_one, size - there, "object_reference_id", "platform_id")
        copies(event, size - there, "digest")
        there = size
        ticks(f"one has {size:,} edits and {size:,} events due")


def no_message(queue: str, workspace_id: int) -> None:
    """Fail: a message waits for each of them."""
    raise AssertionError(f"a message was sent to {queue} of {workspace_id}")


def ticks(what: str) -> None:
    """Tick some times and print how long each took."""
    rings.mark(turn.waiting(timezone.now()), timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("analyze")
    took = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        assert rings.tick(timezone.now(), no_message, messages=lambda: 10**6) == []
        took.append((time.perf_counter() - started) * 1000)
    print(json.dumps({"what": what, "milliseconds": took}), flush=True)


if __name__ == "__main__":
    main()
