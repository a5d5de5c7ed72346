"""A person decides whose value stands if both sides changed a field (I4)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from crm_sync.jobs.doorbell import doorbell
from properties import merge
from properties.catalog import Fault, new_faults
from properties.difference import planned
from properties.editing import QUEUE, Invalid, edit
from properties.merge import Document
from properties.models import Conflict, Property
from properties.models.change import Origin
from properties.models.property import without_problems

Decision = Conflict.Decision


@dataclass(frozen=True)
class NextCall:
    """What goes out once conflicts are decided: the call and its JSON body, by what we know now.

    `faults` names the fields whose value of theirs we could not send back: they stay open.
    """

    call: str
    body: Document
    faults: list[Fault] = field(default_factory=list)


def next_call(row: Property, conflicts: Collection[Conflict], decision: Decision) -> NextCall:
    """Return what the next push of a property sends after a decision; nothing is changed."""
    before = merge.leaves(row.desired)
    theirs = {c.path: c.theirs for c in conflicts} if decision == Decision.THEIRS else {}
    faults = {path: new_faults(path, value, before.get(path)) for path, value in theirs.items()}
    taken = {path: value for path, value in theirs.items() if not faults[path]}
    settled = {c.path for c in conflicts} - (theirs.keys() - taken.keys())
    after = Property(
        platform_id=row.platform_id,
        desired=merge.changed(row.desired, taken),
        observed=row.observed,
        inflight=row.inflight,
        problem=without_problems(row.problem, settled) if settled else row.problem,
    )
    call, parts = planned(after)
    all_faults = [fault for some in faults.values() for fault in some]
    return NextCall(call, merge.document(parts), all_faults)


def decide(
    conflicts: Iterable[Conflict], decision: Decision, *, actor: AbstractBaseUser, now: datetime
) -> tuple[int, list[tuple[Conflict, Invalid]]]:
    """Decide open conflicts of one property alike, so that one push sends what follows.

    Returns:
        how many were decided, and those that stay open because their value is not valid here.
    """
    answer = keep_ours if decision == Decision.OURS else take_theirs
    count, refused = 0, []
    with transaction.atomic():
        for conflict in conflicts:
            try:
                count += answer(conflict, actor=actor, now=now)
            except Invalid as error:
                refused.append((conflict, error))
    return count, refused


def keep_ours(conflict: Conflict, *, actor: AbstractBaseUser, now: datetime) -> bool:
    """Let our value stand: it is sent with the next push.

    Returns:
        False when it was decided already.
    """
    if not _decide(conflict, Decision.OURS, actor=actor, now=now):
        return False
    while True:
        row = Property.objects.get(pk=conflict.real_estate_property_id)
        unchanged = Property.objects.filter(pk=row.pk, revision=row.revision)
        if unchanged.update(
            problem=without_problems(row.problem, {conflict.path}),
            revision=row.revision + 1,
            due_at=now,
        ):
            doorbell.ring(QUEUE, row.workspace_id)
            return True


def take_theirs(conflict: Conflict, *, actor: AbstractBaseUser, now: datetime) -> bool:
    """Take the platform's value over: an edit like any other, so it can be undone by one.

    Returns:
        False when it was decided already.

    Raises:
        Invalid: their value is one that we could not send back; nothing was changed.
    """
    with transaction.atomic():
        if not _decide(conflict, Decision.THEIRS, actor=actor, now=now):
            return False
        row = Property.objects.get(pk=conflict.real_estate_property_id)
        note = f"conflict {conflict.pk}: theirs"
        edit(
            row,
            {conflict.path: conflict.theirs},
            origin=Origin.ADMIN,
            actor=actor,
            now=now,
            note=note,
        )
    return True


def _decide(
    conflict: Conflict, decision: Decision, *, actor: AbstractBaseUser, now: datetime
) -> bool:
    open_one = Conflict.objects.filter(pk=conflict.pk, decision=Decision.OPEN)
    return open_one.update(decision=decision, decided_by=actor, decided_at=now) == 1
