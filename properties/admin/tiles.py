"""The figures that this app adds to the dashboard."""

from collections import Counter
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.ui import paginator
from crm_sync.admin.ui.cells import badge, list_of, moment, page_of, shortened
from crm_sync.hooks import NEWEST, Attention, Person, Tile
from crm_sync.platform.problems import explain
from crm_sync.security.access import within
from crm_sync.sentence import said
from crm_sync.translated import AtLeast, Text, ago, number, said_of
from properties.admin.property.match_page import match_address
from properties.admin.property.sync_tab import TONES, state_badge
from properties.admin.words import and_more
from properties.catalog import label
from properties.drift.findings import by_count
from properties.models import Change, Conflict, DriftCheck, Property
from properties.models.change import Origin
from properties.models.property import OUT_OF_STEP, TO_MATCH, ProblemKind, SyncState

HINTS: dict[SyncState, Text] = {
    SyncState.IN_SYNC: _("both sides said the same when last read"),
    SyncState.PENDING: _("on their way"),
    SyncState.HELD: _("sent once it is resumed"),
    SyncState.TO_MATCH: _("the platform may have it already"),
    SyncState.NEVER_PUSHED: _("not on the platform yet"),
    SyncState.CONFLICT: _("both sides changed a field"),
    SyncState.REFUSED: _("the platform refused a field"),
    SyncState.DIFFERS: _("the platform rounded or trimmed"),
    SyncState.CANNOT_CLEAR: _("the platform keeps a value"),
    SyncState.DUPLICATE: _("one reference, two properties"),
    SyncState.GONE: _("deleted on the platform"),
}
ALWAYS = frozenset({SyncState.IN_SYNC, SyncState.PENDING, SyncState.CONFLICT, SyncState.REFUSED})
REMEDIES: dict[SyncState, Text] = {
    SyncState.CONFLICT: _("Decide whose value stands, or edit the field"),
    SyncState.CANNOT_CLEAR: _("Clear it on the platform, or enter a value"),
    SyncState.DUPLICATE: _("Give one of them another reference on the platform"),
    SyncState.GONE: _("Leave it, or edit it: an edit creates it again"),
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
    counts.pop(SyncState.IN_SYNC, None)
    counts[SyncState.IN_SYNC] = _in_sync(person, sum(counts.values()))
    # A property that is being pushed counts as pending.
    counts[SyncState.PENDING] = counts.get(SyncState.PENDING, 0) + counts.get(SyncState.PUSHING, 0)
    listed = list_of("properties.property")
    return [
        Tile(
            str(state.label),
            counts.get(state, 0),
            TONES[state],
            f"{listed}?state={state}",
            str(hint),
        )
        for state, hint in HINTS.items()
        if state in ALWAYS or counts.get(state)
    ]


def _in_sync(person: Person, others: int) -> int:
    """Return the number of properties that are in sync: all but the others, counted to a limit."""
    found = paginator.counted(
        within(person, Property.objects.values("pk")), paginator.MOST + others
    )
    rest = found - others
    return AtLeast(rest) if isinstance(found, AtLeast) else rest


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
    first = ", ".join(label(path) for path, __ in by_count(fields)[:NAMED])
    names = and_more(first, len(fields) - NAMED)
    parts = [
        gettext("of %(compared)s differ from the platform, %(when)s")
        % {"compared": number(compared), "when": ago(now - checks[0].started_at)},
        gettext("%(count)s unexplained") % {"count": number(unexplained)} if unexplained else "",
        gettext("in %(fields)s") % {"fields": names} if names else "",
    ]
    link = f"{list_of('properties.driftcheck')}?kind__exact={DriftCheck.Kind.SAMPLE}"
    tone = "warning" if unexplained else "info"
    return [
        Tile(gettext("Drift"), differing, tone, link, "; ".join(part for part in parts if part))
    ]


def swept(person: Person, now: datetime) -> list[Attention]:
    """Return the last sweeps that found a write that bypassed `edit()` (I7)."""
    kind = DriftCheck.Kind.SWEEP
    found: Any = within(person, DriftCheck.objects.newest(kind)).filter(unexplained__gt=0)
    return [
        Attention(
            badge(gettext("Drift"), "warning"),
            shortened(
                gettext("Differed though nothing had made it due: %(properties)s")
                % {"properties": _references(check)},
                140,
            ),
            check.workspace_slug,
            moment(check.started_at, now),
            page_of(check),
            act=gettext("Compare"),
        )
        for check in found.annotate(workspace_slug=F("workspace__slug"))[:NEWEST]
    ]


def _references(check: DriftCheck) -> str:
    first = ", ".join(one["reference"] for one in check.found[:NAMED])
    return and_more(first, check.unexplained - NAMED)


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
            shortened(said_of(row, "; ".join(_messages(row))), 140),
            row.workspace_slug,
            moment(row.since, now) if row.since else "",
            page_of(row),
            remedy=str(REMEDIES.get(row.sync_state, _("Edit the field"))),
            act=gettext("Decide") if row.sync_state == SyncState.CONFLICT else gettext("Edit"),
            next_try=moment(row.due_at, now) if row.due_at else gettext("With the next edit"),
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
            badge(gettext("To be matched"), "warning"),
            ngettext(
                "%(count)s new here, and the platform may have it already",
                "%(count)s new here, and the platform may have them already",
                one["count"],
            )
            % {"count": number(one["count"])},
            one["workspace__slug"],
            link=match_address(one["workspace"]),
            remedy=gettext("Say which of them the platform has"),
            act=gettext("Match"),
        )
        for one in counts.order_by("workspace__slug")[:NEWEST]
    ]


def _messages(row: Property) -> list[str]:
    """Return what waits at a property; fields that wait for the same share one sentence."""
    fields: dict[str, list[str]] = {}
    for __, path, problem in row.problems:
        names = fields.setdefault(said(problem) if path else explain(problem).sentence, [])
        names.extend([label(path)] if path else [])
    return [said_of(", ".join(names), text) if names else text for text, names in fields.items()]
