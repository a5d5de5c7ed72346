"""Pure: merges what the platform holds into a row, and never copies it over the row (I4)."""

from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from crm_sync.models import Workspace
from crm_sync.platform import references
from crm_sync.sentence import sentence
from crm_sync.text import plain
from properties import merge
from properties.catalog import READ_ONLY, equal, holds_unknown, is_empty, is_vacant, sendable
from properties.domain import unsayable
from properties.domain.difference import rule_ends
from properties.domain.editing import REFERENCE
from properties.merge import Clash, Document, Leaves, Owner
from properties.models import Property
from properties.models.conflict import BOTH_CHANGED
from properties.models.property import ProblemKind, with_problem, without_problems
from properties.ownership import Ownership


@dataclass(frozen=True)
class RuledBy:
    """How a clash is decided: as by this policy, and by which rule; "" if by no rule."""

    policy: str = Workspace.ConflictPolicy.ASK
    rule: str = ""


@dataclass(frozen=True)
class Observation:
    """The result of merging a read or an answer into a row.

    Attributes:
        decisions: by leaf, how each clash is decided; a person decides the others.
        at: the time of the read or the answer.
        columns: the columns to write if the row still has the revision that was merged.
        adopted: their leaves that become ours.
        agreed: leaves that waited for a person, and in which both sides are now equal.
    """

    decisions: Mapping[str, RuledBy]
    at: datetime
    columns: dict[str, Any]
    adopted: Leaves
    clashes: tuple[Clash, ...]
    agreed: set[str]

    @property
    def leaves_traces(self) -> bool:
        """Whether there are changes or conflicts to store beside the row."""
        return bool(self.adopted or self.clashes or self.agreed)


def never_fought(path: str) -> bool:
    """Return False: ours was not put back before."""
    return False


def observe(
    row: Property,
    theirs: Document,
    ownership: Ownership,
    *,
    now: datetime,
    inflight: Mapping[str, list[Any]],
    sent: Leaves | None = None,
    took: Mapping[str, Any] = MappingProxyType({}),
    fought: Callable[[str], bool] = never_fought,
) -> Observation:
    """Merge what the platform holds with what we want.

    Args:
        theirs: a full read. If `sent` is given, the answer to a PATCH or POST of these leaves,
            which shows only the leaves that it contains. Its texts are cleaned.
        ownership: who owns each leaf, and which side wins if both changed one without a rule.
        inflight: by leaf, values of ours that may have reached the platform (I2).
        took: the leaves of our call that was answered before `theirs` was read.
        fought: whether the platform has changed a leaf of ours back so often that a person is
            asked.
    """
    told = plain(theirs.get("id"))  # A7
    platform_id = told if 0 < len(told) <= references.LIMIT else row.platform_id
    if row.platform_id not in (None, platform_id):
        # Created again under our reference: what both sides agreed on was another property.
        row = copy(row)
        row.observed = {}
    shown = theirs if sent is None else _completed(row.observed, theirs, sent)
    worded = _worded_by_them(row.desired, shown) | _kept_beside(row.desired, shown, took)
    worded = {path: v for path, v in worded.items() if ownership(path) is not Owner.NEVER}
    ours = merge.changed(row.desired, worded) if worded else row.desired
    # A person who decides must see the current value, even if an earlier call of ours has set it.
    waiting = row.problem.get(ProblemKind.CONFLICT, {}).keys()
    pending = {path: values for path, values in inflight.items() if path not in waiting}
    if row.fed_by and shown.get(REFERENCE):
        # The feed names its reference in each file, so another reference of theirs is no conflict.
        pending[REFERENCE] = [row.object_reference_id]
    merged = merge.three_way(
        base=_agreed_base(row, ownership),
        ours=ours,
        theirs=shown,
        inflight=pending,
        equal=equal,
        owner=ownership,
        vacant=is_vacant,
    )
    first = {
        clash.path: clash.theirs
        for clash in merged.clashes
        if clash.path in READ_ONLY
        or (not row.observed and clash.ours is None and clash.path not in pending)
    }
    adopted = worded | merged.adopted | first
    ended = _ended(row, ours, shown, ownership)
    clashes = [clash for clash in merged.clashes if clash.path not in first]
    clashes += [clash for path, clash in ended.items() if path not in {c.path for c in clashes}]
    still = waiting - ended.keys()
    decisions = {c.path: _decided(c, ownership, still, adopted, fought) for c in clashes}
    asked = [c for c in clashes if decisions[c.path].policy == Workspace.ConflictPolicy.ASK]
    theirs_win = Workspace.ConflictPolicy.PLATFORM_WINS
    adopted |= {c.path: c.theirs for c in clashes if decisions[c.path].policy == theirs_win}
    agreed = _agreed(row.blocked, ours, shown)
    kept_here = {path for path in row.blocked - {""} if ownership(path) is Owner.NEVER}
    # If their side changed, or both agree now, the leaf no longer waits for a person.
    over = agreed | kept_here | adopted.keys() | {clash.path for clash in clashes}
    columns: dict[str, Any] = {
        "observed": shown,
        "platform_id": platform_id,
        "read_at": now,
        "create_sent_at": None,
        "problem": _problem(row, over, _texts(asked, ownership), shown.get(REFERENCE)),
    }
    if adopted:
        columns["desired"] = merge.changed(row.desired, adopted)
    columns |= _new_key(row, columns)
    return Observation(decisions, now, columns, adopted, tuple(clashes), agreed)


