"""Link a property that is only here with one that the platform has: both become one row (I36).

The row of the platform stays, with its id, orders and history. It gets our reference, and our
values as if they had been there when it was read first: a field in which both sides differ is
decided by a policy, or by a person (I4). History, placements and all else of the other row move to
it, and that row is removed. So the constraints of the table, one row for each reference and for
each platform id, make sure that nothing is linked twice (decision 28).
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, models, transaction
from django.db.models import F, ProtectedError

from crm_sync import row_locks
from crm_sync.sentence import sentence
from crm_sync.work.doorbell import doorbell
from properties import merge
from properties.catalog import READ_ONLY, equal
from properties.domain import candidates, field_history, owners
from properties.domain.candidates import only_here, only_there
from properties.domain.editing import QUEUE, REFERENCE, as_read
from properties.models import BatchEdit, Change, Conflict, Property
from properties.models.change import Cause, Origin
from properties.models.property import UNFED, with_derived
from properties.pull.observation import Observation, observe

FEED_MEMORY = ("fed", "fed_digest", "fed_by")


class LinkOutcome(StrEnum):
    """The result of one link."""

    LINKED = "linked"
    CHANGED = "changed"  # one of both is no candidate any more: somebody was faster
    BUSY = "busy"  # a worker has one of both, or both have a draft: try again later


class _Lost(Exception):
    """Somebody wrote one of both rows in between; nothing was changed."""


@dataclass(frozen=True)
class Linking:
    """Who links, when, and which side wins if both have a value (`Workspace.ConflictPolicy`).

    Attributes:
        actor: None for a command, which `program` names.
    """

    policy: str
    now: datetime
    actor: AbstractBaseUser | None = None
    program: str = ""


def link(workspace_id: int, ours: int, theirs: int, by: Linking) -> LinkOutcome:
    """Make one row of two, in one transaction. A repetition changes nothing.

    Args:
        ours, theirs: the keys of a row that is only here, and of one only the platform made.
    """
    here = only_here(workspace_id).filter(pk=ours).first()
    there = only_there(workspace_id).filter(pk=theirs).first()
    if here is None or there is None:
        return LinkOutcome.CHANGED
    try:
        with transaction.atomic():
            _link(here, there, by)
    except (_Lost, IntegrityError, ProtectedError):
        return LinkOutcome.BUSY
    doorbell.ring(QUEUE, workspace_id)
    return LinkOutcome.LINKED


def link_all(
    workspace_id: int, pairs: Iterable[tuple[int, int]], by: Linking, *, until: float
) -> Counter[LinkOutcome]:
    """Link pairs until a time of the monotonic clock, at least one; return their outcomes.

    What is left is still matched, so that a repetition goes on with it.
    """
    counts: Counter[LinkOutcome] = Counter()
    for ours, theirs in pairs:
        counts[link(workspace_id, ours, theirs, by)] += 1
        if time.monotonic() >= until:
            break
    candidates.wake(workspace_id, now=by.now)
    return counts


def _link(here: Property, there: Property, by: Linking) -> None:
    """Write all of one link.

    Raises:
        _Lost, IntegrityError, ProtectedError: nothing may be committed.
    """
    row_locks.lock(Property.objects.filter(pk__in=[here.pk, there.pk]))
    free = Property.objects.filter(pk=here.pk, revision=here.revision, platform_id=None)
    free = free.filter(create_sent_at=None, lease_token=None, inflight={})
    # This locks the row, so that no worker claims it.
    if not free.update(due_at=None, verify_at=None):
        raise _Lost
    _end_replaced(here, there, by)
    revision = absorb(here, there)
    seen = _seen(here, there, by)
    columns: dict[str, Any] = {
        "object_reference_id": here.object_reference_id,
        "desired": seen.columns.get("desired", _wanted(here, there)),
        "problem": seen.columns["problem"],
        "due_at": by.now,
        "is_urgent": True,
        **{name: getattr(here, name) for name in FEED_MEMORY},
        "leftover": {**there.leftover, **here.leftover},
    }
    mine = Property.objects.filter(UNFED, **as_read(there))
    if not mine.update(**with_derived(there, columns), revision=revision + 1):
        raise _Lost
    there.revision = revision
    _end_agreed(there, columns, by)
    _record(here, there, columns["desired"], seen, by)


def _end_replaced(here: Property, there: Property, by: Linking) -> None:
    """Close the questions about the property that is gone at fields where the other one has one."""
    asked = Conflict.objects.filter(real_estate_property=there, decision="").values("path")
    opened = Conflict.objects.filter(real_estate_property=here, decision="", path__in=asked)
    wanted = merge.leaves(here.desired)
    values = {path: wanted.get(path) for path in opened.values_list("path", flat=True)}
    origin = Origin.ADMIN if by.actor else Origin.API
    field_history.close_conflicts(here, values, origin=origin, now=by.now, actor=by.actor)


def _end_agreed(there: Property, columns: dict[str, Any], by: Linking) -> None:
    """Close the questions about the property that is gone: the platform has these values now."""
    wanted, asked = merge.leaves(columns["desired"]), columns["problem"].get("CONFLICT", {})
    opened = Conflict.objects.filter(real_estate_property=there, decision="")
    paths = opened.exclude(path__in=[*asked]).values_list("path", flat=True)
    values = {path: wanted.get(path) for path in paths}
    field_history.close_conflicts(there, values, origin=Origin.PLATFORM, now=by.now)


def _wanted(here: Property, there: Property) -> merge.Document:
    """Return what we want of the linked property: our values, over them unsent edits of theirs."""
    return merge.changed(here.desired, _unsent(there)[0])


def _unsent(there: Property) -> tuple[merge.Leaves, merge.Leaves]:
    """Return the edits of their row that were not sent yet, and what the platform has instead."""
    wanted, known = merge.leaves(there.desired), merge.leaves(there.observed)
    paths = wanted.keys() | known.keys()
    edits = {p for p in paths - READ_ONLY if not equal(p, wanted.get(p), known.get(p))}
    edits -= {REFERENCE}
    return {p: wanted.get(p) for p in edits}, {p: known.get(p) for p in edits}


def _seen(here: Property, there: Property, by: Linking) -> Observation:
    """Merge what the platform has into our values, as if it was read for the first time.

    The reference is decided: it becomes ours. So are the edits of their row.
    """
    agreed = _unsent(there)[1] | {REFERENCE: there.observed.get(REFERENCE)}
    row = Property(
        workspace_id=there.workspace_id,
        object_reference_id=here.object_reference_id,
        platform_id=there.platform_id,
        desired=_wanted(here, there),
        observed=merge.document({p: v for p, v in agreed.items() if v is not None}),
        problem=there.problem,
    )
    rules = replace(owners.of_key(there.workspace_id), policy=by.policy)
    return observe(row, there.observed, rules, now=by.now, inflight={})


def _record(
    here: Property, there: Property, desired: merge.Document, seen: Observation, by: Linking
) -> None:
    """Write what the link has changed, and its conflicts."""
    before, after = merge.leaves(there.desired), merge.leaves(desired)
    changes = {
        path: after.get(path)
        for path in sorted(before.keys() | after.keys() - READ_ONLY)
        if not equal(path, before.get(path), after.get(path))
    }
    note = sentence("linked with %(row)s, which was only here", row=str(here))
    if by.program:
        note = sentence("%(text)s, by %(program)s", text=note, program=by.program)
    field_history.record(
        there,
        before,
        changes,
        origin=Origin.ADMIN if by.actor else Origin.API,
        now=by.now,
        actor=by.actor,
        note=note,
        cause=Cause.MATCH.of(here.pk),
    )
    for clash in seen.clashes:
        decided = seen.decisions[clash.path]
        field_history.note_conflicts(there, [clash], decided.policy, now=by.now, rule=decided.rule)


def absorb(other: Property, row: Property) -> int:
    """Point to `row` all that points to `other`: history, placements, orders, batches; delete it.

    A batch that has both rows keeps `row`. Call it in a transaction.

    Returns:
        the revision from which `row` goes on: the changes of the other row come before it.

    Raises:
        ProtectedError: something points to the other row only now.
    """
    for owner in (Change, BatchEdit):  # they name an edit by its revision; 0 names none
        named = owner._base_manager.filter(real_estate_property=other, revision__gt=0)
        named.update(revision=F("revision") + row.revision)
    for model, name in _references():
        rows = model._base_manager.filter(**{name: other.pk})
        if field := {"BatchEdit": "batch", "Batch_properties": "batch"}.get(model.__name__):
            both = model._base_manager.filter(**{name: row.pk}).values(field)
            rows = rows.exclude(**{f"{field}__in": both})
        rows.update(**{name: row.pk})
    Property.objects.filter(pk=other.pk).delete()
    return row.revision + other.revision


def _references() -> Iterator[tuple[type[models.Model], str]]:
    """Yield each model of any app with a foreign key to a property, and the key's column."""
    for relation in Property._meta.get_fields(include_hidden=True):
        if isinstance(relation, models.ManyToOneRel):
            yield relation.related_model, relation.field.attname
