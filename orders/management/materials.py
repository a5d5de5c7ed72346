"""What the commands share that list materials: the lists read now, and how they are printed."""

import time
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from crm_sync.management.base import PARTLY, SyncCommand
from crm_sync.work import turn
from orders.materials import deliveries
from orders.models import MaterialSet
from orders.plugged.order_queues import MATERIALS

SLICE = 1.0  # seconds between two looks whether all of them are read
WHILE_BUSY = 0.5  # seconds until it is asked again whether a worker is still at it


class MaterialCommand(SyncCommand):
    """A command that reads lists of materials now, and prints them.

    Exit codes: 0 listed, also where there are none; 3 a list was not read, or lists nothing.
    """

    def read_and_emit(self, name: str, value: str, which: Q, options: dict[str, Any]) -> None:
        """Read the due ones among these sets, and print what all of them hold.

        Args:
            name: what the sets belong to, in the JSON document; with its value.
        """
        every = MaterialSet.objects.filter(which)
        self._read(every)
        sets = sorted(deliveries.shown(which), key=lambda one: one.target_platform)
        lines = [
            "  ".join([_title(one), material.file_name, material.url])
            for one in sets
            for material in one.materials.all()
        ]
        document = {name: value, "sets": [_document(one) for one in sets]}
        self.emit(document, lines or ["none so far"], as_json=options["json"])
        if wrong := [f"{_title(one)}: {_wrong(one)}" for one in every if _wrong(one)]:
            self.fail("; ".join(wrong), PARTLY)

    def _read(self, sets: QuerySet[MaterialSet]) -> None:
        """Read them, or wait for the worker that does."""
        while first := sets.filter(due_at__lte=timezone.now()).first():
            done = turn.take(MATERIALS, first.workspace_id, seconds=SLICE)
            if done.busy:
                time.sleep(WHILE_BUSY)
            elif not done.total:
                break  # the workspace waits, or the workers use all calls that it allows


def _wrong(one: MaterialSet) -> str:
    return one.problem or ("not read yet" if one.due_at else "")


def _title(one: MaterialSet) -> str:
    name = one.target_platform or f"{one.product} {one.visual_type}".rstrip()
    return name or "marketing materials"


def _document(one: MaterialSet) -> dict[str, Any]:
    return {
        "product": one.product,
        "visualType": one.visual_type,
        "targetPlatform": one.target_platform,
        "readyAt": one.ready_at.isoformat(),
        "fetchedAt": one.fetched_at.isoformat() if one.fetched_at else None,
        "problem": one.problem,
        "materials": [
            {
                "id": material.platform_id,
                "fileName": material.file_name,
                "mimeType": material.mime_type,
                "url": material.url,
            }
            for material in one.materials.all()
        ],
    }
