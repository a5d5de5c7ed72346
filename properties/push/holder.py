"""Writes the plans of a push to a claimed property, under its lease and the revision that was read.

Each edit increments the revision. If a row was edited in between, its plan is made again from the
new row. If the push has ended by then, the row stays due.
"""

from collections.abc import Callable, Collection
from contextlib import ExitStack, nullcontext
from datetime import datetime
from typing import Any

from django.db import transaction

from crm_sync.durability import durable
from crm_sync.models.due import RELEASED
from crm_sync.outgoing import outbox
from crm_sync.platform.errors import RejectedError
from crm_sync.sentence import sentence
from crm_sync.work.leases import Claim, LeaseLost
from properties import merge
from properties.catalog import READ_ONLY
from properties.domain import field_history
from properties.domain.editing import REFERENCE
from properties.models import Change, Property
from properties.models.change import Origin
from properties.models.property import ProblemKind, taken_reference, with_derived, with_problem
from properties.pull.linking import absorb
from properties.pull.observation import Observation, RuledBy
from properties.push import sync_messages
from properties.push.plan import Columns, Plan, PushOutcome, changed, with_columns

# The push goes on later, with the same urgency.
UNFINISHED = (PushOutcome.DELAYED, PushOutcome.WAITING, PushOutcome.HELD)


class Holder:
    """The holder of a property; `row` is as last read or written. All methods raise `LeaseLost`."""

    def __init__(
        self, claim: Claim[Property], wanted: Collection[str], clock: Callable[[], datetime]
    ) -> None:
        """Start with the claimed row; `wanted` are the kinds of messages to send about it."""
        self.claim, self.wanted, self.clock = claim, wanted, clock
        self.row = claim.row

    def write_plan(self, make: Callable[[Property], Plan]) -> Plan:
        """Write the columns of a plan; if the row was edited, make the plan again from the new row.

        Args:
            make: a pure function.

        Returns:
            the plan that was written; `row` has its columns. If a call follows and the claim
            recorded it on the row already, nothing is written.

        Raises:
            RejectedError: another row mirrors this platform id already (A44).
        """
        while True:
            plan = make(self.row)
            if plan.patch.parts and plan.is_written_in(self.row):
                return plan
            columns = _with_revision(self.row, _with_free_key(self.row, plan.columns))
            twin = _duplicate_mirror(self.row, columns)
            if twin:
                columns["revision"] = self.row.revision + twin.revision + 1
            if self._write(plan, columns, twin):
                self.row = with_columns(self.row, columns)
                return plan
            row = self.claim.fenced.first()
            if row is None:
                raise LeaseLost
            self.row = row

    def write(self, **columns: Any) -> None:
        """Write columns that only the holder writes, at any revision."""
        if not self.claim.fenced.update(**columns):
            raise LeaseLost
        self.row = with_columns(self.row, columns)

    def end(self, plan: Plan) -> PushOutcome:
        """Write the end of a push, release the row, return the outcome. An edited row stays due."""
        if plan.ending is None:
            raise ValueError("the patch of this plan is still to be sent")
        urgency = dict(self.claim.urgency if plan.ending in UNFINISHED else {})
        columns = with_derived(self.row, {**_with_revision(self.row, plan.columns), **urgency})
        if not self._finish(columns, revision=self.row.revision):
            edited = {"due_at": self.claim.row.due_at}
            rest = {k: v for k, v in plan.columns.items() if k != "problem"}
            self.claim.finish(**rest | urgency | edited)
        return plan.ending

    def _write(self, plan: Plan, columns: Columns, twin: Property | None) -> bool:
        row, seen = self.row, plan.seen
        with ExitStack() as around:
            if plan.patch.parts:
                around.enter_context(durable())  # the call that follows cannot be undone
            if twin or (seen and seen.leaves_traces):
                around.enter_context(transaction.atomic())
            behind = row
            if twin:  # first, since only one row may have this id
                as_read = Property.objects.filter(pk=twin.pk, revision=twin.revision)
                if not as_read.update(due_at=None):  # a person has edited it since
                    return False
                behind = with_columns(row, {"revision": absorb(twin, row)})
            write = self._finish if plan.ending else self.claim.write
            is_written = write(with_derived(row, changed(row, columns)), revision=row.revision)
            if is_written and seen:
                _keep(seen, behind)
            elif twin:
                transaction.set_rollback(True)
        return is_written

    def _finish(self, columns: Columns, revision: int) -> bool:
        """End the push of the revision that was read, and store its message in one transaction."""
        now, row = self.clock(), with_columns(self.row, columns | RELEASED)
        message = sync_messages.message(row, now=now)
        beside = []
        if message:
            columns = columns | {"told": sync_messages.mark(message.data["state"], row)}
            beside = [outbox.change(row.workspace_id, message, now=now)]
        is_wanted = message is not None and message.kind in self.wanted
        with transaction.atomic() if is_wanted else nullcontext():
            is_written = self.claim.finish_if(columns, beside, revision=revision)
            if is_written and message and is_wanted:
                outbox.send(row.workspace_id, [message], now=now)
        return is_written


