"""One edit of many properties: a plan and one confirmation (I1, I7); its cause undoes it as one.

The plan stores the values that it showed. What somebody has changed since is left alone and named.
Each property is edited in a transaction of its own, together with its `BatchEdit`. So a request
that is killed loses nothing, and the next one goes on where it ended.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from crm_sync.sentence import Sentence, said, sentence
from crm_sync.translated import said_of
from crm_sync.work.doorbell import doorbell
from properties import merge
from properties.catalog import FieldFault, equal, last_label, leaf_of
from properties.domain import owners
from properties.domain.editing import Invalid, Outdated, edit, faults, without_theirs
from properties.domain.field_history import newer
from properties.merge import Document, Leaves
from properties.models import Batch, BatchEdit, Property
from properties.models.change import Cause, Origin

MOST = 1_000  # properties in one edit
CHUNK = 100  # rows read at a time
COLUMNS = ("desired", "observed")  # what a plan reads of a property

Wanted = Callable[[Document], Leaves]
TO_SET = Q(revision=None) & ~Q(planned={})


@dataclass(frozen=True)
class EditCounts:
    """The numbers of properties of an edit.

    Attributes:
        to_set: a change is planned, and is not made yet.
        unchanged: every field has the new value already, and nothing is refused.
        refused, left: those with such a field.
        written: those that were changed.
    """

    total: int
    to_set: int
    unchanged: int
    refused: int
    written: int
    left: int


def counts(batch: Batch) -> EditCounts:
    """Count the properties of an edit, in one query."""
    found = batch.edits.aggregate(
        total=Count("pk"),
        to_set=Count("pk", filter=TO_SET),
        unchanged=Count("pk", filter=Q(planned={}, refused={})),
        refused=Count("pk", filter=~Q(refused={})),
        written=Count("pk", filter=Q(revision__gt=0)),
        left=Count("pk", filter=~Q(left={})),
    )
    return EditCounts(**found)


def plan(batch: Batch, wanted: Wanted, *, entered: Leaves, now: datetime) -> bool:
    """Store what the edit would do at each property, instead of an earlier plan.

    Args:
        wanted: returns the new leaves of a document.
        entered: what the person entered, to show it again.

    Returns:
        False if the batch was confirmed before; nothing was written.
    """
    with transaction.atomic():
        # This locks the batch until the commit, so that nobody confirms half a plan.
        open_one = Batch.objects.filter(pk=batch.pk, confirmed_at=None)
        if not open_one.update(wanted=entered, planned_at=now):
            return False
        batch.edits.all().delete()
        rows = batch.properties.order_by("object_reference_id", "pk").only(*COLUMNS)
        rows = rows.with_rules()
        BatchEdit.objects.bulk_create(
            (_planned(batch, row, wanted) for row in rows), batch_size=CHUNK
        )
    return True


def _planned(batch: Batch, row: Property, wanted: Wanted) -> BatchEdit:
    one, before = BatchEdit(batch=batch, real_estate_property=row), merge.leaves(row.desired)
    ownership = owners.of(row)
    for leaf, value in wanted(row.desired).items():
        old = before.get(leaf)
        if equal(leaf, value, old):
            one.same.append(leaf)
        elif found := (
            without_theirs(row, {leaf: value}, faults({leaf: value}, before))
            + owners.refused(row, {leaf: value}, ownership)
        ):
            one.refused[leaf] = _stored(found)
        else:
            one.planned[leaf] = [old, value]
    return one


def reasons(leaf: str, found: list[FieldFault]) -> str:
    """Return the messages of the faults of a leaf, for a place that names the leaf itself."""
    return "; ".join(
        said(fault.message)
        if fault.path in (leaf, "")
        else said_of(last_label(fault.path), said(fault.message))
        for fault in found
    )


def in_words(kept: Mapping[str, Any]) -> dict[str, str]:
    """Return `refused` or `left` of a `BatchEdit` in the language of the reader."""
    return {
        # An older version stored the reasons as one text.
        leaf: found if isinstance(found, str) else reasons(leaf, [*map(_fault, found)])
        for leaf, found in kept.items()
    }


def _stored(found: list[FieldFault]) -> list[Any]:
    return [[fault.path, Sentence(fault.message).stored] for fault in found]


def _fault(stored: list[Any]) -> FieldFault:
    path, message = stored
    return FieldFault(path, Sentence.of(message))


def start(batch: Batch, *, planned_at: str, actor: AbstractBaseUser, now: datetime) -> bool:
    """Confirm the plan that the page showed, once.

    Args:
        planned_at: when the shown plan was made, in ISO format.

    Returns:
        False if it was confirmed before, or if somebody has made another plan since.
    """
    if batch.planned_at is None or batch.planned_at.isoformat() != planned_at:
        return False
    shown = Batch.objects.filter(pk=batch.pk, confirmed_at=None, planned_at=batch.planned_at)
    return bool(shown.update(confirmed_at=now, confirmed_by=actor))


def set_rest(batch: Batch, *, now: datetime, until: float) -> None:
    """Make the planned changes that are not made yet, in the name of who confirmed them.

    Args:
        until: when to stop, by the monotonic clock. At least one property is edited.
    """
    count = batch.edits.count()
    note = sentence("batch %(key)s: set for %(count)s", key=str(batch.pk), count=count)
    with doorbell.bulk():
        for one in _each(batch.edits.filter(TO_SET)):
            _Step(one, batch, note, now).write()
            if time.monotonic() >= until:
                return


def _each(edits: QuerySet[BatchEdit]) -> Iterator[BatchEdit]:
    last = 0
    rows = edits.select_related("real_estate_property").order_by("pk")
    while some := list(rows.filter(pk__gt=last)[:CHUNK]):
        yield from some
        last = some[-1].pk


@dataclass(frozen=True)
class _Step:
    """The edit of one property, which is written once, together with its `BatchEdit`.

    Attributes:
        one: the `BatchEdit`, with its property as it was read.
    """

    one: BatchEdit
    batch: Batch
    note: Sentence
    now: datetime

    def write(self) -> None:
        """Give each leaf its new value, if it still has the one that the plan showed."""
        row, mine = self.one.real_estate_property, BatchEdit.objects.filter(pk=self.one.pk)
        refused: dict[str, Any] = {}
        while True:
            changes, changed = self._compare(row, refused)
            try:
                with transaction.atomic():
                    # The property first, as a link of it: else both could wait for the other.
                    locked = Property.objects.filter(pk=row.pk).select_for_update(no_key=True)
                    if not locked.values_list("pk").first():
                        return  # linked meanwhile: the next request edits the row that it is now
                    # This locks it until the commit, so that no other request edits it again.
                    if mine.filter(revision=None).update(revision=0, left=refused | changed):
                        self._edit(row, changes)
                    return
            except Outdated:
                row.refresh_from_db()
            except Invalid as error:
                row.refresh_from_db()
                refused |= _by_leaf(error.faults, changes)

    def _compare(self, row: Property, refused: Mapping[str, Any]) -> tuple[Leaves, dict[str, Any]]:
        """Return the changes, and the reasons for the leaves that somebody else changed."""
        changes, changed = {}, {}
        current = merge.leaves(row.desired)
        for leaf, (expected, new) in self.one.planned.items():
            there = current.get(leaf)
            if leaf in refused or equal(leaf, there, new):
                continue
            if equal(leaf, there, expected):
                changes[leaf] = new
            else:
                why = sentence("%(who)s changed it after the plan", who=newer(row, leaf).who)
                changed[leaf] = _stored([FieldFault(leaf, why)])
        return changes, changed

    def _edit(self, row: Property, changes: Leaves) -> None:
        revision, batch = row.revision, self.batch
        by: dict[str, Any] = {"actor": batch.confirmed_by, "note": self.note, "now": self.now}
        cause = Cause.BATCH.of(batch.pk)
        if changes and edit(
            row, changes, origin=Origin.ADMIN, revision=revision, cause=cause, **by
        ):
            BatchEdit.objects.filter(pk=self.one.pk).update(revision=revision + 1)


def _by_leaf(found: list[FieldFault], changes: Leaves) -> dict[str, Any]:
    """Return the reasons by leaf; a fault of no single leaf is one of all changes."""
    named = {leaf_of(fault.path) for fault in found} & changes.keys()
    return {
        leaf: _stored([one for one in found if not named or leaf_of(one.path) == leaf])
        for leaf in named or changes
    }
