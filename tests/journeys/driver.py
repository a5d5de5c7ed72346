"""What a person does while a test kills the worker: python -m tests.journeys.driver STEP

setup      a workspace with its webhook, ten properties, three orders; prints as JSON what one
           snapshot sees before and after another connection writes
edit FILE  edits, one every 50 ms, until the file is there
audit FILE audits, five in a second, until the file is there, and one more; prints how many
rows N M   a workspace with at most M requests under way, and N properties in step that are edited
again      edits each of them once more
verdict    prints as JSON what is due, what is held, and what differs from the sandbox
"""

import json
import os
import random
import sys
import threading
import time
from io import StringIO
from pathlib import Path

import django
import requests

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.core.management import call_command  # noqa: E402 - Django is set up only now
from django.db import connection  # noqa: E402
from django.utils.timezone import now  # noqa: E402

from crm_sync import hooks  # noqa: E402
from crm_sync.integrity import audit  # noqa: E402
from crm_sync.models import ReceivedEvent, Workspace  # noqa: E402
from crm_sync.work import turn  # noqa: E402
from orders.models import Assignment, Order  # noqa: E402
from properties.domain.editing import create, edit  # noqa: E402
from properties.models import Conflict, Property  # noqa: E402

COUNT = 10
START = {"title": "New", "numberOfRooms": 1}


def setup() -> None:
    sandbox = os.environ["SANDBOX_URL"]
    call_command("add_workspace", "main", base_url=sandbox, token_env="PLATFORM_TOKEN")
    call_command("configure_webhook", "main")
    workspace = Workspace.objects.get()
    for n in range(COUNT):
        create(workspace, f"K-{n}", START, origin="API", now=now())
    call_command("push_properties", "main")
    for n in range(3):
        order = f"main --reference K-{n} --user AGENT-1 --product GROUND_PHOTO --product FLOOR_PLAN"
        call_command("place_order", *order.split())


def rows(count: int, limit: int) -> None:
    sandbox = os.environ["SANDBOX_URL"]
    call_command("add_workspace", "main", base_url=sandbox, token_env="PLATFORM_TOKEN")
    Workspace.objects.update(max_under_way=limit)
    for n in range(count):
        create(Workspace.objects.get(), f"K-{n}", {"title": "New"}, origin="API", now=now())
    for queue in ("users", "properties"):  # a read of the users would take the slot that is left
        turn.take(hooks.queue(queue), Workspace.objects.get().pk, seconds=60.0)
    for row in Property.objects.all():
        edit(row, {"title": "Edited"}, origin="API", now=now())


def again() -> None:
    for row in Property.objects.all():
        edit(row, {"title": "Once more"}, origin="API", now=now())


def edit_until(stop: Path) -> None:
    rng = random.Random(20)
    while not stop.exists():
        row = Property.objects.get(object_reference_id=f"K-{rng.randrange(COUNT)}")
        # Few values, so that an edit often goes back to what an unclear PATCH left (I2).
        changes = {"title": f"Title {rng.randrange(2)}", "numberOfRooms": rng.randrange(1, 3)}
        edit(row, changes, origin="API", now=now())
        time.sleep(0.05)


def audit_until(stop: Path) -> None:
    count, is_last = 0, False
    while not is_last:
        is_last = stop.exists()
        call_command("audit", stdout=StringIO())
        count += 1
        time.sleep(0.2)
    print(count)


def moment() -> None:
    def write() -> None:
        Workspace.objects.update(problem="written meanwhile")
        connection.close()

    def seen() -> str:
        return Workspace.objects.get().problem

    with audit.snapshot():
        before = seen()
        started = time.monotonic()
        writer = threading.Thread(target=write)
        writer.start()
        writer.join(timeout=10)
        waited = time.monotonic() - started
        during = seen()
    after = seen()
    Workspace.objects.update(problem="")
    print(json.dumps({"seen": [before, during, after], "waited": waited}))


def verdict() -> None:
    state = requests.get(f"{os.environ['SANDBOX_URL']}/_sandbox/state", timeout=10).json()
    here = {row.platform_id: row for row in Property.objects.all()}
    fields = ("title", "numberOfRooms", "objectReferenceId")
    # A pull after five minutes mirrors the two with which the sandbox begins.
    made = Property.objects.filter(object_reference_id__startswith="K-").count()
    differ = [
        f"{row}.{name}: {row.desired.get(name)!r} here, {there!r} there"
        for platform_id, row in here.items()
        for name in fields
        if row.desired.get(name)
        != (there := state["properties"].get(platform_id, {}).get(name, "nothing"))
    ]
    for model, key in ((Order, "orders"), (Assignment, "assignments")):
        differ += [
            f"{row}: {row.status} here, {there} there"
            for row in model.objects.all()
            if row.status != (there := state[key][row.platform_id]["status"])
        ]
    counted = ReceivedEvent.objects.values_list("state", flat=True)
    print(
        json.dumps(
            {
                "due": turn.waiting(now()),
                "pending": Property.objects.filter(due_at__isnull=False).count(),
                "held": Property.objects.filter(lease_token__isnull=False).count()
                + ReceivedEvent.objects.filter(lease_token__isnull=False).count(),
                "differ": differ,
                "conflicts": Conflict.objects.count(),
                "duplicates": len(state["properties"]) - made - 2,
                "received": len(counted),
                "unsettled": sorted(set(counted) - {"APPLIED", "DUPLICATE", "STALE"}),
                "open": Order.objects.exclude(status="COMPLETED").count(),
            }
        )
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["setup"]:
            setup()
            moment()
        case ["edit", stop]:
            edit_until(Path(stop))
        case ["audit", stop]:
            audit_until(Path(stop))
        case ["rows", count, limit]:
            rows(int(count), int(limit))
        case ["again"]:
            again()
        case ["verdict"]:
            verdict()
        case _:
            sys.exit(__doc__)
