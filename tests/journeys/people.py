"""Our people while workers are killed: python -m tests.journeys.people STEP

setup COUNT          a workspace and COUNT properties, on the platform already
edit SEED STOP_FILE  edits, one each 50 ms, until the file is there; prints the last values as JSON
read                 make every property due, as a sweep does
busy                 how many rows are due, held, or to be verified
dump                 prints as JSON what the CRM has: rows, conflicts, changes
"""

import json
import os
import random
import sys
import time
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.core.management import call_command  # noqa: E402 - Django is set up only now
from django.db import OperationalError, close_old_connections  # noqa: E402
from django.db.models import Q  # noqa: E402
from django.utils.timezone import now  # noqa: E402

from crm_sync.models import Workspace  # noqa: E402
from properties.domain.editing import create, due_now, edit  # noqa: E402
from properties.models import Change, Conflict, Property  # noqa: E402

# Few values each, so that an edit often goes back to what an unclear PATCH left (I2).
OURS = {
    "title": ["Title 0", "Title 1"],
    "numberOfRooms": [1, 2],
    "propertyCategories": [["VILLA"], ["LOFT", "VILLA"], []],
    "prices.rent": [{"net": 900}, {"net": 950}],
    "characteristics.hasElevator": ["APPLIES", "DOES_NOT_APPLY"],
}
PAUSE = 0.05  # seconds between two edits


def setup(count: int) -> None:
    address = os.environ["SANDBOX_URL"]
    call_command("add_workspace", "main", base_url=address, token_env="PLATFORM_TOKEN")
    workspace = Workspace.objects.get()
    for n in range(count):
        changes = {path: values[0] for path, values in OURS.items()}
        create(workspace, f"K-{n}", changes, origin="API", now=now())
    call_command("push_properties", "main")


def edit_until(seed: int, stop: Path) -> dict[str, dict]:
    """Edit any property; returns its last value, reference to path to value."""
    rng, last, count = random.Random(seed), {}, 0
    references = sorted(Property.objects.values_list("object_reference_id", flat=True))
    for reference in references:
        last[reference] = {path: values[0] for path, values in OURS.items()}
    while not stop.exists():
        reference, path = rng.choice(references), rng.choice(list(OURS))
        value = rng.choice(OURS[path])
        try:
            row = Property.objects.get(object_reference_id=reference)
            edit(row, {path: value}, origin="API", now=now())
        except OperationalError:  # a stopped worker may hold a lock; a person tries again
            close_old_connections()
            continue
        count += 1
        last[reference][path] = value
        time.sleep(PAUSE)
    return {"count": count, "last": last}


def busy() -> dict[str, int]:
    rows = Property.objects.all()
    return {
        "due": rows.filter(due_at__isnull=False).count(),
        "held": rows.filter(lease_token__isnull=False).count(),
        "unsettled": rows.filter(Q(verify_at__isnull=False) | ~Q(inflight={})).count(),
    }


def dump() -> dict[str, list]:
    reference = "real_estate_property__object_reference_id"
    columns = ("object_reference_id", "platform_id", "desired", "observed", "problem")
    return {
        "rows": list(Property.objects.values(*columns)),
        "conflicts": list(Conflict.objects.values(reference, "path", "ours", "base", "theirs")),
        "changes": [
            {name: getattr(part, name) for name in ("path", "old", "new", "origin")}
            | {reference: part.real_estate_property.object_reference_id}
            for change in Change.objects.order_by("pk").select_related("real_estate_property")
            for part in change.parts()
        ],
    }


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["setup", count]:
            setup(int(count))
        case ["edit", seed, stop]:
            print(json.dumps(edit_until(int(seed), Path(stop))))
        case ["read"]:
            due_now(Property.objects.all())
        case ["busy"]:
            print(json.dumps(busy()))
        case ["dump"]:
            print(json.dumps(dump()))
        case _:
            sys.exit(__doc__)
