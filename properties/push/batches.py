"""Many properties at once: what a push or a read of them would do, and how far it is."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from crm_sync.models import Workspace, due
from properties.domain.difference import planned
from properties.domain.editing import due_now
from properties.merge import Leaves
from properties.models import Batch, Property
from properties.models.property import TO_SEND, ProblemKind

FIRST = 20  # properties that a plan shows field by field
COUNTED = 5_000  # properties that a plan goes through: about half a millisecond each
CHUNK = 500  # rows in one INSERT, and in memory
FORGOTTEN = timedelta(days=1)  # a plan that nobody confirmed
KEPT = timedelta(days=30)  # who pushed what, when
COLUMNS = ("object_reference_id", "platform_id", "desired", "observed", "inflight", "problem")

GONE = Q(problem__has_key=ProblemKind.GONE.value)


@dataclass(frozen=True)
class BatchStep:
    """What would go out for one property: `call` is PATCH, POST or "nothing to send"."""

    row: Property
    call: str
    parts: Leaves


@dataclass
class BatchPlan:
    """What a batch would do by what we know now, without a read.

    Attributes:
        uncounted: of `total`, those behind the first `COUNTED`, which no other figure holds.
        changed, created, unchanged: properties by their call.
        again: of `created`, those that the platform had and has no longer.
        left_out: properties that a read leaves alone, since it would create them again.
        blocked: kind of problem to (properties, fields) that wait for a person and stay out.
        paused: workspaces that are left alone for now, with the number of properties in them.
        steps: the first ones that send something or hold something back.
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
    """How many properties of a batch stand where; `delayed` are those of `waiting` that failed."""

    total: int
    waiting: int
    delayed: int
    under_way: int
    done: int
    person: int

    @property
    def handled(self) -> int:
        """How many have come to their end, good or bad."""
        return self.done + self.person

    @property
    def is_finished(self) -> bool:
        """Whether no property is still to be handled."""
        return not (self.waiting or self.under_way)


def choose(
    rows: QuerySet[Property], kind: Batch.Kind, *, actor: AbstractBaseUser, now: datetime
) -> Batch:
    """Remember which rows were chosen; nothing is due yet."""
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


def start(batch: Batch, *, actor: AbstractBaseUser, now: datetime) -> int:
    """Make the rows due, once; returns how many, 0 when it was started before.

    Who confirms it is kept: it need not be who chose the rows.
    """
    with transaction.atomic():
        waiting = Batch.objects.filter(pk=batch.pk, confirmed_at=None)
        if not waiting.update(confirmed_at=now, confirmed_by=actor):
            return 0
        mine = Property.objects.filter(pk__in=batch.properties.values("pk"))
        return read_now(mine, now=now) if batch.kind == Batch.Kind.READ else due_now(mine, now=now)


def read_now(rows: QuerySet[Property], *, now: datetime) -> int:
    """Make the rows due for a read, but none that it would create again; returns how many.

    Where a workspace does not read before it writes, the row is marked like one whose verifying
    read has come (I3), unless it waits for that one anyway.
    """
    there = rows.exclude(GONE)
    free = there.filter(verify_at=None, inflight={}, lease_token=None, platform_id__isnull=False)
    with transaction.atomic():  # marked and not due, nobody would come to it
        blind = free.filter(workspace__read_before_write=False)
        blind.update(verify_at=now - timedelta(seconds=1), due_at=now)
        return due_now(there, now=now)


def plan(batch: Batch, *, now: datetime) -> BatchPlan:
    """Say what would go out: counted, and field by field for the first ones."""
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
    """Count where the rows stand, in one query."""
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
    """Return the rows of a batch that were handled, and that a person has to look at."""
    return batch.properties.filter(~TO_SEND).exclude(problem={})


def _steps(batch: Batch) -> Iterable[BatchStep]:
    rows = batch.properties.order_by("object_reference_id", "pk").only(*COLUMNS)
    for row in rows[:COUNTED].iterator(chunk_size=CHUNK):
        call, parts = planned(row)
        yield BatchStep(row, call, parts)


def paused(batch: Batch, now: datetime) -> list[tuple[Workspace, int]]:
    """Return the workspaces that wait, without their secrets (S5)."""
    counts = dict(
        batch.properties.filter(workspace__paused_until__gt=now)
        .order_by()
        .values_list("workspace_id")
        .annotate(Count("pk"))
    )
    found = Workspace.objects.only("slug", "paused_until", "problem").filter(pk__in=counts)
    return [(workspace, counts[workspace.pk]) for workspace in found.order_by("slug")]
