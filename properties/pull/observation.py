"""Pure: what the platform says, merged into a row and never copied over it (I4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crm_sync.models import Workspace
from properties import merge
from properties.catalog import equal, is_empty, sendable
from properties.difference import short
from properties.merge import Clash, Document, Leaves
from properties.models import Property
from properties.models.property import ProblemKind, with_problem, without_problems


@dataclass(frozen=True)
class Observation:
    """What a read or an answer means for one row.

    Attributes:
        policy: who won where both sides had changed a field.
        at: when they said it.
        columns: what to write, under the revision of the row that was merged.
        adopted: leaves of theirs that become ours.
        agreed: leaves that waited for a person and on which both sides agree by now.
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
) -> Observation:
    """Merge what the platform says with what we want.

    Args:
        theirs: a full read; or, where `sent` is given, the answer to a PATCH or POST of these
            leaves, which speaks only of what it holds. Cleaned text.
        policy: who wins where both sides changed a field.
        inflight: leaf to values of ours that may have reached the platform (I2).
    """
    told = theirs if sent is None else _told_by_answer(row.observed, theirs, sent)
    worded = _worded_by_them(row.desired, told)
    ours = merge.changed(row.desired, worded) if worded else row.desired
    # Where a person decides, she sees what is there now, even if an earlier call of ours set it.
    asked = row.problem.get(ProblemKind.CONFLICT, {})
    pending = {path: values for path, values in inflight.items() if path not in asked}
    merged = merge.three_way(
        base=row.observed, ours=ours, theirs=told, inflight=pending, equal=equal
    )
    theirs_win = policy == Workspace.ConflictPolicy.PLATFORM_WINS
    lost = {clash.path: clash.theirs for clash in merged.clashes if theirs_win}
    adopted = worded | merged.adopted | lost
    agreed = _agreed(row.blocked, ours, told)
    platform_id = row.platform_id if told.get("id") is None else str(told["id"])  # A7
    columns: dict[str, Any] = {
        "observed": told,
        "platform_id": platform_id,
        "read_at": now,
        "create_sent_at": None,
        "problem": _problem(row, agreed, merged.clashes, adopted, policy),
    }
    if adopted:
        columns["desired"] = merge.changed(row.desired, adopted)
    return Observation(policy, now, columns, adopted, merged.clashes, agreed)


def _worded_by_them(ours: Document, theirs: Document) -> Leaves:
    """Return the leaves that we cleared and that read as a PATCH says it: UNKNOWN (A12)."""
    wanted = merge.leaves(ours)
    return {
        path: value
        for path, value in merge.leaves(theirs).items()
        if path not in wanted and not is_empty(path, value) and value == sendable(path, None)
    }


def _told_by_answer(base: Document, answer: Document, sent: Leaves) -> Document:
    """Complete an answer with what we knew: only a full read may say that a value is gone.

    What we sent empty counts as empty when the answer leaves it out (§2: optional fields are
    omitted when absent).
    """
    emptied = {path: None for path, value in sent.items() if value in ([], {})}
    parts = merge.leaves(base) | emptied | merge.leaves(answer)
    return merge.document({path: value for path, value in parts.items() if value is not None})


def _agreed(blocked: set[str], desired: Document, told: Document) -> set[str]:
    if not blocked:
        return set()
    ours, theirs = merge.leaves(desired), merge.leaves(told)
    return {path for path in blocked if equal(path, ours.get(path), theirs.get(path))}


def _problem(
    row: Property, agreed: set[str], clashes: tuple[Clash, ...], adopted: Leaves, policy: str
) -> dict[str, Any]:
    """Return what waits for a person after the merge."""
    # Where their side moved, or both agree now, nothing waits for a person any more.
    over = agreed | adopted.keys() | {clash.path for clash in clashes}
    problem = without_problems(row.problem, over) if over else row.problem
    # Which of two properties a reference names is not told by a read of one of them (A44).
    twin = row.problem.get(ProblemKind.DUPLICATE)
    problem = problem | {ProblemKind.DUPLICATE.value: twin} if twin else problem
    if policy != Workspace.ConflictPolicy.ASK:
        return problem
    texts = {
        clash.path: f"Both sides changed it: ours is {short(clash.ours)}, the platform's"
        f" {short(clash.theirs)}. Decide whose value stands"
        for clash in clashes
    }
    return with_problem(problem, ProblemKind.CONFLICT, texts)
