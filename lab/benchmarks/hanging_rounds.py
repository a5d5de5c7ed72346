"""Edits beside what hangs: python -m lab.benchmarks.hanging_rounds SANDBOX

Prints a line of JSON for each situation: `{"what": text, "seconds": [of each try]}`; for
creations the ratio of the time taken to the time that the slots allow.
"""

import json
import socket
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import django
import requests

django.setup()

from django.conf import settings  # noqa: E402 - Django is set up only now
from django.utils import timezone  # noqa: E402

from crm_sync.models import Heartbeat, Workspace  # noqa: E402
from properties.domain.editing import create, edit  # noqa: E402
from properties.models import Property  # noqa: E402
from properties.models.change import Origin  # noqa: E402
from properties.push.queue import PROPERTIES  # noqa: E402
from tests.processes import TOKEN, wait_until  # noqa: E402

PATIENCE = 120.0  # seconds
HANGS = 60.0  # seconds; longer than a call may take
EDITED, HANGING = 8, 2  # properties
NEIGHBOURS, THEIRS = 40, 10  # workspaces whose platform hangs, and what is due in each
BACKLOG, SLOW = 2_000, 0.2  # rows of a feed, and seconds of each answer
CREATED, ANSWER = 1_000, 0.05


def main(sandbox: str) -> None:
    """Print how long each kind of edit waited."""
    wait_until("a worker, beat and its tick", lambda: Heartbeat.objects.count() >= 3, limit=60)
    for what, situation in SITUATIONS.items():
        faults(sandbox)
        print(json.dumps({"what": what, "seconds": list(situation(sandbox))}), flush=True)
        # What is left of it stands still, and no longer counts.
        Workspace.objects.update(paused_until=timezone.now() + timedelta(days=1))


def beside_two_that_hang(sandbox: str) -> Iterator[float]:
    """Two properties whose calls hang are edited first."""
    workspace = workspace_at("two", sandbox)
    rows = mirrored(workspace, sandbox, range(EDITED + HANGING))
    faults(sandbox, *(slow(HANGS, f"BENCH-{number}") for number in range(HANGING)))
    for row in rows:
        typed(row)
    yield until_pushed([row.pk for row in rows[HANGING:]])


def beside_workspaces_that_hang(sandbox: str) -> Iterator[float]:
    """Many workspaces have a platform that takes every call and answers none."""
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for number in range(NEIGHBOURS):
            neighbour = workspace_at(f"hangs-{number}", address)
            for key in range(THEIRS):
                create(neighbour, f"N-{key}", {"title": "New"}, origin="API", now=timezone.now())
        time.sleep(2)  # all of them are in their calls
        workspace = workspace_at("healthy", sandbox)
        for row in mirrored(workspace, sandbox, range(20, 25)):
            typed(row)
            yield until_pushed([row.pk])
            time.sleep(1)


def beside_a_backlog(sandbox: str) -> Iterator[float]:
    """A feed has made many rows due in the same workspace."""
    workspace = workspace_at("backlog", sandbox)
    first, *rows = mirrored(workspace, sandbox, range(100, 100 + BACKLOG + 3))
    faults(sandbox, slow(SLOW, "*"))
    fed = [row.pk for row in rows[:BACKLOG]]
    Property.objects.filter(pk__in=fed).update(due_at=timezone.now())
    time.sleep(3)
    for row in [first, *rows[BACKLOG:]]:
        typed(row)
        yield until_pushed([row.pk])


def creations(sandbox: str) -> Iterator[float]:
    """A thousand are created, each with a GET and a POST, of which a few hang."""
    hanging = CREATED // 100
    slots = Workspace._meta.get_field("max_under_way").default - PROPERTIES.leave
    took = created(sandbox, hanging)
    yield took * slots / (CREATED * 2 * ANSWER + hanging * settings.CALL_DEADLINE)


SITUATIONS: dict[str, Callable[[str], Iterator[float]]] = {
    "8 edits beside 2 that hang": beside_two_that_hang,
    "an edit beside 40 workspaces that hang": beside_workspaces_that_hang,
    "a person's edit beside 2,000 due rows": beside_a_backlog,
    "1,000 creations, one in a hundred hangs: the others": creations,
}


def created(sandbox: str, hanging: int) -> float:
    """Create properties of which so many hang once; the seconds until all others are there."""
    hangs = [slow(HANGS, f"new-{number * 100}", times=1) for number in range(hanging)]
    faults(sandbox, *hangs, slow(ANSWER, "*"))
    workspace = workspace_at("creations", sandbox)
    now = timezone.now()
    rows = [
        Property(
            workspace=workspace,
            object_reference_id=f"new-{number}",
            desired={"objectReferenceId": f"new-{number}", "title": "New"},
            revision=1,
            due_at=now,
        )
        for number in range(CREATED)
    ]
    pks = [row.pk for row in Property.objects.bulk_create(rows)]
    stuck = {pks[number * 100] for number in range(hanging)}
    seconds = until_pushed([pk for pk in pks if pk not in stuck], limit=10 * PATIENCE)
    return seconds


def workspace_at(slug: str, address: str) -> Workspace:
    """Make a workspace with no more than the default of calls."""
    return Workspace.objects.create(slug=slug, base_url=address, fixed_token=TOKEN)


def mirrored(workspace: Workspace, sandbox: str, numbers: range) -> list[Property]:
    """Mirror properties of the sandbox, with a title of ours that is not pushed yet."""
    state = requests.get(f"{sandbox}/_sandbox/state", timeout=60).json()
    there = {one["objectReferenceId"]: one for one in state["properties"].values()}
    documents = [there[f"BENCH-{number}"] for number in numbers]
    return Property.objects.bulk_create(
        Property(
            workspace=workspace,
            object_reference_id=document["objectReferenceId"],
            platform_id=document["id"],
            desired=document | {"title": "Fed"},
            observed=document,
            revision=1,
        )
        for document in documents
    )


def typed(row: Property) -> None:
    """Edit it as a person does."""
    edit(row, {"title": "Typed"}, origin=Origin.ADMIN, now=timezone.now())


def until_pushed(pks: list[int], *, limit: float = PATIENCE) -> float:
    """Wait until the platform has all of these; the seconds that it took."""
    started = time.monotonic()
    open_ones = Property.objects.filter(pk__in=pks, due_at__isnull=False)
    while open_ones.exists() and time.monotonic() < started + limit:
        time.sleep(0.05)
    return time.monotonic() - started


def slow(seconds: float, reference: str, **options: object) -> dict[str, object]:
    """Return the rule by which calls of these references are answered late."""
    return {"fault": "SLOW", "seconds": seconds, "path": f"*/by-reference/{reference}", **options}


def faults(sandbox: str, *rules: dict[str, object]) -> None:
    """Put these rules in force, and no others."""
    done = requests.post(f"{sandbox}/_sandbox/faults", json={"rules": rules}, timeout=60)
    done.raise_for_status()


if __name__ == "__main__":
    main(sys.argv[1])
