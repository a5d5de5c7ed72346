"""The two ways to change a property: an edit of ours, and an observation of theirs (design §5).

Every write is one UPDATE under the revision that was read, repeated on the fresh row when somebody
else was faster; so a form, a feed and a worker cannot overwrite each other.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from crm_sync import merge, references
from crm_sync.dispatch import doorbell
from crm_sync.due import Claim, LeaseLost
from crm_sync.errors import Refused
from crm_sync.merge import Clash, Document, Leaves
from crm_sync.models import Workspace
from crm_sync.text import clean
from properties.catalog import READ_ONLY, Fault, equal, is_empty, new_faults, sendable
from properties.models import Change, Conflict, Property
from properties.models.change import Origin
from properties.models.property import ProblemKind, with_problem, without_problems

QUEUE = "properties"
REFERENCE = "objectReferenceId"


class Invalid(Exception):
    """The platform would refuse these values; `faults` names each field (§4.6, §7)."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(f"{fault.path}: {fault.message}" for fault in faults))
        self.faults = faults


def edit(
    property_: Property,
    changes: Mapping[str, Any],
    *,
    origin: Origin,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    note: str = "",
) -> set[str]:
    """Change what we want of a property, and make it due for a push.

    Args:
        property_: an instance however old; it is fresh afterwards.
        changes: leaf to new value, changed fields only; None clears. "prices.rent" is a leaf,
            "prices" is not.

    Returns:
        the leaves that really changed; empty when all values stood there already.

    Raises:
        Invalid: nothing was changed, the faults name each field.
    """
    cleaned = {path: clean(value)[0] for path, value in changes.items()}
    while True:
        before = merge.leaves(property_.desired)
        real = {p: v for p, v in cleaned.items() if not equal(p, v, before.get(p))}
        if not real:
            return set()
        faults = [
            f for path, value in real.items() for f in new_faults(path, value, before.get(path))
        ]
        if faults:
            raise Invalid(faults)
        with transaction.atomic():
            done = Property.objects.filter(pk=property_.pk, revision=property_.revision).update(
                desired=merge.changed(property_.desired, real),
                revision=property_.revision + 1,
                problem=without_problems(property_.problem, set(real)),
                due_at=now,
            )
            if done:
                _record(property_, before, real, origin=origin, actor=actor, note=note, now=now)
                _close(property_, set(real), actor=actor, now=now)
        property_.refresh_from_db()
        if done:
            doorbell.ring(QUEUE, property_.workspace_id)
            return set(real)


def create(
    workspace: Workspace,
    reference: str,
    changes: Mapping[str, Any],
    *,
    origin: Origin,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    note: str = "",
) -> Property:
    """Make a property that the CRM has and we do not know yet; it is due for a push at once.

    Raises:
        Invalid: the reference cannot travel (A14), or a value that the platform would refuse.
        IntegrityError: the reference is there already.
    """
    fault = references.fault(reference)
    if fault:
        raise Invalid([Fault(REFERENCE, f"the reference {fault}")])
    with transaction.atomic():
        property_ = Property.objects.create(workspace=workspace, object_reference_id=reference)
        document = dict(changes) | {REFERENCE: reference}
        edit(property_, document, origin=origin, now=now, actor=actor, note=note)
    return property_


def observe(
    claim: Claim[Property], theirs: Document, policy: str, *, now: datetime, sent: Leaves | None
) -> Property:
    """Merge what the platform says into the row that we hold, never copying it over (I4).

    Args:
        theirs: a full read; or, where `sent` is given, the answer to a PATCH or POST of these
            leaves, which speaks only of what it holds.
        policy: who wins where both sides changed a field.

    Returns:
        the fresh row.

    Raises:
        LeaseLost: somebody else holds the row now; nothing was written.
        Refused: another row mirrors this platform id already (A44).
    """
    theirs, _ = clean(theirs)
    while True:
        row = claim.fenced.first()
        if row is None:
            raise LeaseLost
        told = theirs if sent is None else _told_by_answer(row.observed, theirs, sent)
        worded = _worded_by_them(row.desired, told)
        ours = merge.changed(row.desired, worded)
        merged = merge.three_way(
            base=row.observed, ours=ours, theirs=told, inflight=row.inflight, equal=equal
        )
        theirs_win = policy == Workspace.ConflictPolicy.PLATFORM_WINS
        lost = {clash.path: clash.theirs for clash in merged.clashes if theirs_win}
        adopted = worded | merged.adopted | lost
        agreed = _agreed(row, told)
        with transaction.atomic():
            done = claim.fenced.filter(revision=row.revision).update(
                observed=told,
                platform_id=_platform_id(row, told),
                read_at=now,
                create_sent_at=None,
                **_taken_over(row, agreed, merged.clashes, adopted, policy),
            )
            if done:
                _record(
                    row,
                    merge.leaves(row.desired),
                    {p: v for p, v in adopted.items() if p not in READ_ONLY},
                    origin=Origin.PLATFORM,
                    now=now,
                )
                _close(row, agreed, now=now)
                _note_conflicts(row, merged.clashes, policy, now=now)
        if done:
            return claim.fenced.get()


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


