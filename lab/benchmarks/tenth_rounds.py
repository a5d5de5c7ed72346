"""The costs of `tenth` as JSON: python -m lab.benchmarks.tenth_rounds

A line `{"of": rows, "what": text, "value": cost, "unit": text}` for each cost at each size.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

import django

django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402 - Django is set up only now
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync import expiry, hooks  # noqa: E402
from crm_sync.models import ReceivedEvent, WebhookMonitor, Workspace  # noqa: E402
from crm_sync.observing import alarms  # noqa: E402
from crm_sync.platform import transport  # noqa: E402
from crm_sync.work import leases, rings, turn  # noqa: E402
from lab.benchmarks import events_apply, tenth_stock  # noqa: E402
from lab.benchmarks.stock import a_property, a_received_event, copies  # noqa: E402
from lab.benchmarks.tenth_stock import FIRST, Size, run  # noqa: E402
from lab.benchmarks.visits import times  # noqa: E402
from orders.models import UserList  # noqa: E402
from properties.models import Property  # noqa: E402
from properties.push.queue import PROPERTIES  # noqa: E402
from sandbox.app import Sandbox  # noqa: E402
from sandbox.state.workspace import Workspace as PlatformState  # noqa: E402
from tests.wsgi import WsgiAdapter  # noqa: E402

LARGE = int(os.environ.get("TENTH_PROPERTIES", "1000000"))
SIZES = [Size(n // 1_000, n, 10 * n) for n in (LARGE // 10, LARGE)]
ROUNDS = 15
PLATFORM = "http://platform.test"
PUSHED = 300  # properties in one turn
CLEARED = 40  # batches of received events
TOGETHER = 48  # rows in one claim
Cost = tuple[str, float, str]


def main() -> None:
    """Store a tenth and measure it, then store the rest and measure all."""
    there = Size(0, 0, 0)
    busy, box = _busy(), _platform()
    for size in SIZES:
        began = time.monotonic()
        tenth_stock.grow(there, size)
        there = size
        tell(size, ("to store it", time.monotonic() - began, "s"))
        for what in (seldom, pages, lambda: turns(busy, box), retention, audit):
            for cost in what():
                tell(size, cost)
        for cost in backup(size):
            tell(size, cost)


def tell(size: Size, cost: Cost) -> None:
    what, value, unit = cost
    found = {"of": size.properties, "what": what, "value": value, "unit": unit}
    print(json.dumps(found), flush=True)


def timed(act: Callable[[], object], *, rounds: int = ROUNDS) -> float:
    """Return the milliseconds that this takes at least; the first time does not count.

    What else runs on the machine only makes it longer.
    """
    took = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        act()
        took.append(1000 * (time.perf_counter() - began))
    return min(took[1:])


def _busy() -> Workspace:
    """Make a workspace in which always as much is due."""
    workspace = Workspace.objects.create(slug="busy", base_url=PLATFORM, fixed_token="bench")
    minute_ago = timezone.now() - timedelta(minutes=1)
    copies(
        a_property(workspace, "D-", due_at=minute_ago), 999, "object_reference_id", "platform_id"
    )
    copies(a_received_event(workspace, "D-", due_at=minute_ago), 999, "digest")
    return workspace


def _platform() -> Sandbox:
    """Make a platform in this process, under the real client."""
    box = Sandbox(token="bench", now=lambda: datetime.now(UTC), workspace=PlatformState.seeded())
    transport.MOUNTS[PLATFORM] = WsgiAdapter(box)
    return box


def seldom() -> Iterator[Cost]:
    """Measure the tick, and what beat and Prometheus ask for."""
    rings.mark(turn.waiting(timezone.now()), timezone.now())

    def tick() -> None:
        sent = rings.tick(timezone.now(), _no_message, messages=lambda: 10**6)
        assert sent == []

    took = timed(tick)
    yield "a tick", took, "ms"
    yield "  for each workspace", 1000 * took / Workspace.objects.count(), "µs"
    yield "a look for alarms", timed(lambda: alarms.notice(timezone.now())), "ms"


def _no_message(queue: str, workspace_id: int) -> None:
    raise AssertionError(f"a message was sent to {queue} of {workspace_id}")


def pages() -> Iterator[Cost]:
    """Open the pages as an operator of all workspaces and as an agent of one."""
    workspace = Workspace.objects.get(slug="w1")
    operator, _ = User.objects.get_or_create(username="operator", is_superuser=True, is_staff=True)
    agent, is_new = User.objects.get_or_create(username="agent", is_staff=True)
    if is_new:
        agent.groups.add(Group.objects.get(name="Agents"))
        agent.workspaces.add(workspace)
    mine = Property.objects.filter(workspace=workspace).order_by("pk").first()
    phone = f"044 {FIRST + 4_007}"
    of_all = {
        "overview": "/admin/",
        "list of properties": "/admin/properties/property/",
        "list of properties, the twentieth page": "/admin/properties/property/?p=20",
        "a property": f"/admin/properties/property/{mine.pk}/change/",
        "list of orders": "/admin/orders/order/",
        "list of received events": "/admin/crm_sync/receivedevent/",
        "list of received events, the twentieth page": "/admin/crm_sync/receivedevent/?p=20",
        "history": "/admin/properties/property/changes/",
        "calendar": "/admin/orders/order/calendar/",
    }
    found = {
        "a street": {"q": "Seestrasse"},
        "a street and a place": {"q": "Seestrasse Bern"},
        "a phone": {"q": phone},
        "a reference": {"q": mine.object_reference_id},
        "a word of none": {"q": "nirgends"},
    }
    for words, asked in found.items():
        query = urlencode(asked)
        of_all[f"search for {words}"] = f"/admin/properties/property/?{query}"
    of_all["received events, search for an order"] = (
        f"/admin/crm_sync/receivedevent/?q=O-{FIRST + 1}"
    )
    for who, person in (("operator", operator), ("agent", agent)):
        client = Client(SERVER_NAME="localhost")
        client.force_login(person)
        for what, address in of_all.items():
            if who == "agent" and "event" in what:
                continue
            took, _ = times(client, address, rounds=7)
            yield f"{who}: {what}", min(took), "ms"


def turns(busy: Workspace, box: Sandbox) -> Iterator[Cost]:
    """Claim rows, apply events in a turn, and push properties in a turn."""
    for what, model in (("edits", Property), ("events", ReceivedEvent)):
        mine = model.objects.filter(workspace=busy)

        def claim(mine: Any = mine) -> None:
            found = leases.claim_some(mine, now=timezone.now(), limit=TOGETHER)
            assert len(found) == TOGETHER
            leases.give_back(found)

        yield f"{TOGETHER} {what} claimed and given back", timed(claim), "ms"
    events_apply.measured(events_apply.SIDE_BY_SIDE)  # what a process does once
    rate = median(events_apply.measured(2_000) for _ in range(3))
    yield "an event applied", 1e6 / rate, "µs"
    yield "a property pushed", median(_pushed(box) for _ in range(3)), "ms"


def _pushed(box: Sandbox) -> float:
    """Push so many edits of a new workspace in one turn; the milliseconds of each."""
    slug = f"push-{time.time_ns()}"
    workspace = Workspace.objects.create(slug=slug, base_url=PLATFORM, fixed_token="bench")
    seeds = list(box.workspace.properties.values())
    document = seeds[0]
    rows = []
    for number in range(PUSHED):
        key = f"{slug}-{number}"
        one = document | {"id": key, "objectReferenceId": key}
        box.workspace.properties[key] = one
        rows.append(
            Property(
                workspace=workspace,
                object_reference_id=key,
                platform_id=key,
                desired=one | {"title": "Edited"},
                observed=one,
                revision=1,
                due_at=timezone.now(),
            )
        )
    Property.objects.bulk_create(rows)
    began = time.perf_counter()
    counts = turn.take(PROPERTIES, workspace.pk, seconds=60).counts
    took = time.perf_counter() - began
    assert sum(counts.values()) == PUSHED, counts
    assert all(box.workspace.properties[one.platform_id]["title"] == "Edited" for one in rows)
    return 1000 * took / PUSHED


def retention() -> Iterator[Cost]:
    """Clear events that are old enough, and look for all else that is."""
    now = timezone.now()
    parts = {name: part for of in hooks.plugged().expired for name, part in of(now).items()}
    events = parts.pop("APPLIED")
    took = timed(events, rounds=CLEARED)
    yield f"{expiry.BATCH} old events cleared", took, "ms"
    yield "nothing else is old", timed(lambda: [part() for part in parts.values()]), "ms"


def audit() -> Iterator[Cost]:
    """Check all rows with the command."""
    soon = timezone.now() + timedelta(seconds=10)  # later would be a finding
    for model in (WebhookMonitor, UserList):
        model.objects.update(due_at=soon)
    began = time.perf_counter()
    with tempfile.TemporaryFile("w") as printed:
        call_command("audit", stdout=printed, stderr=printed)
    took = time.perf_counter() - began
    rows = Property.objects.count() + ReceivedEvent.objects.count()
    yield "manage.py audit, properties and events", 1e6 * took / rows, "µs each"


def backup(size: Size) -> Iterator[Cost]:
    """Dump and restore all of it, as the docs say."""
    url = os.environ["DATABASE_URL"].replace("postgres://", "postgresql://")
    run("checkpoint")
    with connection.cursor() as cursor:
        cursor.execute("select pg_database_size(current_database())")
        yield "database", cursor.fetchone()[0] / size.rows, "bytes a row"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crm-sync.dump"
        took = _run("pg_dump", "--format=custom", f"--file={path}", url)
        yield "backup", 1e6 * took / size.rows, "µs a row"
        yield "  its file", path.stat().st_size / size.rows, "bytes a row"
        server, _, name = url.rpartition("/")
        restored = f"{name}_restored"
        _run("createdb", f"--maintenance-db={server}/postgres", restored)
        try:
            options = ("--exit-on-error", "--no-owner", f"--dbname={server}/{restored}")
            took = _run("pg_restore", *options, str(path))
            yield "restore", 1e6 * took / size.rows, "µs a row"
        finally:
            _run("dropdb", f"--maintenance-db={server}/postgres", restored)


def _run(*command: str) -> float:
    began = time.monotonic()
    subprocess.run(command, check=True)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
