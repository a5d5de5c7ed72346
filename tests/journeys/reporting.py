"""Write changes of a workspace, each in a transaction that stays open for a moment.

python -m tests.journeys.reporting              make the workspace; print tokens of two readers
python -m tests.journeys.reporting NAME FILE    write changes until killed, and note each in FILE
python -m tests.journeys.reporting NAME FILE late    commit the first one after later ones were read
"""

import os
import random
import sys
import time
from itertools import count

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import transaction  # noqa: E402 - Django is set up only now
from django.utils import timezone  # noqa: E402

from crm_sync.api import tokens  # noqa: E402
from crm_sync.models import ReportedChange, Workspace  # noqa: E402
from crm_sync.outgoing import outbox  # noqa: E402

LONGEST = 0.05  # seconds of a transaction


def prepare() -> None:
    workspace = Workspace.objects.create(slug="main", base_url="http://platform.test")
    for name in ("ERP", "portal"):
        now = timezone.now()
        print(tokens.issue(workspace, name=name, scopes=("changes:read",), now=now)[1])


def write(name: str, path: str, late: str = "") -> None:
    """Note a change only after its commit."""
    rng, workspace = random.Random(name), Workspace.objects.get()
    with open(path, "a", buffering=1) as log:
        for number in count():
            now, change = timezone.now(), f"{name}-{number}"
            message = outbox.Message("property.in_sync", now, {"reference": change})
            with transaction.atomic():
                outbox.tell(workspace.pk, [message], now=now)
                while late and number == 0 and not _is_passed(change):
                    time.sleep(LONGEST)
                time.sleep(rng.random() * LONGEST)
            log.write(f"{change}\n")
            time.sleep(rng.random() * LONGEST)  # SQLite has one writer at a time


def _is_passed(reference: str) -> bool:
    """Return whether a change with a later key has a number already."""
    mine = ReportedChange.objects.get(data__reference=reference)
    return ReportedChange.objects.filter(pk__gt=mine.pk, number__isnull=False).exists()


if __name__ == "__main__":
    write(*sys.argv[1:]) if sys.argv[1:] else prepare()
