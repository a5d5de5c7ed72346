"""The figures that this app adds to the dashboard."""

from collections import Counter
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from crm_sync.admin.ui.cells import badge, list_of, moment, page_of, shortened
from crm_sync.hooks import NEWEST, Attention, Person, Tile
from crm_sync.platform.problems import explain
from crm_sync.security.access import within
from crm_sync.text import span
from properties.admin.property.match_page import match_address
from properties.admin.property.sync_tab import TONES, state_badge
from properties.catalog import label
from properties.drift.findings import by_count
from properties.models import Change, Conflict, DriftCheck, Property
from properties.models.change import Origin
from properties.models.property import OUT_OF_STEP, TO_MATCH, ProblemKind, SyncState

HINTS = {
    SyncState.IN_SYNC: "both sides said the same when last read",
    SyncState.PENDING: "on their way",
    SyncState.HELD: "sent once it is resumed",
    SyncState.TO_MATCH: "the platform may have it already",
    SyncState.NEVER_PUSHED: "not on the platform yet",
    SyncState.CONFLICT: "both sides changed a field",
    SyncState.REFUSED: "the platform refused a field",
    SyncState.DIFFERS: "the platform rounded or trimmed",
    SyncState.CANNOT_CLEAR: "the platform keeps a value",
    SyncState.DUPLICATE: "one reference, two properties",
    SyncState.GONE: "deleted on the platform",
}
ALWAYS = frozenset({SyncState.IN_SYNC, SyncState.PENDING, SyncState.CONFLICT, SyncState.REFUSED})
REMEDIES = {
    SyncState.CONFLICT: "Decide whose value stands, or edit the field",
    SyncState.CANNOT_CLEAR: "Clear it on the platform, or enter a value",
    SyncState.DUPLICATE: "Give one of them another reference on the platform",
    SyncState.GONE: "Leave it, or edit it: an edit creates it again",
}
NAMED = 3  # fields that the hint of a tile has room for


def tiles(person: Person) -> list[Tile]:
    """Count the properties by state, and what the last samples found."""
    return _states(person) + _drift(person, timezone.now())


def _states(person: Person) -> list[Tile]:
    """Return a tile for each state; rare states only if there are such properties."""
    mine = within(person, Property.objects.with_state(timezone.now()).order_by())
    # Only the few properties that are out of sync are examined one by one.
    states = mine.filter(OUT_OF_STEP).values_list("sync_state")  # type: ignore[misc] # hidden
    counts: dict[str, int] = dict(states.annotate(Count("pk")))
    in_step = mine.count() - sum(counts.values())
    counts[SyncState.IN_SYNC] = counts.get(SyncState.IN_SYNC, 0) + in_step
    # A property that is being pushed counts as pending.
    counts[SyncState.PENDING] = counts.get(SyncState.PENDING, 0) + counts.get(SyncState.PUSHING, 0)
    listed = list_of("properties.property")
    return [
        Tile(str(state.label), counts.get(state, 0), TONES[state], f"{listed}?state={state}", hint)
        for state, hint in HINTS.items()
        if state in ALWAYS or counts.get(state)
    ]


def _drift(person: Person, now: datetime) -> list[Tile]:
    """Add up the last sample of each workspace; no tile before the first sample."""
    newest = within(person, DriftCheck.objects.newest(DriftCheck.Kind.SAMPLE))
    checks = list(newest.order_by("started_at"))
    if not checks:
        return []
    differing, unexplained, compared = (
        sum(getattr(check, name) for check in checks)
        for name in ("differing", "unexplained", "compared")
    )
    fields = sum((Counter(check.fields) for check in checks), Counter[str]())
    names = [label(path) for path, _ in by_count(fields)[:NAMED]]
    more = f" and {len(fields) - NAMED} more" if len(fields) > NAMED else ""
    parts = [
        f"of {compared} differ from the platform, {span(now - checks[0].started_at)} ago",
        f"{unexplained} unexplained" if unexplained else "",
        f"in {', '.join(names)}{more}" if names else "",
    ]
    link = f"{list_of('properties.driftcheck')}?kind__exact={DriftCheck.Kind.SAMPLE}"
    tone = "warning" if unexplained else "info"
    return [Tile("Drift", differing, tone, link, "; ".join(part for part in parts if part))]


