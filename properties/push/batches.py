"""Batches: many properties that are pushed or read together, with a plan and the progress."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from crm_sync import row_locks
from crm_sync.models import Workspace, due
from properties.domain import owners
from properties.domain.difference import planned
from properties.domain.editing import due_now
from properties.merge import Leaves
from properties.models import Batch, Property
from properties.models.property import TO_SEND, ProblemKind

FIRST = 20  # properties that a plan shows field by field
COUNTED = 5_000  # properties that a plan goes through: about half a millisecond each
CHUNK = 500  # rows in one INSERT, and rows held in memory
FORGOTTEN = timedelta(days=1)  # a plan that nobody confirmed
KEPT = timedelta(days=30)  # a batch, which shows who pushed what and when
COLUMNS = ("object_reference_id", "platform_id", "desired", "observed", "inflight", "problem")

GONE = Q(problem__has_key=ProblemKind.GONE.value)


@dataclass(frozen=True)
class BatchStep:
    """One property of a plan; `call` is PATCH, POST or "nothing to send"."""

    row: Property
    call: str
    parts: Leaves


@dataclass
class BatchPlan:
    """What a batch would do, by what we know now without a read.

    Attributes:
        uncounted: the properties of `total` after the first `COUNTED`; no other figure counts them.
        changed, created, unchanged: the numbers of properties by their call.
        again: the properties of `created` that the platform had before and no longer has.
        left_out: properties that are not read, because the platform no longer has them and a push
            would create them again.
        blocked: kind of problem to the numbers of (properties, fields) that wait for a person and
            are not sent.
        paused: paused workspaces, with the number of their properties in the batch.
        steps: the first properties with a field to send or a field that waits for a person.
    """

    total: int = 0
    uncounted: int = 0
    changed: int = 0
    created: int = 0
    again: int = 0
    unchanged: int = 0
    left_out: int = 0
    blocked: dict[str, tuple[int, int]] = field(default_factory=dict)
    paused: list[tuple[Workspace, int]] = field(default_factory=list)
    steps: list[BatchStep] = field(default_factory=list)


@dataclass(frozen=True)
class Progress:
    """The progress of a batch; `delayed` counts the properties of `waiting` that failed before."""

    total: int
    waiting: int
    delayed: int
    under_way: int
    done: int
    person: int

    @property
    def handled(self) -> int:
        """The number of properties that have ended, well or badly."""
        return self.done + self.person

    @property
    def is_finished(self) -> bool:
        """Whether no property is still to be handled."""
        return not (self.waiting or self.under_way)


def choose(
    rows: QuerySet[Property], kind: Batch.Kind, *, actor: AbstractBaseUser, now: datetime
) -> Batch:
    """Store which rows were chosen, and delete old batches. Nothing is due yet."""
    never_confirmed = Q(confirmed_at=None, created_at__lt=now - FORGOTTEN)
    Batch.objects.filter(never_confirmed | Q(created_at__lt=now - KEPT)).delete()
    links = Batch.properties.through
    with transaction.atomic():
        batch = Batch.objects.create(
            kind=kind,
            created_by=actor,  # type: ignore[misc]
            created_at=now,
        )
        keys = rows.order_by().values_list("pk", flat=True)
        links.objects.bulk_create(
            (links(batch_id=batch.pk, property_id=key) for key in keys), batch_size=CHUNK
        )
    return batch


def start(batch: Batch, *, actor: AbstractBaseUser, now: datetime) -> bool:
    """Make the rows due, once; return False if the batch was started before.

    `actor` is stored: the person who confirms need not be the person who chose the rows.
    """
    with transaction.atomic():
        waiting = Batch.objects.filter(pk=batch.pk, confirmed_at=None)
        if not waiting.update(confirmed_at=now, confirmed_by=actor):
            return False
        mine = Property.objects.filter(pk__in=batch.properties.values("pk"))
        make_due = read_now if batch.kind == Batch.Kind.READ else due_now
        make_due(mine, now=now)
    return True


def read_now(rows: QuerySet[Property], *, now: datetime) -> int:
    """Make the rows due for a read, except rows that it would create again; return their number.

    If a workspace does not read before it writes, a row is marked as if its verifying read was due
    (I3), unless it waits for a verifying read already.
    """
    there = rows.exclude(GONE)
    free = there.filter(verify_at=None, inflight={}, lease_token=None, platform_id__isnull=False)
    with transaction.atomic():  # a row that is marked but not due would not be claimed
        row_locks.lock(there)
        blind = free.filter(workspace__read_before_write=False)
        blind.update(verify_at=now - timedelta(seconds=1), due_at=now)
        return due_now(there, now=now)


def plan(batch: Batch, *, now: datetime) -> BatchPlan:
    """Return what would be sent: numbers, and each field of the first properties."""
    total = batch.properties.count()
    found = BatchPlan(total, max(0, total - COUNTED))
    kinds: Counter[str] = Counter()
    fields: Counter[str] = Counter()
    for step in _steps(batch):
        row = step.row
        for kind, texts in row.problem.items():
            kinds[kind] += 1
            fields[kind] += len(texts.keys() - {""})
        is_gone = ProblemKind.GONE in row.problem
        if is_gone and batch.kind == Batch.Kind.READ:
            found.left_out += 1
            continue
        found.changed += step.call == "PATCH"
        found.created += step.call == "POST"
        found.again += step.call == "POST" and is_gone
        found.unchanged += not step.parts
        if len(found.steps) < FIRST and (step.parts or row.blocked):
            found.steps.append(step)
    found.blocked = {kind: (kinds[kind], fields[kind]) for kind in sorted(kinds)}
    found.paused = paused(batch, now)
    return found


def progress(batch: Batch, *, now: datetime) -> Progress:
    """Count the rows of a batch by their progress, in one query."""
    counts = batch.properties.aggregate(
        total=Count("pk"),
        waiting=Count("pk", filter=TO_SEND & due.unleased(now)),
        delayed=Count("pk", filter=TO_SEND & due.unleased(now) & Q(attempts__gt=0)),
        under_way=Count("pk", filter=TO_SEND & due.leased(now)),
        person=Count("pk", filter=~TO_SEND & ~Q(problem={})),
    )
    done = counts["total"] - counts["waiting"] - counts["under_way"] - counts["person"]
    return Progress(done=done, **counts)


def need_a_person(batch: Batch) -> QuerySet[Property]:
    """Return the rows of a batch that were handled and that now wait for a person."""
    return batch.properties.filter(~TO_SEND).exclude(problem={})


def _steps(batch: Batch) -> Iterable[BatchStep]:
    rows = batch.properties.order_by("object_reference_id", "pk").only(*COLUMNS).with_rules()
    for row in rows[:COUNTED].iterator(chunk_size=CHUNK):
        call, parts = planned(row, owners.of(row))
        yield BatchStep(row, call, parts)


def paused(batch: Batch, now: datetime) -> list[tuple[Workspace, int]]:
    """Return the paused workspaces, without their secrets (S5)."""
    counts = dict(
        batch.properties.filter(workspace__paused_until__gt=now)
        .order_by()
        .values_list("workspace_id")
        .annotate(Count("pk"))
    )
    found = Workspace.objects.only("slug", "paused_until", "problem").filter(pk__in=counts)
    return [(workspace, counts[workspace.pk]) for workspace in found.order_by("slug")]
