"""One piece of work for a queue: python -m lab.scale.neighbour SLUG SANDBOX [QUEUE]…

Prints as JSON how many seconds each took, from the moment at which it was there to do; of all
queues unless some are named. The workspace has a property that is on the platform, and an order.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import django
import requests

django.setup()

from django.contrib.auth.models import User  # noqa: E402 - Django is set up only now
from django.core.files import File  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync.models import WebhookMonitor, Workspace  # noqa: E402
from crm_sync.webhook import schedule  # noqa: E402
from crm_sync.work.doorbell import doorbell  # noqa: E402
from orders.mirror import unit_of_work  # noqa: E402
from orders.models import Assignment, Order  # noqa: E402
from properties.domain.editing import edit  # noqa: E402
from properties.imports import upload as imports_upload  # noqa: E402
from properties.models import Import, Property  # noqa: E402

LIMIT = 30.0  # seconds; then it is said as it is
INTERVAL = 0.02
ALL = ("received_events", "properties", "orders", "webhooks", "imports")


class Neighbour:
    """Asks for one thing at a time, and waits for it."""

    def __init__(self, slug: str, sandbox: str) -> None:
        self.workspace, self.sandbox = Workspace.objects.get(slug=slug), sandbox

    def received_events(self) -> Callable[[], bool]:
        one = Assignment.objects.filter(workspace=self.workspace).first()
        day = "2031-01-01" if str(one.estimated_delivery_date) != "2031-01-01" else "2031-01-02"
        address = f"{self.sandbox}/_sandbox/assignments/{one.platform_id}/estimate"
        requests.post(address, json={"estimatedDeliveryAt": day}, timeout=10).raise_for_status()
        return Assignment.objects.filter(pk=one.pk, estimated_delivery_date=day).exists

    def properties(self) -> Callable[[], bool]:
        row = Property.objects.filter(workspace=self.workspace).exclude(platform_id=None).first()
        title = f"Edited at {time.time():.3f}"
        edit(row, {"title": title}, origin="API", now=timezone.now())

        def is_there() -> bool:
            state = requests.get(f"{self.sandbox}/_sandbox/state", timeout=10).json()
            return state["properties"][row.platform_id]["title"] == title

        return is_there

    def orders(self) -> Callable[[], bool]:
        now = timezone.now()
        mine = Order.objects.filter(workspace=self.workspace)
        mine.update(due_at=now)
        doorbell.ring(unit_of_work.ORDERS, self.workspace.pk)
        return lambda: not mine.filter(due_at=now).exists() and not _held(mine)

    def webhooks(self) -> Callable[[], bool]:
        now = timezone.now()
        mine = WebhookMonitor.objects.filter(workspace=self.workspace)
        schedule.ask(mine, now=now)
        return mine.filter(polled_at__gt=now).exists

    def imports(self) -> Callable[[], bool]:
        new = Import(workspace=self.workspace)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "one.csv"
            path.write_text("objectReferenceId,title\nN-1,One\n")
            with path.open("rb") as file:
                upload = File(file, name="one.csv")
                row = imports_upload.receive(
                    new, upload, actor=User.objects.first(), now=timezone.now()
                )
        return Import.objects.filter(pk=row.pk, state=Import.State.PREVIEWED).exists

    def measure(self, *queues: str) -> dict[str, float]:
        return {queue: _seconds(getattr(self, queue)) for queue in queues or ALL}


def _held(rows) -> bool:
    return rows.filter(lease_token__isnull=False).exists()


def _seconds(step: Callable[[], Callable[[], bool]]) -> float:
    began = time.monotonic()
    is_done = step()
    while not is_done() and time.monotonic() - began < LIMIT:
        time.sleep(INTERVAL)
    return time.monotonic() - began


if __name__ == "__main__":
    slug, sandbox, *queues = sys.argv[1:]
    print(json.dumps(Neighbour(slug, sandbox).measure(*queues)))