def swept(person: Person, now: datetime) -> list[Attention]:
    """Return the last sweeps that found a write that bypassed `edit()` (I7)."""
    kind = DriftCheck.Kind.SWEEP
    found: Any = within(person, DriftCheck.objects.newest(kind)).filter(unexplained__gt=0)
    return [
        Attention(
            badge("Drift", "warning"),
            shortened(f"Differed though nothing had made it due: {_first(check)}", 140),
            check.workspace_slug,
            moment(check.started_at, now),
            page_of(check),
            act="Compare",
        )
        for check in found.annotate(workspace_slug=F("workspace__slug"))[:NEWEST]
    ]


def _first(check: DriftCheck) -> str:
    names = ", ".join(one["reference"] for one in check.found[:NAMED])
    return names if check.unexplained <= NAMED else f"{names} and {check.unexplained - NAMED} more"


def attention(person: Person, now: datetime) -> list[Attention]:
    """Return the properties with a field that waits for a person, the newest problem first."""
    mine = within(person, Property.objects.with_state(now)).exclude(problem={})
    waiting: Any = (  # annotated twice, which the stubs do not follow
        _with_since(mine)
        .order_by(F("since").desc(nulls_last=True), "-pk")
        .annotate(workspace_slug=F("workspace__slug"))[:NEWEST]
    )
    return [
        Attention(
            state_badge(row.sync_state),
            shortened(f"{row}: {'; '.join(_messages(row))}", 140),
            row.workspace_slug,
            moment(row.since, now) if row.since else "",
            page_of(row),
            remedy=REMEDIES.get(row.sync_state, "Edit the field"),
            act="Decide" if row.sync_state == SyncState.CONFLICT else "Edit",
            next_try=moment(row.due_at, now) if row.due_at else "With the next edit",
        )
        for row in waiting
    ]


def _with_since(rows: QuerySet[Property]) -> QuerySet[Any]:
    """Annotate `since`: from when the problem is known, as far as we know; no read moves it.

    It is when the first open conflict began, for a property that is gone the last read that found
    it, else our last change or the last sending.
    """
    mine = {"real_estate_property": OuterRef("pk")}
    conflicts = Conflict.objects.filter(**mine, decision="").order_by("created_at")
    changes = Change.objects.filter(**mine).exclude(origin=Origin.PLATFORM).order_by("-at")
    sent, changed = F("pushed_at"), Subquery(changes.values("at")[:1])
    # On SQLite the greatest of a moment and NULL is NULL.
    newest = Greatest(Coalesce(sent, changed), Coalesce(changed, sent))
    is_gone = Q(problem__has_key=ProblemKind.GONE.value)
    other = Case(When(is_gone, then=F("read_at")), default=newest)
    return rows.annotate(since=Coalesce(Subquery(conflicts.values("created_at")[:1]), other))


def to_match(person: Person, now: datetime) -> list[Attention]:
    """Return the workspaces with properties that wait to be matched (I36)."""
    waiting = within(person, Property.objects.filter(OUT_OF_STEP, TO_MATCH))
    counts = waiting.order_by().values("workspace", "workspace__slug").annotate(count=Count("pk"))
    return [
        Attention(
            badge("To be matched", "warning"),
            f"{one['count']:,} new here, and the platform may have them already",
            one["workspace__slug"],
            link=match_address(one["workspace"]),
            remedy="Say which of them the platform has",
            act="Match",
        )
        for one in counts.order_by("workspace__slug")[:NEWEST]
    ]


def _messages(row: Property) -> list[str]:
    """Return what waits at a property; fields that wait for the same share one sentence."""
    fields: dict[str, list[str]] = {}
    for _, path, problem in row.problems:
        names = fields.setdefault(str(problem) if path else explain(problem).sentence, [])
        names.extend([label(path)] if path else [])
    return [f"{', '.join(names)}: {text}" if names else text for text, names in fields.items()]
