"""How soon a change arrives: python -m lab.benchmarks.latency_rounds WEB CALLBACKS SANDBOX SESSION

Prints a line of JSON for each situation: `{"what": "edit" or "event", "when": text, "milliseconds":
[of each try], "bare": [of what an idle one is made of]}`. Web, callbacks, worker and beat run;
`SESSION` is the cookie of somebody who is logged in.
"""

import itertools
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import django
import requests

django.setup()

from django.conf import settings  # noqa: E402 - Django is set up only now
from django.core.management import call_command  # noqa: E402
from django.db import models  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync.models import Heartbeat, Workspace  # noqa: E402
from lab.benchmarks.hanging_rounds import mirrored  # noqa: E402
from lab.benchmarks.sandbox import ROOT  # noqa: E402
from lab.runs import table  # noqa: E402
from orders.models import Order  # noqa: E402
from properties.models import Property  # noqa: E402
from tests.journeys.callers import HEADERS, SECRET  # noqa: E402
from tests.processes import TOKEN, wait_until  # noqa: E402
from tests.properties import form_page  # noqa: E402

IDLE, BESIDE = 100, 100  # tries
EDITED = 20  # properties that are edited in turn
FED = 2_000  # rows of the import that is pushed meanwhile
EDITORS = 2  # people who edit beside it, each of whom waits for the edit before
FLOOD = 50  # events a second of another workspace
FLOODED = 120.0  # seconds at most
BARE = 30  # tries
ASKED = 0.005  # seconds between two questions whether it has arrived
APART = 0.1  # seconds at most from one try to the next, so that no rhythm of ours is hit
PATIENCE = 60.0  # seconds
FOUND = 302  # a form that was saved
LIST = "v1/real-estate-properties"
SHOWN = re.compile(r"cs-badge[^>]*>\s*In progress")  # the badge, not the step of that name


class Installed:
    """The addresses of the processes, and the two workspaces."""

    def __init__(self, web: str, callbacks: str, sandbox: str, session: str) -> None:
        self.web, self.callbacks, self.sandbox = web, callbacks, sandbox
        self.main, self.other = (
            Workspace.objects.create(
                slug=slug, base_url=sandbox, fixed_token=TOKEN, auth_secret=SECRET
            )
            for slug in ("main", "other")
        )
        self.cookies = {settings.SESSION_COOKIE_NAME: session}

    def callback(self, workspace: Workspace) -> str:
        """Return the address at which the process for callbacks takes events of this workspace."""
        return f"{self.callbacks}{urlsplit(workspace.callback_url).path}"


def main(*addresses: str) -> None:
    """Measure edits and events, idle and under load."""
    wait_until("a worker, beat and its tick", lambda: Heartbeat.objects.count() >= 3, limit=60)
    one = Installed(*addresses)
    spare, *rows = mirrored(one.main, one.sandbox, range(EDITED + 1))
    bare = bare_edits(one, spare)
    tell("edit", "idle", [edit(one, rows[n % EDITED], n) for n in range(IDLE)], bare)
    tell("edit", f"beside {FED:,} imported rows", edits_beside_an_import(one, rows))
    first, *placed = Order.objects.bulk_create(orders(one))
    bare, told = bare_events(one, first), iter(placed)
    tell("event", "idle", [event(one, next(told)) for _ in range(IDLE)], bare)
    with flood(one):
        tell("event", f"beside {FLOOD} a second", [event(one, next(told)) for _ in range(BESIDE)])


def tell(what: str, when: str, took: list[float], bare: list[float] | None = None) -> None:
    """Print what a situation gave; seconds in, milliseconds out."""
    found = {"what": what, "when": when, "milliseconds": [1000 * one for one in took]}
    print(json.dumps(found | {"bare": [1000 * one for one in bare or ()]}), flush=True)


def edit(one: Installed, row: Property, number: int) -> float:
    """Save another title on the page of a property; the seconds until the row is in sync."""
    time.sleep(random.uniform(0, APART))
    title, page = f"Typed {number}", f"{one.web}{form_page.address(row.pk)}"
    mine = Property.objects.filter(pk=row.pk)
    with requests.Session() as browser:
        browser.cookies.update(one.cookies)
        shown = form_page.read(browser.get(page, timeout=20).text)
        began = time.perf_counter()
        posted = shown | {"title": title}
        saved = browser.post(page, posted, allow_redirects=False, timeout=20)
        until(mine.filter(desired__title=title, due_at=None, problem={}))
        seconds = time.perf_counter() - began
    if saved.status_code != FOUND:
        raise RuntimeError(f"the page of {row} was answered with {saved.status_code}")
    url, headers = f"{one.sandbox}/{LIST}/by-reference/{row}", {"Authorization": f"Bearer {TOKEN}"}
    there = requests.get(url, headers=headers, timeout=20).json()
    if there["title"] != title:
        raise RuntimeError(f"{row} is in sync, and the platform has {there['title']}")
    return seconds


