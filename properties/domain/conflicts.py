"""The decision of a person about a field that both sides changed (I4)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from crm_sync.sentence import sentence
from crm_sync.work.doorbell import doorbell
from properties import merge
from properties.catalog import FieldFault, equal, new_faults
from properties.domain import owners
from properties.domain.difference import planned
from properties.domain.editing import QUEUE, Invalid, edit, without_theirs
from properties.domain.unsayable import without_unknown
from properties.members import Member, Steps, differing, from_both
from properties.merge import Document
from properties.models import Conflict, Property
from properties.models.change import Origin
from properties.models.property import without_problems

Decision = Conflict.Decision


@dataclass(frozen=True)
class Resolution:
    """What a person decided about one conflict, and the value that follows from it."""

    conflict: Conflict
    decision: Decision
    value: Any

    @property
    def changes_ours(self) -> bool:
        """Whether the decision changes our value."""
        return not equal(self.conflict.path, self.value, self.conflict.ours)


def members(conflict: Conflict) -> list[Member]:
    """Return the members in which both sides differ. Each can be decided by itself."""
    path, values = conflict.path, (conflict.ours, conflict.base, conflict.theirs)
    return differing(path, *values) or [Member((), path, "", *values)]


def of_side(conflict: Conflict, side: Decision) -> Resolution:
    """Choose the whole value of one side; of ours, only what can be sent."""
    if side == Decision.THEIRS:
        return Resolution(conflict, side, conflict.theirs)
    return Resolution(conflict, side, without_unknown(conflict.path, conflict.ours))


def of_members(conflict: Conflict, taken: Collection[Steps]) -> Resolution:
    """Choose our value, with these members replaced by theirs."""
    if not taken:
        return of_side(conflict, Decision.OURS)
    if len(taken) == len(members(conflict)):
        return of_side(conflict, Decision.THEIRS)
    value = from_both(conflict.path, conflict.ours, conflict.theirs, taken)
    return Resolution(conflict, Decision.BOTH, value)


@dataclass(frozen=True)
class NextCall:
    """The call that follows the decisions, with its JSON body, by what we know now.

    `faults` names the fields whose value we could not send: their conflicts stay open.
    """

    call: str
    body: Document
    faults: list[FieldFault] = field(default_factory=list)


def next_call(row: Property, answers: Collection[Resolution]) -> NextCall:
    """Return what the next push of a property would send after these answers. Change nothing."""
    before = merge.leaves(row.desired)
    edits = {one.conflict.path: one.value for one in answers if one.changes_ours}
    faults = {
        path: without_theirs(row, edits, new_faults(path, value, before.get(path)))
        for path, value in edits.items()
    }
    taken = {path: value for path, value in edits.items() if not faults[path]}
    settled = {one.conflict.path for one in answers} - (edits.keys() - taken.keys())
    after = Property(
        platform_id=row.platform_id,
        desired=merge.changed(row.desired, taken),
        observed=row.observed,
        inflight=row.inflight,
        problem=without_problems(row.problem, settled) if settled else row.problem,
    )
    call, parts = planned(after, owners.of(row))
    all_faults = [fault for some in faults.values() for fault in some]
    return NextCall(call, merge.document(parts), all_faults)


@dataclass(frozen=True)
class Decided:
    """The result of a decision.

    Attributes:
        done: the conflicts that were decided.
        refused: the conflicts that stay open, because the value is not valid here.
        late: the conflicts that somebody decided, or whose values changed, since they were read.
            They are not touched.
    """

    done: list[Conflict] = field(default_factory=list)
    refused: list[tuple[Conflict, Invalid]] = field(default_factory=list)
    late: list[Conflict] = field(default_factory=list)


def decide(answers: Iterable[Resolution], *, actor: AbstractBaseUser, now: datetime) -> Decided:
    """Decide open conflicts of one property in one commit, so that one push sends the result."""
    decided = Decided()
    with transaction.atomic():
        for answer in answers:
            try:
                with transaction.atomic():
                    _decide(answer, actor=actor, now=now)
            except Invalid as error:
                decided.refused.append((answer.conflict, error))
            except _Late:
                decided.late.append(answer.conflict)
            else:
                decided.done.append(answer.conflict)
    return decided


KEPT = {
    Decision.OURS: sentence("ours"),
    Decision.THEIRS: sentence("theirs"),
    Decision.BOTH: sentence("from both"),
}


class _Late(Exception):
    """The conflict is no longer open, or its values are no longer the ones that were seen."""


def _decide(answer: Resolution, *, actor: AbstractBaseUser, now: datetime) -> None:
    """Close a conflict, and apply the value of the answer.

    Raises:
        Invalid: we could not send the value.
        _Late: somebody else decided it, changed its values or linked the property first.
    """
    seen = answer.conflict
    # The property first, as whoever edits, pushes or links it: else both could wait for the other.
    mine = Property.objects.select_for_update(no_key=True)
    row = mine.filter(pk=seen.real_estate_property_id).first()
    if row is None:
        raise _Late
    open_one = Conflict.objects.filter(pk=seen.pk, decision=Decision.OPEN)
    if not open_one.update(decision=answer.decision, decided_by=actor, decided_at=now):
        raise _Late
    fresh = Conflict.objects.get(pk=seen.pk)
    if not merge.same_json([fresh.ours, fresh.theirs], [seen.ours, seen.theirs]):
        raise _Late
    if not answer.changes_ours:
        _send_ours(row, seen.path, now=now)
        return
    # A normal edit, so that another edit can undo it.
    kept = KEPT[answer.decision]
    note = sentence("conflict %(id)s: %(kept)s", id=str(seen.pk), kept=kept)
    changes = {seen.path: answer.value}
    edit(row, changes, origin=Origin.ADMIN, actor=actor, now=now, note=note)


def _send_ours(row: Property, path: str, *, now: datetime) -> None:
    """Unblock our value in a locked row, so that the next push sends it."""
    Property.objects.filter(pk=row.pk).update(
        problem=without_problems(row.problem, {path}),
        revision=row.revision + 1,
        due_at=now,
        is_urgent=True,
    )
    doorbell.ring(QUEUE, row.workspace_id)
