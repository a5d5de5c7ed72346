"""What all know of a queue, whichever app has it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from django.db import models


class Queue(Protocol):
    """What all know of a queue; `work.queues.RowQueue` is one."""

    @property
    def name(self) -> str:
        """The name by which rings, commands and pages know it."""

    def workspaces(self, now: datetime) -> set[int]:
        """Return the ids of the workspaces that have a row due at `now`."""

    def with_due(self, now: datetime) -> "models.QuerySet[Any]":
        """Return the same workspaces, as a query."""

    def backlog(self, now: datetime) -> Mapping[int, tuple[int, datetime]]:
        """Return by workspace how many rows are due and not leased, and since when the first."""
