"""Claims from a growing backlog as JSON: python -m lab.benchmarks.claims_rounds

A line `{"queue": name, "due": rows, "claimed": rows, "milliseconds": [of each claim]}` for each
size of it.
"""

import json
import time
from datetime import timedelta

import django

django.setup()

from django.utils import timezone  # noqa: E402

from crm_sync.models import Workspace, due  # noqa: E402
from crm_sync.work import leases  # noqa: E402
from lab.benchmarks.stock import a_property, a_received_event, copies  # noqa: E402

ROUNDS, TOGETHER = 15, 48
SIZES = (1_000, 10_000, 100_000)


def main() -> None:
    """Fill up each table beside as many rows that are not due, and claim from it."""
    workspace = Workspace.objects.create(slug="main", base_url="http://platform.test")
    minute_ago = timezone.now() - timedelta(minutes=1)
    for queue, make, numbered in (
        ("edits", a_property, ("object_reference_id", "platform_id")),
        ("events", a_received_event, ("digest",)),
    ):
        copies(make(workspace, "S"), SIZES[-1], *numbered)
        there = 0
        for size in SIZES:
            row = make(workspace, f"{size}-", due_at=minute_ago)
            copies(row, size - there - 1, *numbered)
            there = size
            found = {"queue": queue, "due": size, "claimed": TOGETHER}
            print(json.dumps(found | {"milliseconds": claims(row)}), flush=True)


def claims(row: due.DueModel) -> list[float]:
    """Claim some rows and give them back, a few times; how long each claim took."""
    mine = type(row).objects.filter(workspace_id=row.workspace_id)
    took = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        found = leases.claim_some(mine, now=timezone.now(), limit=TOGETHER)
        took.append((time.perf_counter() - started) * 1000)
        assert len(found) == TOGETHER
        for claim in found:
            claim.give_back()
    return took


if __name__ == "__main__":
    main()
