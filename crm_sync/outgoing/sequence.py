"""The changes of a workspace in one sequence that a program can follow (I37, decision 31).

A change is written without a number, in its own transaction, and no writer waits for another. Who
reads gives the next numbers to changes that are committed by then, one reader after the other. So a
change that is committed late gets a higher number than all that were read before it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max, QuerySet

from crm_sync.expiry import BATCH, Part
from crm_sync.models import ChangeSequence, ReportedChange

# More changes than a backup can lack: after a restore no old position looks like a valid one.
LEAP = 1_000_000


@dataclass(frozen=True)
class UnknownPosition(Exception):
    """A position whose next changes are not kept, or that this sequence never had.

    Attributes:
        oldest: the first number that is kept, or will be given next.
        last: the last number that was given.
    """

    oldest: int
    last: int


def read(workspace_id: int, after: int | None, limit: int) -> tuple[list[ReportedChange], int]:
    """Return the changes after a position, and the position after them.

    Args:
        after: the number of the last change that was read; None for all that are kept.

    Raises:
        UnknownPosition: changes after this position were removed, or it is beyond the end.
    """
    if after is None:
        after = _ends(workspace_id).removed
    if _unnumbered(workspace_id).exists():  # asked first: what another reader numbers is read
        with transaction.atomic():
            _number(_locked(workspace_id), limit)
    found = list(_numbered(workspace_id).filter(number__gt=after).order_by("number")[:limit])
    ends = _ends(workspace_id)  # read last: what is removed from now on was read
    if not ends.removed <= after <= ends.last:
        raise UnknownPosition(ends.removed + 1, ends.last)
    return found, found[-1].number or after if found else after


def removal(days: int, *, now: datetime) -> Part:
    """Return a part that removes old changes; none if `days` is 0. It numbers them first.

    Otherwise a change that nobody has read would vanish without a trace in the numbers.
    """
    old = ReportedChange.objects.filter(created_at__lt=now - timedelta(days=days))

    def remove() -> int:
        first = old.order_by("created_at").first() if days else None
        if first is None:
            return 0
        with transaction.atomic():
            sequence = _locked(first.workspace_id)
            count = _number(sequence, BATCH)
            mine = _numbered(first.workspace_id)
            batch = (mine & old).order_by("number")[:BATCH]
            last = batch.aggregate(last=Max("number"))["last"]
            if last is not None:
                sequence.removed = last
                sequence.save(update_fields=["removed"])
                count += mine.filter(number__lte=last).delete()[0]
        return count

    return remove


def restart(workspace_id: int) -> int:
    """Begin anew after a backup was restored, so that each reader is told; return removed changes.

    The backup lacks the last numbers. Without a leap they would be given a second time.
    """
    with transaction.atomic():
        sequence = _locked(workspace_id)
        sequence.last += LEAP
        sequence.removed = sequence.last
        sequence.save()
        return ReportedChange.objects.filter(workspace=workspace_id).delete()[0]


def _numbered(workspace_id: int) -> QuerySet[ReportedChange]:
    return ReportedChange.objects.filter(workspace=workspace_id, number__isnull=False)


def _unnumbered(workspace_id: int) -> QuerySet[ReportedChange]:
    return ReportedChange.objects.filter(workspace=workspace_id, number__isnull=True)


def _ends(workspace_id: int) -> ChangeSequence:
    return ChangeSequence.objects.filter(workspace=workspace_id).first() or ChangeSequence()


def _locked(workspace_id: int) -> ChangeSequence:
    """Return the sequence, locked until the transaction ends."""
    rows = ChangeSequence.objects.select_for_update(no_key=True)
    found = rows.filter(workspace=workspace_id).first()
    if found is None:  # two may create it: then both lock the one that is there
        ChangeSequence.objects.get_or_create(workspace_id=workspace_id)
        found = rows.get(workspace=workspace_id)
    return found


def _number(sequence: ChangeSequence, limit: int) -> int:
    """Give the next numbers to changes that are committed; return their number.

    The lock comes first. So this statement sees all that the reader before has numbered.
    """
    rows = list(_unnumbered(sequence.workspace_id).order_by("pk").only("pk")[:limit])
    for row in rows:
        sequence.last += 1
        row.number = sequence.last
    ReportedChange.objects.bulk_update(rows, ["number"])
    sequence.save(update_fields=["last"])
    return len(rows)
