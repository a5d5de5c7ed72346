"""An edit: the only way to change what we want of a property (I1, I7).

An edit is one UPDATE, on the condition that the row still has the revision and the read of the
platform that we know. If somebody else was faster, the edit is repeated on the new row. So a form,
a feed and a worker cannot overwrite each other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from crm_sync import durability, row_locks
from crm_sync.models import Workspace
from crm_sync.platform import references
from crm_sync.sentence import sentence
from crm_sync.text import clean
from crm_sync.work import commits
from crm_sync.work.doorbell import doorbell
from crm_sync.work.fast_sql import RowInsert, RowUpdate
from properties import merge
from properties.catalog import (
    LONGEST_LEAF,
    READ_ONLY,
    UNKNOWN_NAMES,
    FieldFault,
    equal,
    leaf_of,
    misplaced,
    new_faults,
    validate,
    within_limit,
)
from properties.domain import field_history, owners, unsayable
from properties.merge import Clash, Leaves
from properties.models import Change, Conflict, Property
from properties.models.change import BY_FEED, Origin
from properties.models.conflict import BOTH_CHANGED
from properties.models.property import ProblemKind, with_derived, with_problem, without_problems
from properties.ownership import Ownership

ConflictPolicy = Workspace.ConflictPolicy

QUEUE = "properties"
REFERENCE = "objectReferenceId"


class Invalid(Exception):
    """The platform refuses these values (§4.6, §7) or owns them; `faults` names each field."""

    def __init__(self, faults: list[FieldFault]) -> None:
        super().__init__("; ".join(fault.sentence for fault in faults))
        self.faults = faults


class Outdated(Exception):
    """The property is at another revision than the caller demands; nothing was changed."""


def edit(
    property_: Property,
    changes: Mapping[str, Any],
    *,
    origin: Origin,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    note: str = "",
    cause: str = "",
    revision: int | None = None,
    ownership: Ownership | None = None,
) -> set[str]:
    """Change what we want of a property, and make it due for a push.

    Args:
        property_: an instance of any age; it is refreshed.
        changes: the new value of each leaf to change; None clears. "prices.rent" is a leaf,
            "prices" is not.
        cause: what makes this and other changes together (`Change.cause`).
        revision: the edit is made at this revision only; None allows any.
        ownership: the rules of the workspace, if they were read already.

    A change that would erase a value of the platform that no PATCH can hold is not sent: it waits
    for a person (`properties.domain.unsayable`).

    Returns:
        the leaves that really changed; empty if the property had all these values already.

    Raises:
        Invalid: nothing was changed, because the platform would refuse a value or a rule of the
            workspace keeps it. The faults name each field. For a path that is no leaf, they name
            the leaf that holds it.
        Outdated: it is at another revision, or was when we wrote. The instance is refreshed.
    """
    cleaned = _cleaned(changes)
    while True:
        if revision not in (None, property_.revision):
            raise Outdated(f"{property_} is at revision {property_.revision}, not {revision}")
        before = merge.leaves(property_.desired)
        real = _real(property_, cleaned, before, ownership or owners.of(property_))
        if not real:
            return set()
        by: _By = {"origin": origin, "actor": actor, "now": now}
        done = _write(property_, before, real, note=note, cause=cause, **by)
        property_.refresh_from_db()
        if done:
            doorbell.ring(QUEUE, property_.workspace_id)
            return set(real)


@dataclass(frozen=True)
class RowEdit:
    """An edit of a property as it was read.

    Attributes:
        changes: as for `edit`.
        columns: other columns of the row to write with it, even if it has all changes already.
    """

    row: Property
    changes: Leaves
    columns: Mapping[str, Any]


def edit_all(
    edits: Sequence[RowEdit],
    *,
    origin: Origin,
    now: datetime,
    ownership: Ownership,
    cause: str = "",
) -> set[int]:
    """Make edits of different properties with one commit, as far as one UPDATE of each is enough.

    All others are for `edit`: somebody has changed the row since it was read or has it locked, the
    edit is invalid or changes nothing, or it concerns a value of the platform that a person knows
    of or has to decide about.

    Args:
        edits: none by a person.

    Returns:
        the keys of the properties whose edits were made.
    """
    rows = [one.row.pk for one in edits]
    conflicts = Conflict.objects.filter(real_estate_property__in=rows, decision="")
    in_conflict = set(conflicts.values_list("real_estate_property", flat=True))
    by = {"origin": origin, "actor_id": None, "note": "", "cause": cause, "at": now}
    free = (one for one in edits if one.row.pk not in in_conflict)
    planned = [change for one in free if (change := _planned(one, by, ownership))]
    with durability.durable():  # a feed is not read again for what a power cut undoes
        made = {planned[n].where["id"] for n in commits.update_each(Property, planned)}
    doorbell.ring_each(QUEUE, (one.row.workspace_id for one in edits if one.row.pk in made))
    return made


def _planned(one: RowEdit, by: Mapping[str, Any], rules: Ownership) -> RowUpdate | None:
    """Return the UPDATE of an edit, or None if it is for `edit`; see `edit_all`."""
    before = merge.leaves(one.row.desired)
    try:
        real = _real(one.row, _cleaned(one.changes), before, rules)
    except Invalid:
        return None
    if unsayable.erasing(one.row, real, by_person=False):
        return None
    where = as_read(one.row)
    if real:
        columns = {**_columns(one.row, real, by["at"]), **one.columns}
        history = field_history.entries(one.row, before, real, **by)
        beside = [RowInsert(Change, entry) for entry in history]
        return RowUpdate(columns, where, beside=beside)
    return RowUpdate(one.columns, where) if one.columns else None


def _cleaned(changes: Mapping[str, Any]) -> Leaves:
    return {path: clean(value)[0] for path, value in changes.items()}


def _real(property_: Property, cleaned: Leaves, before: Leaves, rules: Ownership) -> Leaves:
    """Return the changes that the property does not have already; raise `Invalid` as `edit`."""
    real = {p: v for p, v in cleaned.items() if not equal(p, v, before.get(p))}
    asked = {p: v for p, v in cleaned.items() if p in real or p not in before}
    found = without_theirs(property_, asked, faults(asked, before))
    if found := found + owners.refused(property_, real, rules):
        raise Invalid(found)
    return real


def _columns(row: Property, real: Leaves, now: datetime) -> dict[str, Any]:
    """Return the columns that any edit changes."""
    return {
        **with_derived(row, {"desired": merge.changed(row.desired, real)}),
        "revision": row.revision + 1,
        "problem": without_problems(row.problem, set(real)),
        "due_at": now,
    }


class _By(TypedDict):
    origin: Origin
    actor: AbstractBaseUser | None
    now: datetime


def _write(
    property_: Property,
    before: Leaves,
    real: Leaves,
    *,
    note: str,
    cause: str,
    **by: Unpack[_By],
) -> bool:
    """Write the changes and their history; return False if the row has another revision now."""
    asked = unsayable.erasing(property_, real, by_person=by["origin"] == Origin.ADMIN)
    texts = unsayable.texts(asked)
    if by["origin"] in BY_FEED:
        asked += (still := _still_asked(property_, real, texts))
        texts |= {one.path: BOTH_CHANGED for one in still}
    columns = _columns(property_, real, by["now"])
    columns["problem"] = with_problem(columns["problem"], ProblemKind.CONFLICT, texts)
    if by["origin"] == Origin.ADMIN:  # before rows that a feed or a check made due
        columns["is_urgent"] = True
    with transaction.atomic():
        done = Property.objects.filter(**as_read(property_)).update(**columns)
        if done:
            field_history.record(property_, before, real, note=note, cause=cause, **by)
            over = real.keys() - {one.path for one in asked}
            field_history.close_conflicts(property_, {path: real[path] for path in over}, **by)
            field_history.note_conflicts(property_, asked, ConflictPolicy.ASK, now=by["now"])
    return bool(done)


def _still_asked(row: Property, real: Leaves, known: Collection[str]) -> tuple[Clash, ...]:
    """Return a clash for each change at which a person was asked and that is not theirs either.

    A feed does not know of the conflict, so it cannot decide it (I4).

    Args:
        known: leaves for which there is a clash already.
    """
    waiting = real.keys() & row.problem.get(ProblemKind.CONFLICT, {}).keys() - set(known)
    if not waiting:
        return ()
    rows = Conflict.objects.filter(real_estate_property=row, decision="", path__in=waiting)
    return tuple(
        Clash(one.path, ours=real[one.path], base=one.base, theirs=one.theirs)
        for one in rows
        if not equal(one.path, real[one.path], one.theirs)
    )


def as_read(property_: Property) -> dict[str, Any]:
    """Return the columns that a row has as long as nobody writes the document that was read.

    A read of the platform may bring what only the platform sets, at the same revision.
    """
    return {"id": property_.pk, "revision": property_.revision, "read_at": property_.read_at}


def faults(changes: Leaves, before: Leaves) -> list[FieldFault]:
    """Return why `edit` refuses these changes: a path is no leaf, or a value is invalid.

    A stored value at a path that is no leaf was not written by `edit`, and may be cleared.
    """
    fits = {path: value for path, value in changes.items() if len(path) <= LONGEST_LEAF}
    said = {path: value for path, value in fits.items() if value is not None}
    surplus = within_limit({**before, **said})[1]
    if surplus and surplus > within_limit(before)[1]:
        text = sentence(
            "at most %(most)s names that the platform's model does not have are kept: leave out"
            " %(count)s",
            most=UNKNOWN_NAMES,
            count=surplus,
        )
        return [FieldFault("", text)]
    found: list[FieldFault] = []
    for path, value in changes.items():
        is_cleaned_up = value is None and path in before
        if not is_cleaned_up and (fault := misplaced(path)):
            found.append(fault)
        else:
            found += new_faults(path, value, before.get(path))
    return found


def without_theirs(
    property_: Property, changes: Leaves, found: list[FieldFault]
) -> list[FieldFault]:
    """Return the faults that the platform's own values lack: its values are accepted (A50).

    In a leaf that only the platform sets, all values have one and the same fault. So only the very
    value of the platform is accepted there.
    """
    theirs = merge.leaves(property_.observed) if found else {}
    paths = {leaf_of(fault.path) for fault in found}
    same = {p for p in paths & READ_ONLY if equal(p, changes.get(p), theirs.get(p))}
    others = (paths & theirs.keys()) - READ_ONLY
    known = [fault for path in others for fault in validate(path, theirs[path])]
    return [fault for fault in found if fault.path not in same and fault not in known]


def create(
    workspace: Workspace,
    reference: str,
    changes: Mapping[str, Any],
    *,
    origin: Origin,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    note: str = "",
    ownership: Ownership | None = None,
) -> Property:
    """Create a property that the CRM has and we do not know yet, and make it due for a push.

    Raises:
        Invalid: the reference cannot be sent (A14), or a value is refused as by `edit`.
        IntegrityError: a property has this reference already.
    """
    fault = references.fault(reference)
    if fault:
        raise Invalid([FieldFault(REFERENCE, fault)])
    with transaction.atomic():
        property_ = Property.objects.create(workspace=workspace, object_reference_id=reference)
        document = dict(changes) | {REFERENCE: reference}
        by: _By = {"origin": origin, "actor": actor, "now": now}
        edit(property_, document, note=note, ownership=ownership, **by)
    return property_


def due_now(properties: QuerySet[Property], *, now: datetime | None = None) -> int:
    """Make the properties due for a read and, if they differ, a push; return their number.

    They go first, because a person waits for them.
    """
    count = row_locks.update(properties, due_at=now or timezone.now(), is_urgent=True)
    doorbell.ring_each(QUEUE, properties.values_list("workspace_id", flat=True).distinct())
    return count
