"""What the holder of a claimed property writes to it: fenced, and with the revision that it read.

An edit of our people counts the revision on. So what comes with a write of the holder's is worked
out again on the newer row, and an ending that an edit has overtaken leaves the row due.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from crm_sync.jobs.due import Claim, LeaseLost
from crm_sync.jobs.durability import durable
from crm_sync.models import Workspace
from properties.catalog import identical
from properties.merge import Document, Leaves
from properties.models import Property
from properties.pull.observation import observe

Columns = dict[str, Any]


@dataclass
class Holder:
    """Who holds a property; `row` is the newest state that was read. All raise `LeaseLost`."""

    claim: Claim[Property]
    workspace: Workspace
    clock: Callable[[], datetime]

    def __post_init__(self) -> None:
        self.row = self.claim.row

    def merge(
        self,
        theirs: Document | None,
        *,
        then: Callable[[Property], Columns],
        sent: Leaves | None = None,
    ) -> None:
        """Merge what the platform says, and write it with what follows from it in one UPDATE.

        Args:
            theirs: cleaned text; None where nothing was read.
            then: what else to write of the merged row; asked again when the row was edited.
            sent: see `observe`.
        """
        policy = self.workspace.conflict_policy
        while True:
            now, before = self.clock(), self.row
            seen = observe(before, theirs, policy, now=now, sent=sent) if theirs else None
            row = _with(before, seen.columns if seen else {})
            columns = dict(seen.columns) if seen else {}
            columns |= then(row)
            if "desired" in columns or columns.get("problem", before.problem) != before.problem:
                # Else a form that was opened before would save them away.
                columns["revision"] = before.revision + 1
            with ExitStack() as around:
                if columns.get("inflight"):
                    around.enter_context(durable())  # a PATCH follows that cannot be called back
                if seen and seen.leaves_traces:
                    around.enter_context(transaction.atomic())
                if seen:
                    seen.make_way()
                changed = _changed(before, columns)
                write = self.claim.finish_if if "lease_token" in columns else self.claim.write
                done = write(changed, revision=before.revision)
                if done and seen and seen.leaves_traces:
                    seen.keep(policy, now=now)
                elif seen and seen.duplicate_mirror:
                    transaction.set_rollback(True)
            if done:
                _set(row, columns)
                self.row = row
                return
            self.row = self._fresh()

    def write(self, **columns: Any) -> None:
        """Write columns that the holder owns; the revision stays the one that was read."""
        if not self.claim.fenced.update(**columns):
            raise LeaseLost
        _set(self.row, columns)

    def end(self, **columns: Any) -> None:
        """Give the row back with its ending; one that was edited meanwhile stays due."""
        neutral = {k: v for k, v in columns.items() if k not in ("due_at", "problem")}
        if columns.get("problem", self.row.problem) != self.row.problem:
            # Else a form that was opened before would save the problem away.
            columns["revision"] = self.row.revision + 1
        if not self.claim.finish_if(columns, revision=self.row.revision):
            self.claim.finish(due_at=self.claim.row.due_at, **neutral)

    def _fresh(self) -> Property:
        row = self.claim.fenced.first()
        if row is None:
            raise LeaseLost
        return row


def _with(row: Property, columns: Columns) -> Property:
    """Return the row as it will be; `copy.copy` and `setattr` take ten times as long."""
    merged = Property.__new__(Property)
    merged.__dict__.update(row.__dict__, **columns)
    return merged


def _set(row: Property, columns: Columns) -> Columns:
    """Set the columns on the row as they will be written; returns them."""
    for name, value in columns.items():
        setattr(row, name, value)
    return columns


def _changed(row: Property, columns: Columns) -> Columns:
    """Leave out what stands there already; `due_at` is not the holder's alone, so it is written."""
    return {
        name: value
        for name, value in columns.items()
        if name == "due_at" or not identical(getattr(row, name), value)
    }
