"""What is done in the installation that is measured: python -m lab.model.scene ACT …

`make WORKSPACES SANDBOX` makes workspaces, each with properties that the platform has, and prints
the paths of their callbacks as JSON. `watch` has their webhooks polled, and `more COUNT` makes
workspaces with nothing to do. `pages`, `swept` and `clear` do such work in this process, and print
what it took.
"""

import json
import sys
import time
from datetime import timedelta
from urllib.parse import urlsplit

import django

django.setup()

import requests  # noqa: E402 - Django is set up only now
from django.contrib.auth.models import Group, User  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync import expiry  # noqa: E402
from crm_sync.inbox import event_retention  # noqa: E402
from crm_sync.models import ReceivedEvent, WebhookMonitor, Workspace  # noqa: E402
from lab.benchmarks.stock import copies  # noqa: E402
from lab.benchmarks.visits import times  # noqa: E402
from lab.model.measure import EACH  # noqa: E402
from properties.drift.sweep import sweep  # noqa: E402
from properties.models import Property  # noqa: E402
from tests.journeys.callers import SECRET  # noqa: E402
from tests.processes import TOKEN  # noqa: E402

PAGES, CLEARED = 60, 20_000


def make(count: int, sandbox: str) -> None:
    """Make the workspaces, of which nothing is due."""
    configuration = {"url": "http://127.0.0.1:9/", "method": "POST", "enabled": True}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    put = requests.put(f"{sandbox}/v1/webhooks", json=configuration, headers=headers, timeout=20)
    put.raise_for_status()
    state = requests.get(f"{sandbox}/_sandbox/state", timeout=60).json()
    there = {one["objectReferenceId"]: one for one in state["properties"].values()}
    Workspace.objects.bulk_create(
        Workspace(slug=f"w{n}", base_url=sandbox, fixed_token=TOKEN, auth_secret=SECRET)
        for n in range(count)
    )
    workspaces = list(Workspace.objects.order_by("pk"))
    rows = []
    for number in range(count * EACH):
        document = there[f"BENCH-{number}"]
        rows.append(
            Property(
                workspace=workspaces[number // EACH],
                object_reference_id=document["objectReferenceId"],
                platform_id=document["id"],
                desired=document,
                observed=document,
            )
        )
    Property.objects.bulk_create(rows, batch_size=500)
    print(json.dumps({"paths": [urlsplit(one.callback_url).path for one in workspaces]}))


def watch() -> None:
    """Have each webhook polled at once."""
    now = timezone.now()
    WebhookMonitor.objects.bulk_create(
        WebhookMonitor(workspace=one, due_at=now, polled_at=None)
        for one in Workspace.objects.exclude(auth_secret="")
    )


def more(count: int) -> None:
    """Make workspaces of which nothing is ever due."""
    Workspace.objects.bulk_create(
        Workspace(slug=f"more{n}", base_url="http://127.0.0.1:9", fixed_token=TOKEN)
        for n in range(count)
    )


def pages() -> None:
    """Open the list of properties and one of them in turn, as an agent."""
    agent = User.objects.create(username="agent", is_staff=True)
    agent.groups.add(Group.objects.get(name="Agents"))
    agent.workspaces.set(Workspace.objects.order_by("pk")[:10])
    client = Client(SERVER_NAME="localhost")
    client.force_login(agent)
    row = Property.objects.order_by("pk").first()
    took = []
    for address in ("/admin/properties/property/", f"/admin/properties/property/{row.pk}/change/"):
        some, _ = times(client, address, rounds=PAGES // 2, clock=time.process_time)
        took += some
    print(json.dumps({"web": sum(took) / len(took), "count": len(took) + 2}))


def swept() -> None:
    """Sweep the properties of each workspace."""
    began, count = time.process_time(), 0
    for workspace in Workspace.objects.filter(slug__startswith="w"):
        for check in sweep(workspace):
            count += check.compared if check.finished_at else 0
    print(json.dumps({"worker": 1000 * (time.process_time() - began) / count, "count": count}))


def clear() -> None:
    """Store old events and clear them."""
    now = timezone.now()
    row = ReceivedEvent.objects.create(
        workspace=Workspace.objects.order_by("pk").first(),
        digest="old",
        canonical_digest="old",
        body=b"x" * 300,
        method="POST",
        state=ReceivedEvent.State.APPLIED,
        received_at=now - timedelta(days=200),
    )
    copies(row, CLEARED, "digest", "canonical_digest")
    parts = event_retention.parts({ReceivedEvent.State.APPLIED: 90}, now=now)
    began = time.monotonic()
    counts = expiry.clear(parts, budget=600)
    print(json.dumps({"cleared": sum(counts.values()) / (time.monotonic() - began)}))


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    acts = {"watch": watch, "pages": pages, "swept": swept, "clear": clear}
    if what == "make":
        make(int(given[0]), given[1])
    elif what == "more":
        more(int(given[0]))
    else:
        acts[what]()
