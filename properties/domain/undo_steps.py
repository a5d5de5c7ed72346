"""Undo many changes in chunks: look first, then a worker does it, and goes on after a kill.

Each property is restored by one edit, so it is never half restored. A chunk that is done again
finds its properties restored and changes nothing.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.models import Workspace
from crm_sync.sentence import sentence
from crm_sync.work import leases, queues
from crm_sync.work.doorbell import doorbell
from crm_sync.work.leases import Claim, LeaseLost
from crm_sync.work.queues import RowQueue, Turn
from properties.catalog import leaf_of
from properties.domain.change_selection import NEWEST, ChangeSelection, Place, older
from properties.domain.editing import Invalid, Outdated, edit
from properties.domain.undo import Kept, KeptPart, RowUndo, row_undo
from properties.models import Change, Property, Undo
from properties.models.change import Cause

QUEUE = "undos"
CHUNK = 100  # changes between two writes of the progress
PREVIEWED = 200  # properties that a preview goes through
SHOWN = 20  # properties that a preview shows field by field
LISTED = 1_000  # kept parts, and removed properties, that an undo lists

Step = tuple[Property, RowUndo]


class UndoOutcome(StrEnum):
    """The result of a turn at an undo."""

    DONE = "done"
    GOES_ON = "goes on"


@dataclass
class UndoPreview:
    """What an undo would do.

    Attributes:
        up_to: the newest change that was looked at; newer ones are not undone.
        properties, fields: the numbers of properties and fields that would be restored.
        removed: the number of properties that would be removed.
        kept: the number of parts that would be kept.
        is_cut: whether only the first `PREVIEWED` properties were counted.
        steps: the first properties.
    """

    up_to: int = 0
    properties: int = 0
    fields: int = 0
    removed: int = 0
    kept: int = 0
    is_cut: bool = False
    steps: list[Step] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be restored or removed."""
        return not (self.fields or self.removed)


def preview(selection: ChangeSelection) -> UndoPreview:
    """Return what the undo of these changes would do, by what we know now."""
    newest = Change.objects.order_by("-pk").values_list("pk", flat=True).first()
    found, seen = UndoPreview(newest or 0), 0
    for __, rows in _chunks(selection, found.up_to, None):
        for row, history, selected in rows:
            if seen == PREVIEWED:
                found.is_cut = True
                return found
            seen += 1
            step = row_undo(row, history, selected)
            found.fields += len(step.values)
            found.properties += bool(step.values)
            found.removed += step.removes
            found.kept += len(step.kept)
            if len(found.steps) < SHOWN and (step.values or step.removes or step.kept):
                found.steps.append((row, step))
    return found


def request(
    workspace: Workspace,
    selection: ChangeSelection,
    *,
    up_to: int,
    actor: AbstractBaseUser | None,
    now: datetime,
) -> Undo:
    """Store an undo, so that a worker does it. `actor` is None for a command."""
    with transaction.atomic():
        job = Undo.objects.create(
            workspace=workspace,
            chosen=selection.within(workspace.pk).to_json(),
            up_to=up_to,
            requested_by=actor,  # type: ignore[misc]
            requested_at=now,
            due_at=now,
        )
        doorbell.ring(QUEUE, workspace.pk)
    return job


def work(claim: Claim[Undo], *, until: float) -> UndoOutcome:
    """Undo until a time of the monotonic clock, at least one chunk.

    Raises:
        LeaseLost: another worker has the undo now.
    """
    with doorbell.bulk():
        return _Running(claim).run(until)


def _turn(claims: Sequence[Claim[Undo]], turn: Turn) -> list[UndoOutcome]:
    return [work(claim, until=turn.ends_at) for claim in claims]


UNDOS = RowQueue(
    name=QUEUE,
    title=_("undos"),
    rows=lambda now: Undo.objects.all(),
    work=_turn,
    calls=False,
    lease=leases.SHORT_LEASE,
)


