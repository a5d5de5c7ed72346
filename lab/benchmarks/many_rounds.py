"""Many workspaces under two workers: python -m lab.benchmarks.many_rounds SANDBOX JOURNAL

Prints as JSON, in seconds: `{"rows": due in each of some workspaces, "begun": [until its first call
to the platform, of each]}`, and at the end `{"late": [of each poll of a webhook]}`.
"""

import json
import re
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import django
import requests

django.setup()

from django.db.models import F  # noqa: E402 - Django is set up only now
from django.utils import timezone  # noqa: E402

from crm_sync.models import Heartbeat, WebhookMonitor, Workspace  # noqa: E402
from properties.models import Property  # noqa: E402
from tests.processes import TOKEN, wait_until  # noqa: E402

WORKSPACES, BUSY = 1_000, 50
FEW, MUCH = 1, 20  # rows that are due in each of the busy ones
PACE = timedelta(seconds=60)  # between two polls of a webhook
WINDOW = timedelta(seconds=12)  # in which polls are awaited
PATIENCE = timedelta(seconds=60)
REFERENCE = re.compile(rb"BENCH-(\d+)")


def main(sandbox: str, journal: Path) -> None:
    """Let rows come due while the webhooks are polled in their turn."""
    busy = workspaces(sandbox)
    groups = list(mirrored(busy, sandbox))
    # A worker that begins has all webhooks polled at once: so these come after its second beat.
    alive = Heartbeat.objects.filter(seen_at__gt=F("started_at"))
    wait_until("two workers, beat and its tick", lambda: alive.count() >= 4, limit=60)
    scheduled = polls()
    for rows in groups:
        print(json.dumps({"rows": len(rows) // BUSY, "begun": begun(rows, journal)}), flush=True)
    late = lateness(scheduled)
    print(json.dumps({"late": late}), flush=True)


def workspaces(sandbox: str) -> list[Workspace]:
    """Make all of them; those in which something comes due."""
    configuration = {"url": "http://127.0.0.1:9/", "method": "POST", "enabled": True}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    put = requests.put(f"{sandbox}/v1/webhooks", json=configuration, headers=headers, timeout=20)
    put.raise_for_status()
    Workspace.objects.bulk_create(
        Workspace(slug=f"w{number}", base_url=sandbox, fixed_token=TOKEN)
        for number in range(WORKSPACES)
    )
    return list(Workspace.objects.order_by("pk")[:BUSY])


def mirrored(busy: list[Workspace], sandbox: str) -> Iterator[list[Property]]:
    """Mirror properties of the sandbox in each of them, first few, then much."""
    state = requests.get(f"{sandbox}/_sandbox/state", timeout=60).json()
    there = {one["objectReferenceId"]: one for one in state["properties"].values()}
    numbers = iter(range(len(busy) * (FEW + MUCH)))
    for each in (FEW, MUCH):
        rows = []
        for workspace in [one for one in busy for _ in range(each)]:
            document = there[f"BENCH-{next(numbers)}"]
            rows.append(
                Property(
                    workspace=workspace,
                    object_reference_id=document["objectReferenceId"],
                    platform_id=document["id"],
                    desired=document | {"title": "Changed"},
                    observed=document,
                    revision=1,
                )
            )
        yield Property.objects.bulk_create(rows)


def polls() -> dict[int, datetime]:
    """Spread the polls of all webhooks over their pace; monitor → when, of those in the window."""
    first = timezone.now() + timedelta(seconds=1)
    monitors = WebhookMonitor.objects.bulk_create(
        WebhookMonitor(workspace=workspace, due_at=first + PACE * number / WORKSPACES)
        for number, workspace in enumerate(Workspace.objects.order_by("?"))
    )
    return {one.pk: one.due_at for one in monitors if one.due_at < first + WINDOW}


def begun(rows: list[Property], journal: Path) -> list[float]:
    """Make the rows due, without a ring; how long until each workspace made its first call."""
    owners = {int(one.object_reference_id.removeprefix("BENCH-")): one.workspace_id for one in rows}
    due_at = timezone.now()
    mine = Property.objects.filter(pk__in=[one.pk for one in rows])
    mine.update(due_at=due_at)
    first: dict[int, float] = {}
    with journal.open("rb") as lines:
        while len(first) < BUSY and timezone.now() < due_at + PATIENCE:
            for line in lines:
                found = REFERENCE.search(line)
                owner = owners.get(int(found[1])) if found else None
                if owner is not None:
                    first.setdefault(owner, json.loads(line)["began"] - due_at.timestamp())
            time.sleep(0.1)
    missing = [PATIENCE.total_seconds()] * (BUSY - len(first))
    return sorted(first.values()) + missing


def lateness(scheduled: dict[int, datetime]) -> list[float]:
    """Wait until all of these polls are done; how late each was."""
    limit = timezone.now() + WINDOW + PATIENCE
    mine = WebhookMonitor.objects.filter(pk__in=scheduled)
    while mine.filter(polled_at=None).exists() and timezone.now() < limit:
        time.sleep(0.2)
    now = timezone.now()
    polled = dict(mine.values_list("pk", "polled_at"))
    late = [((polled[pk] or now) - when).total_seconds() for pk, when in scheduled.items()]
    return sorted(late)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
