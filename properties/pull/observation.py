"""Pure: merges what the platform holds into a row, and never copies it over the row (I4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from crm_sync.models import Workspace
from crm_sync.platform import references
from crm_sync.text import plain
from properties import merge
from properties.catalog import equal, holds_unknown, is_empty, sendable
from properties.difference import short
from properties.editing import REFERENCE
from properties.merge import Clash, Document, Leaves
from properties.models import Property
from properties.models.property import ProblemKind, with_problem, without_problems


@dataclass(frozen=True)
class Observation:
    """The result of merging a read or an answer into a row.

    Attributes:
        policy: which side won when both had changed a field.
        at: when it was read or answered.
        columns: what to write, if the row still has the revision that was merged.
        adopted: leaves of theirs that become ours.
        agreed: leaves that waited for a person and that both sides now hold alike.
    """

    policy: str
    at: datetime
    columns: dict[str, Any]
    adopted: Leaves
    clashes: tuple[Clash, ...]
    agreed: set[str]

    @property
    def leaves_traces(self) -> bool:
        """Whether there are changes or conflicts to keep beside the row."""
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
        theirs: a full read; or, where `sent` is given, the answer to a PATCH or POST of these
            leaves, which speaks only of what it holds. Cleaned text.
        policy: which side wins when both changed a field.
        inflight: by leaf, values of ours that may have reached the platform (I2).
        took: the leaves of a call of ours that was answered before `theirs` was read.
    """
    shown = theirs if sent is None else _completed(row.observed, theirs, sent)
    worded = _worded_by_them(row.desired, shown) | _kept_beside(row.desired, shown, took)
    ours = merge.changed(row.desired, worded) if worded else row.desired
    # A person who decides sees what is there now, even if an earlier call of ours has set it.
    asked = row.problem.get(ProblemKind.CONFLICT, {})
    pending = {path: values for path, values in inflight.items() if path not in asked}
    if row.fed_by and shown.get(REFERENCE):
        # A feed names it each time it comes, so a change of theirs is no word against none.
        pending[REFERENCE] = [row.object_reference_id]
    merged = merge.three_way(
        base=row.observed, ours=ours, theirs=shown, inflight=pending, equal=equal
    )
    if asked.keys() & {clash.path for clash in merged.clashes}:
        policy = Workspace.ConflictPolicy.ASK  # who was asked decides, also after a newer value
    if policy == Workspace.ConflictPolicy.CRM_WINS and any(map(_is_erased, merged.clashes)):
        policy = Workspace.ConflictPolicy.ASK  # no rule erases what no PATCH can hold
    theirs_win = policy == Workspace.ConflictPolicy.PLATFORM_WINS
    lost = {clash.path: clash.theirs for clash in merged.clashes if theirs_win}
    adopted = worded | merged.adopted | lost
    agreed = _agreed(row.blocked, ours, shown)
    told = plain(shown.get("id"))  # A7
    platform_id = told if 0 < len(told) <= references.LIMIT else row.platform_id
    columns: dict[str, Any] = {
        "observed": shown,
        "platform_id": platform_id,
        "read_at": now,
        "create_sent_at": None,
        "problem": _problem(row, agreed, merged.clashes, adopted, policy, shown.get(REFERENCE)),
    }
    if adopted:
        columns["desired"] = merge.changed(row.desired, adopted)
    columns |= _new_key(row, columns)
    return Observation(policy, now, columns, adopted, merged.clashes, agreed)


def _new_key(row: Property, columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of another reference by which both sides name the property (A44)."""
    reference = columns["observed"].get(REFERENCE)
    ours = columns.get("desired", row.desired).get(REFERENCE)
    if not isinstance(reference, str) or not 0 < len(reference) <= references.LIMIT:
        return {}
    if reference != ours or reference == row.object_reference_id:
        return {}
    kept = {k: at for k, at in columns["problem"].items() if k != ProblemKind.DUPLICATE}
    return {"object_reference_id": reference, "problem": kept}


def _worded_by_them(ours: Document, theirs: Document) -> Leaves:
    """Return the leaves that we cleared and that read as a PATCH clears them: UNKNOWN (A12)."""
    wanted = merge.leaves(ours)
    return {
        path: value
        for path, value in merge.leaves(theirs).items()
        if path not in wanted and not is_empty(path, value) and value == sendable(path, None)
    }


def _is_erased(clash: Clash) -> bool:
    return holds_unknown(clash.path, clash.theirs)


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
    """Complete an answer with what we know: only a full read can show that a value is gone.

    What we sent empty counts as empty if the answer leaves it out (§2: an optional field without a
    value is left out).
    """
    emptied = {path: None for path, value in sent.items() if value in ([], {})}
    parts = merge.leaves(base) | emptied | merge.leaves(answer)
    return merge.document({path: value for path, value in parts.items() if value is not None})


def _agreed(blocked: set[str], desired: Document, shown: Document) -> set[str]:
    if not blocked:
        return set()
    ours, theirs = merge.leaves(desired), merge.leaves(shown)
    return {path for path in blocked if equal(path, ours.get(path), theirs.get(path))}


def _problem(
    row: Property,
    agreed: set[str],
    clashes: tuple[Clash, ...],
    adopted: Leaves,
    policy: str,
    reference: Any,
) -> dict[str, Any]:
    """Return what waits for a person after the merge; `reference` is the platform's."""
    # If their side changed, or both agree now, the leaf no longer waits for a person.
    over = agreed | adopted.keys() | {clash.path for clash in clashes}
    problem = without_problems(row.problem, over) if over else row.problem
    if twin := row.problem.get(ProblemKind.DUPLICATE):
        problem = {kind: texts for kind, texts in problem.items() if kind != ProblemKind.DUPLICATE}
        # A read of one of two properties does not show which of them the reference names (A44), but
        # one with another reference than the other, or with none, is no duplicate any more.
        if reference not in (None, "", row.object_reference_id):
            problem[ProblemKind.DUPLICATE.value] = twin
    if policy != Workspace.ConflictPolicy.ASK:
        return problem
    texts = {
        clash.path: f"Both sides changed it: ours is {short(clash.ours)}, the platform's"
        f" {short(clash.theirs)}. Decide whose value stands"
        for clash in clashes
    }
    return with_problem(problem, ProblemKind.CONFLICT, texts)
