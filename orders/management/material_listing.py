"""Shared parts of the commands that list materials: read the lists, and print them."""

import time
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from crm_sync.management.base import PARTLY, SyncCommand
from crm_sync.work import turn
from orders.materials import deliveries
from orders.models import MaterialSet
from orders.plugged.order_queues import MATERIALS

SLICE = 1.0  # seconds between two checks whether all lists are read
WHILE_BUSY = 0.5  # seconds between two checks whether a worker still reads


class MaterialCommand(SyncCommand):
    """A command that reads lists of materials and prints them.

    Exit codes: 0 listed, also if there are none; 3 a list was not read, or has a problem.
    """

    def read_and_emit(self, name: str, value: str, which: Q, options: dict[str, Any]) -> None:
        """Read the due sets, and print the materials of all sets.

        Args:
            name, value: the owner of the sets, as a member of the JSON document.
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
        """Read the due sets, or wait for the worker that reads them."""
        while first := sets.filter(due_at__lte=timezone.now()).first():
            done = turn.take(MATERIALS, first.workspace_id, seconds=SLICE)
            if done.busy:
                time.sleep(WHILE_BUSY)
            elif not done.total:
                break  # the workspace is paused, or the workers use all calls that it allows


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
