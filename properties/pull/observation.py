"""Pure: merges what the platform holds into a row, and never copies it over the row (I4)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from crm_sync.models import Workspace
from crm_sync.platform import references
from crm_sync.text import plain
from properties import merge
from properties.catalog import equal, holds_unknown, is_empty, sendable
from properties.domain import unsayable
from properties.domain.editing import REFERENCE
from properties.merge import Clash, Document, Leaves
from properties.models import Property
from properties.models.property import ProblemKind, with_problem, without_problems


@dataclass(frozen=True)
class Observation:
    """The result of merging a read or an answer into a row.

    Attributes:
        policy: which side won if both had changed a field.
        asked: the leaves that a person decides, whatever the policy.
        at: the time of the read or the answer.
        columns: the columns to write if the row still has the revision that was merged.
        adopted: their leaves that become ours.
        agreed: leaves that waited for a person, and in which both sides are now equal.
    """

    policy: str
    asked: set[str]
    at: datetime
    columns: dict[str, Any]
    adopted: Leaves
    clashes: tuple[Clash, ...]
    agreed: set[str]

    @property
    def leaves_traces(self) -> bool:
        """Whether there are changes or conflicts to store beside the row."""
        return bool(self.adopted or self.clashes or self.agreed)


def observe(
    row: Property,
    theirs: Document,
    policy: str,
    *,
    now: datetime,
    inflight: Mapping[str, list[Any]],
    sent: Leaves | None = None,
    took: Mapping[str, Any] = MappingProxyType({}),
) -> Observation:
    """Merge what the platform holds with what we want.

    Args:
        theirs: a full read. If `sent` is given, the answer to a PATCH or POST of these leaves,
            which shows only the leaves that it contains. Its texts are cleaned.
        policy: which side wins if both changed a field.
        inflight: by leaf, values of ours that may have reached the platform (I2).
        took: the leaves of our call that was answered before `theirs` was read.
    """
    shown = theirs if sent is None else _completed(row.observed, theirs, sent)
    worded = _worded_by_them(row.desired, shown) | _kept_beside(row.desired, shown, took)
    ours = merge.changed(row.desired, worded) if worded else row.desired
    # A person who decides must see the current value, even if an earlier call of ours has set it.
    waiting = row.problem.get(ProblemKind.CONFLICT, {}).keys()
    pending = {path: values for path, values in inflight.items() if path not in waiting}
    if row.fed_by and shown.get(REFERENCE):
        # The feed names its reference in each file, so another reference of theirs is no conflict.
        pending[REFERENCE] = [row.object_reference_id]
    merged = merge.three_way(
        base=row.observed, ours=ours, theirs=shown, inflight=pending, equal=equal
    )
    asked = [clash for clash in merged.clashes if _must_ask(clash, policy, waiting)]
    theirs_win = policy == Workspace.ConflictPolicy.PLATFORM_WINS
    lost = {c.path: c.theirs for c in merged.clashes if theirs_win and c not in asked}
    adopted = worded | merged.adopted | lost
    agreed = _agreed(row.blocked, ours, shown)
    # If their side changed, or both agree now, the leaf no longer waits for a person.
    over = agreed | adopted.keys() | {clash.path for clash in merged.clashes}
    told = plain(shown.get("id"))  # A7
    platform_id = told if 0 < len(told) <= references.LIMIT else row.platform_id
    columns: dict[str, Any] = {
        "observed": shown,
        "platform_id": platform_id,
        "read_at": now,
        "create_sent_at": None,
        "problem": _problem(row, over, asked, shown.get(REFERENCE)),
    }
    if adopted:
        columns["desired"] = merge.changed(row.desired, adopted)
    columns |= _new_key(row, columns)
    paths = {clash.path for clash in asked}
    return Observation(policy, paths, now, columns, adopted, merged.clashes, agreed)


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


def _must_ask(clash: Clash, policy: str, waiting: Collection[str]) -> bool:
    """Return whether a person decides a clash, by the policy or in spite of it.

    Each leaf is decided by itself. A person who was asked decides, even if a newer value
    arrives. No policy erases a value that no PATCH can hold.
    """
    if policy == Workspace.ConflictPolicy.ASK or clash.path in waiting:
        return True
    return policy == Workspace.ConflictPolicy.CRM_WINS and holds_unknown(clash.path, clash.theirs)


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


def _problem(row: Property, over: set[str], asked: list[Clash], reference: Any) -> dict[str, Any]:
    """Return the problems of the row after the merge.

    Args:
        over: the leaves whose old problem is over.
        reference: the platform's reference of the property.
    """
    problem = without_problems(row.problem, over) if over else row.problem
    if twin := row.problem.get(ProblemKind.DUPLICATE):
        problem = {kind: texts for kind, texts in problem.items() if kind != ProblemKind.DUPLICATE}
        # A read of one of two properties does not show which of them the reference names (A44). But
        # a property with no reference, or with another than ours, is no duplicate any more.
        if reference not in (None, "", row.object_reference_id):
            problem[ProblemKind.DUPLICATE.value] = twin
    text = "Both sides changed it. Decide whose value stands"
    texts = {clash.path: text for clash in asked}
    erased = tuple(clash for clash in asked if holds_unknown(clash.path, clash.theirs))
    return with_problem(problem, ProblemKind.CONFLICT, texts | unsayable.texts(erased))
