"""The state of a source in words: for its list, its page, and the overview."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.overview.unmailed import no_mail
from crm_sync.admin.ui.cells import badge, list_of, moment, page_at, shortened
from crm_sync.hooks import NEWEST, Attention, Person, Trouble
from crm_sync.models import AlarmKind
from crm_sync.security.access import within
from crm_sync.sentence import Sentence, said
from crm_sync.translated import Text, number
from properties.models import DeliveredFile, Fetch, Import, Source
from properties.models.delivered_file import FileState
from properties.models.import_ import ImportState
from properties.models.source import Delivery
from properties.sources import source_times
from properties.sources.in_turn_look import stops

STOPPED = "Stopped by a file"
FAILS, NOT_IMPORTED = "Does not come", "Not imported"
WAITS, AWAY = "Waits for a person", "Stays away"
OFF, NEW, AGAIN, GOOD = "Off", "Not fetched yet", "Tried again", "In order"
NAMES: dict[str, Text] = {
    STOPPED: _("Stopped by a file"),
    FAILS: _("Does not come"),
    NOT_IMPORTED: _("Not imported"),
    WAITS: _("Waits for a person"),
    AWAY: _("Stays away"),
    OFF: _("Off"),
    NEW: _("Not fetched yet"),
    AGAIN: _("Tried again"),
    GOOD: _("In order"),
}
REMEDIES: dict[str, Text] = {
    STOPPED: _("Ask the sender for a new file of the same name, or skip this file"),
    FAILS: _("Correct the address or the password, or ask the sender"),
    NOT_IMPORTED: _("Ask the sender; if nothing is wrong with it, fetch and take it all the same"),
    AWAY: _("Ask the sender, or expect it later"),
}
Standing = tuple[str, str, str]  # key of NAMES, tone and reason


def with_last_import(sources: QuerySet[Source]) -> QuerySet[Any]:
    """Load each source with its last import, and never with a secret (S5)."""
    last = Import.objects.filter(source=OuterRef("pk")).order_by("-pk")
    stopped = DeliveredFile.objects.filter(
        source=OuterRef("pk"), state=FileState.STOPPED, gone_at=None
    ).order_by("-at", "-pk")  # the one that stopped last comes before the others
    return sources.defer("secret").annotate(
        sender_name=F("sender__name"),
        last_import=Subquery(last.values("pk")[:1]),
        last_state=Subquery(last.values("state")[:1]),
        last_problem=Subquery(last.values("problem")[:1]),
        stopped_pk=Subquery(stopped.values("pk")[:1]),
        stopped_file=Subquery(stopped.values("name")[:1]),
        stopped_problem=Subquery(stopped.values("problem")[:1]),
    )


def standing(row: Any, now: datetime) -> Standing:
    """Return the state of a source that was loaded with its last import."""
    is_away = source_times.is_away(row, now)
    first = gettext("The first feed: look at it, and import it")
    in_turn = row.delivery == Delivery.IN_TURN
    why = stops(row.stopped_file, row.stopped_problem) if row.stopped_file else ""
    found: list[tuple[bool, Standing]] = [
        (in_turn and bool(row.stopped_file), (STOPPED, "danger", why)),
        (row.attempts >= source_times.TRIES, (FAILS, "danger", row.problem)),
        (
            not in_turn and row.last_state == ImportState.FAILED,
            (NOT_IMPORTED, "danger", row.last_problem),
        ),
        (row.last_state == ImportState.PREVIEWED, (WAITS, "warning", first)),
        (is_away, (AWAY, "warning", source_times.away_text(row, now) if is_away else "")),
        (not row.is_enabled, (OFF, "muted", "")),
        (row.fetched_at is None, (NEW, "info", "")),
        (bool(row.problem), (AGAIN, "warning", row.problem)),
        (True, (GOOD, "good", "")),
    ]
    return next(one for is_so, one in found if is_so)


def state_badge(row: Any, now: datetime) -> SafeString:
    """Return the badge of a source."""
    name, tone, __ = standing(row, now)
    return badge(NAMES[name], tone)


def attention(person: Person, now: datetime) -> list[Attention]:
    """Return the sources that wait for a person; one query. Imports that wait are lines of
    their own.
    """
    rows = within(person, with_last_import(Source.objects.all()))
    named = rows.annotate(workspace_slug=F("workspace__slug")).order_by("-fetched_at", "-pk")
    found = [(row, standing(row, now)) for row in named]
    waiting = [(row, one) for row, one in found if one[0] in REMEDIES]
    return [_line(row, one, now) for row, one in waiting[:NEWEST]]


def unmailed(person: Person, now: datetime) -> list[Attention]:
    """Return one line if mails about sources could not be sent, no matter how many; one query."""
    waiting = Fetch.objects.exclude(problem="").filter(due_at__isnull=False)
    rows = within(person, waiting).order_by("due_at", "pk")
    found = list(rows.values_list("problem", "due_at"))
    if not found:
        return []
    problem, due_at = found[0]
    text = ngettext(
        "%(count)s mail about a feed waits: %(problem)s",
        "%(count)s mails about feeds wait: %(problem)s",
        len(found),
    )
    text = text % {"count": number(len(found)), "problem": said(problem)}
    return [no_mail(text, due_at, now, link=list_of("properties.source"))]


def troubles(now: datetime) -> Iterator[Trouble]:
    """Yield the sources that wait for a person, as `attention` shows them; one query."""
    for row in with_last_import(Source.objects.order_by("pk")):
        name, __, why = standing(row, now)
        if name in REMEDIES:
            page = reverse("admin:properties_source_change", args=[row.pk])
            where = (row.workspace_id, str(row.pk), row.sender_name)
            yield Trouble(AlarmKind.SOURCE_AWAY, *where, Sentence(why), page)


def _line(row: Any, one: Standing, now: datetime) -> Attention:
    name, tone, why = one
    is_import = name == NOT_IMPORTED
    link = (
        page_at("properties.import", row.last_import)
        if is_import
        else page_at("properties.source", row.pk)
    )
    return Attention(
        badge(NAMES[name], tone),
        shortened(
            gettext("Feed of %(sender)s: %(why)s") % {"sender": row.sender_name, "why": said(why)},
            140,
        ),
        row.workspace_slug,
        moment(row.changed_at if is_import else row.fetched_at, now),
        link,
        remedy=str(REMEDIES[name]),
        act=gettext("Look"),
        next_try=moment(row.due_at, now) if row.due_at else gettext("Not by itself"),
    )