def _keep(seen: Observation, row: Property) -> None:
    """Write the history of a merge, in the transaction that wrote its columns."""
    if not seen.leaves_traces:
        return
    changes = {path: value for path, value in seen.adopted.items() if path not in READ_ONLY}
    before = merge.leaves(row.desired)
    field_history.record(row, before, changes, origin=Origin.PLATFORM, now=seen.at)
    ours = merge.leaves(seen.columns.get("desired", row.desired))
    agreed = {path: ours.get(path) for path in seen.agreed}
    field_history.close_conflicts(row, agreed, origin=Origin.PLATFORM, now=seen.at)
    for clash in seen.clashes:
        by = seen.decisions.get(clash.path, RuledBy())
        field_history.note_conflicts(row, [clash], by.policy, rule=by.rule, now=seen.at)


def _duplicate_mirror(row: Property, columns: Columns) -> Property | None:
    """Return the row that a walk made for a property that turns out to be ours, created again.

    Its orders and history become those of our row.

    Raises:
        RejectedError: the row that mirrors it was edited here, or is not marked as a duplicate.
    """
    platform_id = columns.get("platform_id")
    if platform_id is None or platform_id == row.platform_id:
        return None
    twins = Property.objects.filter(workspace=row.workspace_id, platform_id=platform_id)
    twin = twins.exclude(pk=row.pk).first()
    if twin is None:
        return None
    edits = Change.objects.filter(real_estate_property=twin).exclude(origin=Origin.PLATFORM)
    if ProblemKind.DUPLICATE in twin.problem and not edits.exists():
        return twin
    raise RejectedError(
        sentence(
            "the platform says that this is its property %(id)s, which is %(twin)s here",
            id=platform_id,
            twin=str(twin),
        ),
        status=409,
    )


def _with_free_key(row: Property, columns: Columns) -> Columns:
    """Keep a reference with the row that has it, and add a problem to this row (A44)."""
    reference = columns.get("object_reference_id")
    if reference is None:
        return columns
    mine = Property.objects.filter(workspace=row.workspace_id, object_reference_id=reference)
    other = mine.exclude(pk=row.pk).first()
    if other is None or _take_reference(other, reference, columns["read_at"]):
        return columns
    said = taken_reference(reference, other)
    problem = with_problem(columns["problem"], ProblemKind.DUPLICATE, said)
    kept = {name: value for name, value in columns.items() if name != "object_reference_id"}
    return kept | {"problem": problem}


def _take_reference(other: Property, reference: str, now: datetime) -> bool:
    """Take a reference from a row whose property has another one by now, on both sides (A44).

    It becomes due, and its read gives it the one that it has. So two can exchange theirs.
    """
    both = {other.observed.get(REFERENCE), other.desired.get(REFERENCE)}
    if other.platform_id is None or len(both) != 1 or not both.isdisjoint({None, "", reference}):
        return False
    as_read = Property.objects.filter(pk=other.pk, revision=other.revision)
    return bool(as_read.update(object_reference_id=None, revision=other.revision + 1, due_at=now))


def _with_revision(row: Property, columns: Columns) -> Columns:
    """Increment the revision if a form that was opened before could overwrite these columns.

    No form has what only the platform sets, and an edit needs the read that brought it.
    """
    desired = columns.get("desired", row.desired)
    is_same = desired is row.desired or merge.same_json(_editable(desired), _editable(row.desired))
    if is_same and columns.get("problem", row.problem) == row.problem:
        return columns
    return columns | {"revision": row.revision + 1}


def _editable(document: merge.Document) -> merge.Document:
    return {name: value for name, value in document.items() if name not in READ_ONLY}