def _agreed_base(row: Property, ownership: Ownership) -> Document:
    """Return what both sides agreed on last, without leaves that were never sent at that time."""
    parts = merge.leaves(row.observed) if ownership.lifted else {}
    unagreed = [path for path in parts if ownership.is_unagreed(path, row.read_at)]
    return merge.changed(row.observed, dict.fromkeys(unagreed)) if unagreed else row.observed


def _ended(
    row: Property, ours: Document, shown: Document, ownership: Ownership
) -> dict[str, Clash]:
    """Return the conflicts of a person that a newer rule decides, each with the values of now."""
    waiting = row.problem.get(ProblemKind.CONFLICT, {})
    if not waiting:
        return {}
    our, their, base = merge.leaves(ours), merge.leaves(shown), merge.leaves(row.observed)
    return {
        path: Clash(path, ours=our.get(path), base=base.get(path), theirs=their.get(path))
        for path in waiting
        if not equal(path, our.get(path), their.get(path))
        and rule_ends(path, their.get(path), ownership, row.read_at)
    }


def _decided(
    clash: Clash,
    ownership: Ownership,
    waiting: Collection[str],
    adopted: Collection[str],
    fought: Callable[[str], bool],
) -> RuledBy:
    """Return how a clash is decided: by a rule, by a person, or by the policy.

    Each leaf is decided by itself. A person who was asked decides, even if a newer value
    arrives. Neither a rule of ours nor a policy erases a value that no PATCH can hold.
    """
    path, owner = clash.path, ownership(clash.path)
    if path in adopted:
        return RuledBy(Workspace.ConflictPolicy.PLATFORM_WINS, owner.value)
    if owner is Owner.NEVER:
        return RuledBy(Workspace.ConflictPolicy.CRM_WINS, owner.value)
    if owner is Owner.ASK or path in waiting:
        return RuledBy()
    is_ours = owner in (Owner.OURS, Owner.FILL)
    policy = Workspace.ConflictPolicy.CRM_WINS if is_ours else ownership.policy
    if policy == Workspace.ConflictPolicy.CRM_WINS and holds_unknown(path, clash.theirs):
        return RuledBy()
    if is_ours and fought(path):
        return RuledBy()
    return RuledBy(policy, owner.value)


def _new_key(row: Property, columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a new reference that both sides have for the property (A44)."""
    reference = columns["observed"].get(REFERENCE)
    ours = columns.get("desired", row.desired).get(REFERENCE)
    if not isinstance(reference, str) or not 0 < len(reference) <= references.LIMIT:
        return {}
    if reference != ours or reference == row.object_reference_id:
        return {}
    kept = {k: at for k, at in columns["problem"].items() if k != ProblemKind.DUPLICATE}
    return {"object_reference_id": reference, "problem": kept}


def _worded_by_them(ours: Document, theirs: Document) -> Leaves:
    """Return the leaves that we cleared and that the platform shows as cleared: UNKNOWN (A12)."""
    wanted = merge.leaves(ours)
    return {
        path: value
        for path, value in merge.leaves(theirs).items()
        if path not in wanted and not is_empty(path, value) and value == sendable(path, None)
    }


def _kept_beside(ours: Document, shown: Document, took: Mapping[str, Any]) -> Leaves:
    """Return the leaves in which the platform kept an UNKNOWN beside what we sent (A10)."""
    wanted, theirs = merge.leaves(ours), merge.leaves(shown)
    return {
        path: theirs[path]
        for path, value in took.items()
        if holds_unknown(path, theirs.get(path))
        and equal(path, sendable(path, theirs[path]), value)
        and equal(path, wanted.get(path), value)
    }


def _completed(base: Document, answer: Document, sent: Leaves) -> Document:
    """Complete an answer with the values we know. Only a full read can show that a value is gone.

    A leaf that we sent empty counts as empty if the answer leaves it out (§2: an optional field
    without a value is left out).
    """
    emptied = {path: None for path, value in sent.items() if value in ([], {})}
    parts = merge.leaves(base) | emptied | merge.leaves(answer)
    return merge.document({path: value for path, value in parts.items() if value is not None})


def _agreed(blocked: set[str], desired: Document, shown: Document) -> set[str]:
    if not blocked:
        return set()
    ours, theirs = merge.leaves(desired), merge.leaves(shown)
    return {path for path in blocked if equal(path, ours.get(path), theirs.get(path))}


def _texts(asked: list[Clash], ownership: Ownership) -> dict[str, str]:
    """Return the message for each leaf about which a person is asked."""
    fought = sentence(
        "The platform changed it again after ours was put back several times in a day."
        " Decide whose value stands"
    )
    texts = {c.path: fought if ownership(c.path) is Owner.OURS else BOTH_CHANGED for c in asked}
    erased = tuple(clash for clash in asked if holds_unknown(clash.path, clash.theirs))
    return texts | unsayable.texts(erased)


def _problem(
    row: Property, over: set[str], asked: dict[str, str], reference: Any
) -> dict[str, Any]:
    """Return the problems of the row after the merge.

    Args:
        over: the leaves whose old problem is over.
        asked: the message for each leaf about which a person is asked.
        reference: the platform's reference of the property.
    """
    problem = without_problems(row.problem, over) if over else row.problem
    if twin := row.problem.get(ProblemKind.DUPLICATE):
        problem = {kind: texts for kind, texts in problem.items() if kind != ProblemKind.DUPLICATE}
        # A read of one of two properties does not show which of them the reference names (A44). But
        # a property with no reference, or with another than ours, is no duplicate any more.
        if reference not in (None, "", row.object_reference_id):
            problem[ProblemKind.DUPLICATE.value] = twin
    return with_problem(problem, ProblemKind.CONFLICT, asked)
