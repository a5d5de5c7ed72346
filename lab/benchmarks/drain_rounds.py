"""The rounds of `drain` as JSON: python -m lab.benchmarks.drain_rounds SANDBOX

A line `{"kind": "plain" or "slow", "rows": due, "drained": [a second], "bare": [a second]}` for
each measurement.
"""

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from urllib.parse import quote

import django
import requests

django.setup()

from django.utils import timezone  # noqa: E402

from crm_sync.models import Workspace  # noqa: E402
from crm_sync.work import queues  # noqa: E402
from crm_sync.work.local import Local  # noqa: E402
from properties.models import Property  # noqa: E402
from properties.push.queue import PROPERTIES  # noqa: E402

TOKEN = os.environ["BENCH_TOKEN"]
THREADS = 16
OURS = 4_000  # properties; the others of the sandbox are for the bare calls: no conflicts
# Kind, seconds of each answer, due rows, rounds, and whether bare calls are made beside them: half
# of them before and half after, since a machine is not always as fast.
MEASUREMENTS = (
    ("plain", 0.0, 1_000, 1, False),
    ("plain", 0.0, 4_000, 1, True),
    ("slow", 0.05, 600, 2, True),
)
LIST = "v1/real-estate-properties"


def main(sandbox: str) -> None:
    """Print what each measurement gave, with and without bare calls beside it."""
    workspace = Workspace.objects.create(
        slug="main", base_url=sandbox, fixed_token=TOKEN, max_under_way=THREADS + PROPERTIES.leave
    )
    mirror(workspace, sandbox, OURS)
    for kind, seconds, count, rounds, is_beside in MEASUREMENTS:
        rules = [{"fault": "SLOW", "seconds": seconds}] if seconds else []
        faults = requests.post(f"{sandbox}/_sandbox/faults", json={"rules": rules}, timeout=60)
        faults.raise_for_status()
        found: dict[str, list[float]] = {"drained": [], "bare": []}
        for number in range(rounds):
            word = f"{kind} {count} {number}"
            half = range(OURS, OURS + count // 2) if is_beside else range(0)
            seconds_bare = bare(sandbox, f"before {word}", half)
            found["drained"].append(count / drained(workspace, sandbox, word, count))
            seconds_bare += bare(sandbox, f"after {word}", half)
            if is_beside:
                found["bare"].append(2 * len(half) / seconds_bare)
        print(json.dumps({"kind": kind, "rows": count} | found), flush=True)


def mirror(workspace: Workspace, sandbox: str, rows: int) -> None:
    """Mirror what the sandbox holds, as after a complete pull."""
    state = requests.get(f"{sandbox}/_sandbox/state", timeout=60).json()
    there = {one["objectReferenceId"]: one for one in state["properties"].values()}
    documents = [there[f"BENCH-{number}"] for number in range(rows)]
    rows = (
        Property(
            workspace=workspace,
            object_reference_id=document["objectReferenceId"],
            platform_id=document["id"],
            desired=document,
            observed=document,
        )
        for document in documents
    )
    # One statement for all would take longer to write than PostgreSQL lets a transaction rest.
    Property.objects.bulk_create(rows, batch_size=500)


def drained(workspace: Workspace, sandbox: str, word: str, count: int) -> float:
    """Make `count` rows due with a new title, drain them; the seconds that it took."""
    rows = list(Property.objects.order_by("pk")[:count])
    for row in rows:
        row.desired["title"] = f"{word}, {row.object_reference_id}"
        row.revision += 1
        row.due_at = timezone.now()
    Property.objects.bulk_update(rows, ["desired", "revision", "due_at"], batch_size=200)
    started = time.monotonic()
    turns = Local()
    worker = threading.Thread(target=turns.run)
    worker.start()
    while Property.objects.filter(due_at__isnull=False).exists():
        time.sleep(0.05)
    seconds = time.monotonic() - started
    queues.ending.set()
    worker.join()
    queues.ending.clear()
    there = requests.get(f"{sandbox}/_sandbox/state", timeout=60).json()["properties"]
    assert all(there[row.platform_id]["title"] == row.desired["title"] for row in rows)
    return seconds


def bare(sandbox: str, word: str, numbers: range) -> float:
    """GET and PATCH these properties with `requests` alone; the seconds that it took."""
    keys: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    for number in numbers:
        keys.put(f"BENCH-{number}")

    def calls() -> None:
        session = requests.Session()
        session.headers["Authorization"] = f"Bearer {TOKEN}"
        while (key := keys.get()) is not None:
            url = f"{sandbox}/{LIST}/by-reference/{quote(key)}"
            session.get(url, timeout=20).json()
            session.patch(url, json={"title": f"{word}, {key}"}, timeout=20).json()

    return timed(calls, lambda: keys.put(None))


def timed(work: Callable[[], None], last: Callable[[], None]) -> float:
    """Run `work` in each of the threads until all of it is done."""
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for _ in threads:
        last()
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - started


if __name__ == "__main__":
    main(sys.argv[1])
