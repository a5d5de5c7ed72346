"""Finds the differences between us and the platform, and whether anything explains them.

A difference is *pending* while the row is due or leased, *blocked* while it waits for a person, and
otherwise *unexplained*: the real drift. Comparing writes nothing. `make_due` makes rows due for the
normal push, which reads, merges and sends.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from crm_sync import row_locks
from crm_sync.models import Workspace, due
from crm_sync.platform.errors import AuthError, RejectedError, TransientError, problem_of
from crm_sync.work.doorbell import doorbell
from crm_sync.work.room import NoRoom, Room, wait_for_room
from properties import merge
from properties.catalog import READ_ONLY, equal
from properties.domain import owners
from properties.domain.difference import smallest_patch
from properties.domain.editing import QUEUE
from properties.drift.findings import RANK, DriftFinding, DriftVerdict, Leaf
from properties.merge import Owner
from properties.models import Property
from properties.ownership import Ownership
from properties.pull.reading import read

SILENCES = 3  # calls in a row without a good answer; then the comparison stops
BATCH = 500  # keys in one UPDATE


class ComparisonError(Exception):
    """The comparison ended before its last property; the message is a `Problem`."""


def keys(workspace: Workspace, *, sample: int | None = None) -> list[int]:
    """Return the keys of all properties of a workspace, or of `sample` random ones."""
    mine = Property.objects.filter(workspace=workspace).values_list("pk", flat=True)
    return list(mine.order_by("pk") if sample is None else mine.order_by("?")[:sample])


def compare(
    workspace: Workspace,
    chosen: Iterable[int],
    *,
    room: Room = wait_for_room,
) -> Iterator[DriftFinding]:
    """Read one property after the other on the platform, and yield its differences from ours.

    Args:
        chosen: keys of rows of this workspace; a row that was deleted in between is skipped.
        room: holds the room for the calls about a property (A8).

    Raises:
        ComparisonError: the platform does not answer, or there is no room. The findings yielded
            before are valid.
    """
    silent = 0
    for pk in chosen:
        row = Property.objects.with_rules().filter(pk=pk).first()
        if row is None:
            continue
        try:
            with room(workspace), workspace.calling() as client:
                document = read(client, row).document
        except NoRoom as error:
            raise ComparisonError(problem_of(error)) from error
        except (TransientError, AuthError) as error:
            silent += 1
            if isinstance(error, AuthError) or error.pauses:
                raise ComparisonError(problem_of(error)) from error
            yield _failed(row, error)
            if silent == SILENCES:
                raise ComparisonError(problem_of(error)) from error
            continue
        except RejectedError as error:  # it concerns this property, not the connection
            yield _failed(row, error)
            continue
        silent = 0
        yield compared(row, document, now=timezone.now())


def compared(row: Property, document: dict[str, Any] | None, *, now: datetime) -> DriftFinding:
    """Return how a row differs from the document that was read; None is a missing property."""
    theirs, ownership = merge.leaves(document or {}), owners.of(row)
    ours, base = _ours(row), merge.leaves(row.observed)
    paths = [
        path
        for path in sorted(ours.keys() | theirs.keys())
        if not equal(path, ours.get(path), theirs.get(path))
        and ownership(path) is not Owner.NEVER  # both sides keep their value
    ]
    if document is not None and not paths:
        return DriftFinding(row.pk, str(row), DriftVerdict.SAME)
    # The row is checked only now: an edit or a push during the read explains the difference.
    same = Property.objects.filter(pk=row.pk, revision=row.revision, read_at=row.read_at)
    is_busy, blocked = not same.filter(idle(now)).exists(), row.blocked
    if document is None:
        return DriftFinding(row.pk, str(row), _verdict("", blocked, is_busy=is_busy), is_gone=True)
    leaves = tuple(
        Leaf(
            path,
            _verdict(path, blocked, is_busy=is_busy),
            _moved(path, ours.get(path), base.get(path), theirs.get(path)),
            ours.get(path),
            theirs.get(path),
        )
        for path in paths
    )
    strongest = max((leaf.verdict for leaf in leaves), key=RANK.__getitem__)
    return DriftFinding(row.pk, str(row), strongest, leaves)


def idle(now: datetime) -> Q:
    """Select the rows that are not due and not leased."""
    return Q(due_at=None) & due.unleased(now)


def forgotten(row: Property, ownership: Ownership) -> set[str]:
    """Return the leaves of an idle row that a push would send, although nothing made it due (I7).

    Leaves that wait for a person are left out; the leaf "" in a problem blocks the whole row. So
    are leaves that a newer rule has made sendable (`difference.undecided`).
    """
    if "" in row.blocked:
        return set()
    patch = smallest_patch(row, ownership, inflight=row.inflight)
    paths = set(patch.parts) | (set(patch.unsendable) - READ_ONLY)
    return {path for path in paths if not ownership.is_unagreed(path, row.read_at)}


def make_due(workspace: Workspace, chosen: Sequence[int], *, now: datetime) -> int:
    """Make idle rows due for a read and, if they differ, a push; return their number."""
    columns = {"due_at": now}
    if not workspace.read_before_write:
        columns["verify_at"] = now  # otherwise the push would not see what changed on the platform
    mine = Property.objects.filter(idle(now), workspace=workspace)
    count = sum(
        row_locks.update(mine.filter(pk__in=chosen[start : start + BATCH]), **columns)
        for start in range(0, len(chosen), BATCH)
    )
    if count:
        doorbell.ring(QUEUE, workspace.pk)
    return count


def _ours(row: Property) -> merge.Leaves:
    """Return the leaves that we want; for read-only leaves, the values of the last read."""
    wanted, read_last = merge.leaves(row.desired), merge.leaves(row.observed)
    return {path: value for path, value in wanted.items() if path not in READ_ONLY} | {
        path: value for path, value in read_last.items() if path in READ_ONLY
    }


def _verdict(path: str, blocked: set[str], *, is_busy: bool) -> DriftVerdict:
    if path and path in blocked:
        return DriftVerdict.BLOCKED
    if is_busy:
        return DriftVerdict.PENDING
    return DriftVerdict.BLOCKED if "" in blocked else DriftVerdict.UNEXPLAINED


def _moved(path: str, ours: Any, base: Any, theirs: Any) -> str:
    if equal(path, theirs, base):
        return "ours"
    return "theirs" if equal(path, ours, base) else "both"


def _failed(row: Property, error: Exception) -> DriftFinding:
    return DriftFinding(row.pk, str(row), DriftVerdict.FAILED, error=problem_of(error))