class _Running:
    """One turn at an undo. Each write requires that the lease is still ours."""

    def __init__(self, claim: Claim[Undo]) -> None:
        self._claim, self._job = claim, claim.row
        self._cause = Cause.UNDO.of(claim.row.pk)
        self._counts = Counter(claim.row.counts)
        self._kept, self._removed = list(claim.row.kept), list(claim.row.removed)

    def run(self, until: float) -> UndoOutcome:
        job = self._job
        selection = ChangeSelection.of_json(job.chosen)
        for place, rows in _chunks(selection, job.up_to, _place(job.position)):
            for row, history, selected in rows:
                self._undo(row, history, selected)
            self._write(position=[place[0].isoformat(), place[1]])
            if time.monotonic() >= until or queues.ending.is_set():
                self._claim.finish(due_at=timezone.now(), attempts=0, problem="")
                doorbell.ring(QUEUE, job.workspace_id)
                return UndoOutcome.GOES_ON
        self._claim.finish(due_at=None, ended_at=timezone.now(), attempts=0, problem="")
        return UndoOutcome.DONE

    def _write(self, **columns: Any) -> None:
        lease = {"lease_until": timezone.now() + self._claim.lease.length}
        told = {"counts": dict(self._counts), "kept": self._kept, "removed": self._removed}
        if not self._claim.write({**columns, **told, **lease}):
            raise LeaseLost

    def _undo(self, row: Property, history: list[Change], selected: set[int]) -> None:
        """Undo the changes of one property; repeat it if somebody is faster."""
        refused: set[str] = set()
        is_needed = False
        while True:
            step = row_undo(row, history, selected)
            if step.removes and not is_needed:
                try:
                    if self._remove(row):
                        return
                except ProtectedError:
                    is_needed = True
                    continue
                row.refresh_from_db()
                history = _histories([row.pk], min(selected))[row.pk]
                continue
            values = {path: old for path, old in step.values.items() if path not in refused}
            try:
                done = self._edit(row, values)
            except Outdated:
                history = _histories([row.pk], min(selected))[row.pk]
                continue
            except Invalid as error:
                paths = {leaf_of(fault.path) for fault in error.faults} & values.keys()
                refused |= paths or values.keys()
                continue
            if step.removes:
                step.kept.append(KeptPart("", Kept.NEEDED))
            step.kept += [KeptPart(path, Kept.INVALID) for path in sorted(refused)]
            # Before a kill, this undo may have restored a field already.
            ours = {one.path for one in history if one.cause == self._cause}
            restored = len(done) + len(ours.intersection(step.same))
            self._count(row, step, restored)
            return

    def _edit(self, row: Property, values: dict[str, Any]) -> set[str]:
        if not values:
            return set()
        actor = self._job.requested_by
        return edit(
            row,
            values,
            origin=Change.Origin.ADMIN if actor else Change.Origin.API,
            actor=actor,
            now=timezone.now(),
            note=sentence("undo %(id)s", id=str(self._job.pk)),
            cause=self._cause,
            revision=row.revision,
        )

    def _count(self, row: Property, step: RowUndo, restored: int) -> None:
        self._counts["fields"] += restored
        self._counts["properties"] += bool(restored)
        self._counts["kept"] += len(step.kept)
        for part in step.kept[: max(0, LISTED - len(self._kept))]:
            change = part.change.pk if part.change else None
            self._kept.append([row.pk, str(row), part.path, part.reason, change])

    def _remove(self, row: Property) -> bool:
        """Remove a property that only these changes made; return False if it is not as read.

        Raises:
            ProtectedError: an order or a placement is for it. Nothing was changed.
        """
        job = self._job
        with transaction.atomic():
            free = Property.objects.filter(pk=row.pk, revision=row.revision)
            free = free.filter(platform_id=None, create_sent_at=None, lease_token=None, inflight={})
            # This locks the row, so that no worker claims it.
            if not free.update(due_at=None, verify_at=None):
                return False
            if job.requested_by_id:
                rows = Property.objects.filter(pk=row.pk)
                text = sentence("Removed by undo %(id)s: it was never sent.", id=str(job.pk))
                LogEntry.objects.log_actions(job.requested_by_id, rows, DELETION, text.dumped)
            Property.objects.filter(pk=row.pk).delete()
            self._counts["removed"] += 1
            self._removed.extend([str(row)] if len(self._removed) < LISTED else [])
            self._write()
        return True


def _place(stored: Any) -> Place | None:
    return (datetime.fromisoformat(stored[0]), stored[1]) if stored else None


_Rows = Iterator[tuple[Property, list[Change], set[int]]]


def _chunks(
    selection: ChangeSelection, up_to: int, place: Place | None
) -> Iterator[tuple[Place, _Rows]]:
    """Yield the selected changes in chunks, the newest first: the last place, and the properties.

    A property comes once, with the newest of its changes: with it come its history and the keys of
    all its selected changes.
    """
    chosen = selection.changes().filter(pk__lte=up_to)
    while True:
        rows = older(chosen, place).order_by(*NEWEST)
        chunk = list(rows.values_list("at", "pk", "real_estate_property")[:CHUNK])
        if not chunk:
            return
        yield chunk[-1][:2], _of_chunk(chosen, chunk)
        place = chunk[-1][:2]


def _of_chunk(chosen: Any, chunk: Sequence[tuple[datetime, int, int]]) -> _Rows:
    mine = chosen.filter(real_estate_property__in={key for _, _, key in chunk})
    selected: dict[int, set[int]] = defaultdict(set)
    first: dict[int, int] = {}
    for key, pk in mine.order_by(*NEWEST).values_list("real_estate_property", "pk"):
        selected[key].add(pk)
        first.setdefault(key, pk)
    in_chunk = {pk for _, pk, _ in chunk}
    keys = [key for key, pk in first.items() if pk in in_chunk]  # others came before
    # Rows before histories: so an edit in between makes the row outdated.
    rows = Property.objects.with_rules().in_bulk(keys)
    oldest = min((pk for key in keys for pk in selected[key]), default=0)
    histories = _histories(keys, oldest)
    for key in keys:
        if key in rows:
            yield rows[key], histories[key], selected[key]


def _histories(keys: Sequence[int], oldest: int) -> dict[int, list[Change]]:
    found: dict[int, list[Change]] = defaultdict(list)
    changes = Change.objects.filter(real_estate_property__in=keys, pk__gte=oldest)
    for change in changes.select_related("actor"):
        found[change.real_estate_property_id].append(change)
    return found


def finish(job: Undo) -> Undo:
    """Do an undo in this process, or wait for the worker that does it; return it as it ended."""
    while True:
        claim = leases.claim(
            Undo.objects.filter(pk=job.pk, due_at__isnull=False), now=timezone.now()
        )
        if claim is not None:
            work(claim, until=float("inf"))
        found = Undo.objects.get(pk=job.pk)
        if found.ended_at:
            return found
        time.sleep(0.1)
