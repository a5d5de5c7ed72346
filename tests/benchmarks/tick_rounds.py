"""The rounds of `tick` as JSON: python -m tests.benchmarks.tick_rounds ROWS."""

from __future__ import annotations

import json
import sys
import time

import django
from requests.adapters import BaseAdapter

django.setup()

from django.core.management import call_command  # noqa: E402 - Django is set up only now

from crm_sync import tasks, transport  # noqa: E402
from crm_sync.models import Workspace  # noqa: E402
from properties.models import Property  # noqa: E402

PLATFORM = "http://platform.test"
ROUNDS = 50
DOCUMENT = {"title": "House", "propertyType": "HOUSE", "address": {"locality": "Bern"}}


class Counting(BaseAdapter):
    """Stands where the network would be."""

    calls = 0

    def send(self, *_: object, **__: object) -> None:
        self.calls += 1
        raise ConnectionError

    def close(self) -> None:
        """Nothing is open."""


def main(rows: int) -> None:
    """Print `{"milliseconds": [of each tick], "calls": number}`."""
    call_command("migrate", verbosity=0)
    workspace = Workspace.objects.create(slug="main", base_url=PLATFORM, fixed_token="bench")
    network = transport.MOUNTS["http"] = Counting()
    Property.objects.bulk_create(
        (
            Property(
                workspace=workspace,
                object_reference_id=f"T-{number}",
                platform_id=str(number),
                desired=DOCUMENT,
                observed=DOCUMENT,
            )
            for number in range(rows)
        ),
        batch_size=2_000,
    )
    print(json.dumps({"milliseconds": [tick() for _ in range(ROUNDS)], "calls": network.calls}))


def tick() -> float:
    started = time.perf_counter()
    assert tasks.tick() == 0
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main(int(sys.argv[1]))