def _platform_id(row: Property, told: Document) -> str | None:
    """Return the id as a string (A7).

    Raises:
        Refused: another row of ours has it.
    """
    if told.get("id") is None:
        return row.platform_id
    platform_id = str(told["id"])
    if platform_id != row.platform_id:
        twin = Property.objects.filter(workspace=row.workspace_id, platform_id=platform_id).first()
        if twin is not None and twin.pk != row.pk:
            raise Refused(f"property {platform_id} of the platform is {twin} here", status=409)
    return platform_id


def _agreed(row: Property, told: Document) -> set[str]:
    """Return the leaves that wait for a person although both sides say the same by now."""
    ours, theirs = merge.leaves(row.desired), merge.leaves(told)
    return {path for path in row.held if equal(path, ours.get(path), theirs.get(path))}


def _taken_over(
    row: Property, agreed: set[str], clashes: tuple[Clash, ...], adopted: Leaves, policy: str
) -> dict[str, Any]:
    """Return the columns that a merge changes besides `observed`; the revision moves with them."""
    # Where their side moved, or both agree now, nothing waits for a person any more.
    over = agreed | adopted.keys() | {clash.path for clash in clashes}
    problem = without_problems(row.problem, over) if over else row.problem
    # Which of two properties a reference names is not told by a read of one of them (A44).
    twin = row.problem.get(ProblemKind.DUPLICATE)
    problem = problem | {ProblemKind.DUPLICATE.value: twin} if twin else problem
    if policy == Workspace.ConflictPolicy.ASK:
        texts = {
            clash.path: "both sides changed it: decide whose value stands" for clash in clashes
        }
        problem = with_problem(problem, ProblemKind.CONFLICT, texts)
    columns: dict[str, Any] = {}
    if problem != row.problem:
        columns["problem"] = problem
    if adopted:
        columns["desired"] = merge.changed(row.desired, adopted)
    return columns | {"revision": row.revision + 1} if columns else {}


def _record(
    property_: Property,
    before: Leaves,
    changes: Leaves,
    *,
    origin: Origin,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    note: str = "",
) -> None:
    Change.objects.bulk_create(
        Change(
            real_estate_property=property_,
            path=path,
            old=before.get(path),
            new=value,
            origin=origin,
            actor=actor,  # type: ignore[misc]
            note=note[:255],
            revision=property_.revision + 1,
            at=now,
        )
        for path, value in changes.items()
    )


def _note_conflicts(
    row: Property, clashes: tuple[Clash, ...], policy: str, *, now: datetime
) -> None:
    if not clashes:
        return
    decision = {
        Workspace.ConflictPolicy.CRM_WINS: Conflict.Decision.OURS,
        Workspace.ConflictPolicy.PLATFORM_WINS: Conflict.Decision.THEIRS,
    }.get(Workspace.ConflictPolicy(policy), Conflict.Decision.OPEN)
    for clash in clashes:
        # One open question a field: when they changed it again, it is about their newer value.
        open_one = Conflict.objects.filter(real_estate_property=row, path=clash.path, decision="")
        told = {"theirs": clash.theirs, "ours": clash.ours, "decision": decision}
        told["decided_at"] = now if decision else None
        if not open_one.update(**told):
            Conflict.objects.create(
                real_estate_property=row, path=clash.path, base=clash.base, created_at=now, **told
            )


def _close(
    property_: Property, paths: set[str], *, now: datetime, actor: AbstractBaseUser | None = None
) -> None:
    """Close open conflicts at fields that somebody edited, or where both sides agree by now."""
    if paths:
        open_ones = Conflict.objects.filter(real_estate_property=property_, decision="")
        open_ones.filter(path__in=paths).update(
            decision=Conflict.Decision.OURS, decided_by=actor, decided_at=now
        )


def due_now(properties: QuerySet[Property], *, now: datetime | None = None) -> int:
    """Make the properties due for a read and, where they differ, a push; returns how many."""
    count = properties.update(due_at=now or timezone.now())
    for workspace_id in properties.values_list("workspace_id", flat=True).distinct():
        doorbell.ring(QUEUE, workspace_id)
    return count
