"""People who order while a test kills workers: python -m tests.journeys.buyers STEP

setup N    a workspace with its webhook, and N properties on the platform
order      an order for each property is prepared and confirmed, one after the other
verdict    prints as JSON how each placement stands, and what is still to be done
"""

import json
import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - Django is set up only now
from django.core.management import call_command  # noqa: E402
from django.utils.timezone import now  # noqa: E402

from crm_sync.models import ReceivedEvent, Workspace  # noqa: E402
from crm_sync.work import turn  # noqa: E402
from orders.models import Placement  # noqa: E402
from properties.domain.editing import create  # noqa: E402
from tests import placing  # noqa: E402

QUEUES = {"placements", "received_events", "orders"}


def setup(count: str) -> None:
    sandbox = os.environ["SANDBOX_URL"]
    call_command("add_workspace", "main", base_url=sandbox, token_env="PLATFORM_TOKEN")
    call_command("configure_webhook", "main")
    for n in range(int(count)):
        create(Workspace.objects.get(), f"B-{n}", {"title": "Flat"}, origin="API", now=now())
    call_command("push_properties", "main")
    User.objects.create_user("buyer")


def order() -> None:
    buyer, workspace = User.objects.get(), Workspace.objects.get()
    for reference in workspace.property_set.values_list("object_reference_id", flat=True):
        row = placing.reviewable(
            workspace,
            reference=reference,
            user="AGENT-1",
            products=("GROUND_PHOTO",),
            now=now(),
        )
        assert placing.confirm(row, account=buyer, now=now())


def verdict() -> dict[str, Any]:
    rows = Placement.objects.order_by("pk").values_list(
        "object_reference_id", "state", "order__platform_id", "uncertain_at"
    )
    due = {name for name, _ in turn.waiting(now())}
    return {
        "placements": [(*found, at is not None) for *found, at in rows],
        "busy": sorted(due & QUEUES),
        "leased": Placement.objects.exclude(lease_token=None).count(),
        "unapplied": ReceivedEvent.objects.filter(applied_at=None).count(),
    }


def main(step: str, *arguments: str) -> None:
    """Do a step, and print what it returns as JSON."""
    found = {"setup": setup, "order": order, "verdict": verdict}[step](*arguments)
    if found is not None:
        print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