def edits_beside_an_import(one: Installed, rows: list[Property]) -> list[float]:
    """Import a feed and edit other properties for as long as it is pushed."""
    with TemporaryDirectory() as folder:
        feed = table(Path(folder) / "fed.csv", FED, "F", title="Fed")
        call_command("import_properties", "main", feed, verbosity=0, stdout=StringIO())
    fed = Property.objects.filter(object_reference_id__startswith="F-", due_at__isnull=False)
    numbers = itertools.count(IDLE)

    def editor(mine: list[Property]) -> list[float]:
        took = []
        for row in itertools.cycle(mine):
            seconds = edit(one, row, next(numbers))
            if not fed.exists():
                return took  # this one had nothing beside it in the end
            took.append(seconds)
        return took

    with ThreadPoolExecutor(EDITORS) as pool:
        parts = pool.map(editor, (rows[n::EDITORS] for n in range(EDITORS)))
        return [seconds for part in parts for seconds in part]


def orders(one: Installed) -> Iterator[Order]:
    """Yield the orders of the platform as they stood before its events."""
    later = timezone.now() + timedelta(hours=1)
    for number in range(1 + IDLE + BESIDE):
        yield Order(
            workspace=one.main,
            platform_id=f"BENCH-{number}",
            status="PLACED",
            status_at=later - timedelta(hours=2),
            due_at=later,
        )


def event(one: Installed, row: Order) -> float:
    """Tell that an order is in progress; the seconds until a person has the page that says so."""
    time.sleep(random.uniform(0, APART))
    told = {
        "event": "ORDER_STATUS_UPDATED",
        "occurredAt": timezone.now().isoformat(),
        "orderId": row.platform_id,
        "previousStatus": "PLACED",
        "newStatus": "IN_PROGRESS",
    }
    mine = Order.objects.filter(pk=row.pk)
    began = time.perf_counter()
    answer = requests.post(one.callback(one.main), json=told, headers=HEADERS, timeout=30)
    answer.raise_for_status()
    until(mine.filter(status="IN_PROGRESS"))
    page = page_of(one, row)
    seconds = time.perf_counter() - began
    if not SHOWN.search(page):
        raise RuntimeError(f"the page of {row} does not say that it is in progress")
    return seconds


def page_of(one: Installed, row: Order) -> str:
    """Return the page of an order as a person's browser gets it."""
    address = f"{one.web}/admin/orders/order/{row.pk}/change/"
    answer = requests.get(address, cookies=one.cookies, timeout=30)
    answer.raise_for_status()
    return answer.text


def until(found: models.QuerySet) -> None:
    """Ask the database until it has such a row.

    Raises:
        RuntimeError: it has none for a minute.
    """
    end = time.monotonic() + PATIENCE
    while not found.exists():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {PATIENCE:g} s: {found.query}")
        time.sleep(ASKED)


def bare_edits(one: Installed, row: Property) -> list[float]:
    """Open the page of a property, then read and change it at the platform; seconds of each try."""
    url = f"{one.sandbox}/{LIST}/by-reference/{row}"
    page = f"{one.web}{form_page.address(row.pk)}"
    took = []
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {TOKEN}"
        for number in range(BARE):
            began = time.perf_counter()
            requests.get(page, cookies=one.cookies, timeout=20).raise_for_status()
            session.get(url, timeout=20).raise_for_status()
            session.patch(url, json={"title": f"Bare {number}"}, timeout=20).raise_for_status()
            took.append(time.perf_counter() - began)
    return took


def bare_events(one: Installed, row: Order) -> list[float]:
    """Open the page of an order; seconds of each try."""
    took = []
    for _ in range(BARE):
        began = time.perf_counter()
        page_of(one, row)
        took.append(time.perf_counter() - began)
    return took


@contextmanager
def flood(one: Installed) -> Iterator[None]:
    """Let events of the other workspace come at a rate meanwhile, sent by another process."""
    what = (one.callback(one.other), str(FLOOD), str(FLOODED))
    command = [sys.executable, "-m", "lab.benchmarks.paced", *what]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as sender:
        try:
            time.sleep(1)
            yield
            if sender.poll() is not None:
                raise RuntimeError(f"the events ended before, with {sender.returncode}")
        finally:
            sender.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
