"""What the platform says, merged into a row and never copied over it (I4)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crm_sync.models import Workspace
from crm_sync.platform.errors import RejectedError
from properties import history, merge
from properties.catalog import READ_ONLY, equal, is_empty, sendable
from properties.difference import short
from properties.merge import Clash, Document, Leaves
from properties.models import Change, Property
from properties.models.change import Origin
from properties.models.property import ProblemKind, with_problem, without_problems


@dataclass(frozen=True)
class Observation:
    """What a read or an answer means for one row.

    Attributes:
        columns: what to write, under the revision of the row that was merged.
        adopted: leaves of theirs that become ours.
        agreed: leaves that waited for a person and on which both sides agree by now.
        duplicate_mirror: one without edits of ours, made before we knew that our property has
            this id.
    """

    row: Property
    columns: dict[str, Any]
    adopted: Leaves
    clashes: tuple[Clash, ...]
    agreed: set[str]
    duplicate_mirror: Property | None

    @property
    def leaves_traces(self) -> bool:
        """Whether there are changes or conflicts to keep beside the row."""
        return bool(self.adopted or self.clashes or self.agreed or self.duplicate_mirror)

    def make_way(self) -> None:
        """Take the duplicate away, in the transaction that writes `columns`: one mirror an id."""
        if self.duplicate_mirror:
            self.duplicate_mirror.delete()

    def keep(self, policy: str, *, now: datetime) -> None:
        """Write the traces, in the transaction that wrote `columns`."""
        changes = {path: value for path, value in self.adopted.items() if path not in READ_ONLY}
        before = merge.leaves(self.row.desired)
        history.record(self.row, before, changes, origin=Origin.PLATFORM, now=now)
        history.close_conflicts(self.row, self.agreed, now=now)
        history.note_conflicts(self.row, self.clashes, policy, now=now)


def observe(
    row: Property, theirs: Document, policy: str, *, now: datetime, sent: Leaves | None
) -> Observation:
    """Merge what the platform says with what we want; writes nothing.

    Args:
        theirs: a full read; or, where `sent` is given, the answer to a PATCH or POST of these
            leaves, which speaks only of what it holds. Cleaned text.
        policy: who wins where both sides changed a field.

    Raises:
        RejectedError: another row mirrors this platform id already (A44).
    """
    told = theirs if sent is None else _told_by_answer(row.observed, theirs, sent)
    worded = _worded_by_them(row.desired, told)
    ours = merge.changed(row.desired, worded) if worded else row.desired
    merged = merge.three_way(
        base=row.observed, ours=ours, theirs=told, inflight=row.inflight, equal=equal
    )
    theirs_win = policy == Workspace.ConflictPolicy.PLATFORM_WINS
    lost = {clash.path: clash.theirs for clash in merged.clashes if theirs_win}
    adopted = worded | merged.adopted | lost
    agreed = _agreed(row.blocked, ours, told)
    platform_id = row.platform_id if told.get("id") is None else str(told["id"])  # A7
    duplicate_mirror = (
        None if platform_id == row.platform_id else _duplicate_mirror(row, platform_id)
    )
    columns: dict[str, Any] = {
        "observed": told,
        "platform_id": platform_id,
        "read_at": now,
        "create_sent_at": None,
        "problem": _problem(row, agreed, merged.clashes, adopted, policy),
    }
    if adopted:
        columns["desired"] = merge.changed(row.desired, adopted)
    return Observation(row, columns, adopted, merged.clashes, agreed, duplicate_mirror)


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


def _duplicate_mirror(row: Property, platform_id: str | None) -> Property | None:
    """Return the row that a walk made for a property which turns out to be ours, created anew.

    Raises:
        RejectedError: a row that people worked on mirrors it.
    """
    twins = Property.objects.filter(workspace=row.workspace_id, platform_id=platform_id)
    twin = twins.exclude(pk=row.pk).first()
    if twin is None:
        return None
    edits = Change.objects.filter(real_estate_property=twin).exclude(origin=Origin.PLATFORM)
    if ProblemKind.DUPLICATE in twin.problem and not edits.exists():
        return twin
    raise RejectedError(f"property {platform_id} of the platform is {twin} here", status=409)


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
