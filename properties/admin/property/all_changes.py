"""What changed: the history of all properties, with filters, and the way to undo a selection."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext, pgettext, pgettext_lazy

from crm_sync.account_names import name_by
from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import EMPTY, badge, link, moment, page_at, two_lines
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.readonly import ROWS
from crm_sync.admin.ui.scope import without_workspace
from crm_sync.hooks import Person
from crm_sync.models import Workspace
from crm_sync.security.access import own_workspaces, within, workspace_keys
from crm_sync.text import whole
from crm_sync.translated import Text, day_in_words, number
from properties import merge
from properties.admin.property.change_history import ORIGIN_TONES
from properties.admin.words import worded_change
from properties.catalog import FIELDS, equal, label
from properties.domain.change_selection import CREATED, ChangeSelection, Place, of_workspaces
from properties.domain.headline import one_line
from properties.models import Change, Import, Property
from properties.models.change import Cause, Origin

TIMES: dict[str, Text] = {
    "hour": _("Last hour"),
    "today": _("Today"),
    "yesterday": _("Yesterday"),
}
CAUSES: dict[str, Text] = {
    Cause.IMPORT: _("import %(key)s"),
    Cause.UNDO: _("undo %(key)s"),
    Cause.BATCH: _("batch %(key)s"),
    Cause.MATCH: _("match %(key)s"),
}
SENT: tuple[Text, str] = (pgettext_lazy("change", "Sent"), "good")
NOT_YET: tuple[Text, str] = (_("Not yet"), "info")
OFFERED = 50  # imports in the filter
NOBODYS = 0  # the key of no workspace
MOST_PEOPLE = 200


@dataclass(frozen=True)
class ChangeRow:
    """One change in words."""

    when: SafeString | str
    subject: SafeString
    name: str
    path: str
    values: tuple[str, str]
    origin: SafeString
    who: SafeString | str
    cause: SafeString | str
    sent: SafeString | str


def changes_page(admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show the changes that the filters select, a page at a time, without counting them."""
    now = timezone.now()
    selection = selected(request.user, request.GET, now)
    after = _place(request.GET.get("after", ""))
    found, end = selection.near(after)
    if (keys := workspace_keys(request.user)) is not None:
        found = of_workspaces(found, keys)
    found = found.select_related("actor", "real_estate_property").defer(
        "real_estate_property__leftover", "real_estate_property__fed"
    )
    rows = list(found[: ROWS + 1])
    last = (rows[ROWS - 1].at, rows[ROWS - 1].pk) if len(rows) > ROWS else end
    filters = _filters(request, selection)
    context = {
        "title": gettext("What changed"),
        "rows": [_row(change, request.user, now) for change in rows[:ROWS]],
        "filters": filters,
        "asks_workspace": any(one["name"] == "workspace" and not one["value"] for one in filters),
        "from": _typed(selection.since),
        "to": _typed(selection.until),
        "is_filtered": selection != ChangeSelection(),
        "older": f"?{urlencode({**_query(request.GET), 'after': _written(last)})}" if last else "",
        "looked_to": moment(last[0], now) if last and len(rows) <= ROWS else "",
        "is_first": after is None,
        "undo": _undo_address(request.user, selection)
        if admin.has_change_permission(request)
        else None,
        **without_workspace(request),
    }
    return page(admin, request, "properties/all_changes.html", context)


def selected(person: Person, asked: QueryDict, now: datetime) -> ChangeSelection:
    """Return the selection in an address; what is not understood filters nothing.

    A workspace that is not one of the person's selects nothing: an undo that was shown for it would
    otherwise be done in the workspace that is left to them (S12).
    """
    since, until = _times(asked, now)
    slug = asked.get("workspace", "")
    mine = own_workspaces(person).filter(slug=slug) if slug else Workspace.objects.none()
    return ChangeSelection(
        workspace=(mine.values_list("pk", flat=True).first() or NOBODYS) if slug else None,
        person=whole(asked.get("person", "")),
        cause=asked.get("cause", "")[:40],
        origin=asked.get("origin", "") if asked.get("origin") in Origin.values else "",
        field=asked.get("field", "")[:300],
        since=since,
        until=until,
    )


def address_of(selection: ChangeSelection, slug: str = "", page: str = "changes") -> str:
    """Return the address of the page, or of its undo, for a selection with absolute times."""
    asked = {
        "workspace": slug,
        "person": selection.person,
        "cause": selection.cause,
        "origin": selection.origin,
        "field": selection.field,
        "from": selection.since and selection.since.isoformat(),
        "to": selection.until and selection.until.isoformat(),
    }
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"{reverse(f'admin:properties_property_{page}')}?{query}"


def workspace_of(person: Person, selection: ChangeSelection) -> Workspace | None:
    """Return the workspace in which a selection can be undone; None if it names several."""
    mine = own_workspaces(person)
    kind, key = Cause.parts(selection.cause)
    if selection.workspace is not None:
        mine = mine.filter(pk=selection.workspace)
    elif kind == Cause.IMPORT and key is not None:
        mine = mine.filter(pk__in=Import.objects.filter(pk=key).values("workspace"))
    found = list(mine[:2])
    return found[0] if len(found) == 1 else None


def _undo_address(person: Person, selection: ChangeSelection) -> str:
    """Return the address of the undo; "" as long as the filters select too much for one."""
    workspace = workspace_of(person, selection) if selection.can_be_undone else None
    return address_of(selection, workspace.slug, "changes_undo") if workspace else ""


def _row(change: Change, person: Person, now: datetime) -> ChangeRow:
    row = change.real_estate_property
    history = reverse("admin:properties_property_history", args=[row.pk])
    where = one_line(row.desired.get("address"))
    count = len(merge.leaves(change.new or {})) if change.is_creation else 0
    return ChangeRow(
        when=moment(change.at, now),
        subject=two_lines(link(history, where or row), row if where else ""),
        name=pgettext("change", "Created") if change.is_creation else label(change.path),
        path=change.path,
        values=(
            EMPTY,
            ngettext("%(count)s field", "%(count)s fields", count) % {"count": number(count)},
        )
        if change.is_creation
        else worded_change(change.path, change.old, change.new),
        origin=badge(change.get_origin_display(), ORIGIN_TONES.get(change.origin, "muted")),
        who=_who(change),
        cause=cause_link(change.cause, person) or _note(change),
        sent=_sent(change, row),
    )


def _who(change: Change) -> SafeString | str:
    if change.actor_id is None or change.origin == Origin.HTTP_API:
        return change.who
    return link(address_of(ChangeSelection(person=change.actor_id)), change.who)


def _note(change: Change) -> str:
    return "" if change.origin == Origin.HTTP_API else change.note


def undo_page(key: int) -> str:
    """Return the address of the page of an undo."""
    return reverse("admin:properties_property_undone", args=[key])


def cause_link(cause: str, person: Person) -> SafeString | str:
    """Return what made a change together with others, as a link if the person may follow it."""
    kind, key = Cause.parts(cause)
    if kind == Cause.IMPORT and key is not None:
        may = person.has_perm("properties.view_import")  # type: ignore[union-attr]
        return link(page_at("properties.import", key) if may else "", _cause_name(cause))
    if kind == Cause.UNDO and key is not None:
        return link(undo_page(key), _cause_name(cause))
    if kind == Cause.BATCH and key is not None:
        # Its own page is kept for 30 days only.
        return link(address_of(ChangeSelection(cause=cause)), _cause_name(cause))
    return ""


def _cause_name(cause: str) -> str:
    """Return what made changes together: "import 12"."""
    kind, key = Cause.parts(cause)
    text = CAUSES.get(kind) if key is not None else None
    return text % {"key": key} if text else cause.replace(":", " ")


def _sent(change: Change, row: Property) -> SafeString | str:
    """Say whether the platform has the value; nothing if it was replaced since."""
    if change.origin == Origin.PLATFORM:
        return badge(gettext("From there"), "muted")
    if change.is_creation:
        return badge(*(SENT if row.platform_id else NOT_YET))
    path = change.path
    if not equal(path, merge.leaves(row.desired).get(path), change.new):
        return badge(gettext("Replaced"), "muted")
    if row.platform_id and equal(path, merge.leaves(row.observed).get(path), change.new):
        return badge(*SENT)
    if path in row.blocked or "" in row.blocked:
        return badge(gettext("Waits for you"), "warning")
    return badge(*NOT_YET)


# --- filters ---
def _filters(request: HttpRequest, chosen: ChangeSelection) -> list[dict[str, Any]]:
    """Return the choices: name, title, text without a choice, value, and the options."""
    person = request.user
    time = request.GET.get("time", "")
    slug = request.GET.get("workspace", "")
    slugs = dict.fromkeys((*(one.slug for one in own_workspaces(person)), *filter(None, [slug])))
    fields = sorted(((path, label(path)) for path in FIELDS), key=lambda one: one[1])
    every: list[tuple[str, Text, Text, str, Sequence[tuple[str, Text]]]] = [
        ("time", _("Time"), _("Any time"), time if time in TIMES else "", [*TIMES.items()]),
        ("person", _("Person"), _("Everybody"), str(chosen.person or ""), _people(person)),
        ("origin", _("Origin"), _("Any origin"), chosen.origin, Origin.choices),
        ("cause", _("Cause"), _("Any import"), chosen.cause, _imports(person, chosen.cause)),
        (
            "field",
            _("Field"),
            _("Any field"),
            chosen.field,
            [(CREATED, pgettext("change", "Created")), *fields],
        ),
        ("workspace", _("Workspace"), _("All workspaces"), slug, [(s, s) for s in slugs]),
    ]
    return [
        {"name": name, "title": title, "any": text, "value": value, "options": options}
        for name, title, text, value, options in every
        if options and (name != "workspace" or len(options) > 1)
    ]


def _people(person: Person) -> list[tuple[str, str]]:
    found = colleagues(person).filter(is_staff=True).order_by("username")
    named = found.annotate(name=name_by()).values_list("pk", "name")
    return [(str(pk), name) for pk, name in named[:MOST_PEOPLE]]


def colleagues(person: Person) -> QuerySet[User]:
    """Return the people whose names this person may see, without those of other workspaces."""
    found: QuerySet[User] = User.objects.all()
    keys = workspace_keys(person)
    if keys is None:
        return found
    mine = Workspace.people.through.objects.filter(workspace__in=keys).values("user")
    return found.filter(Q(pk__in=mine) | Q(pk=person.pk))


def _imports(person: Person, chosen: str) -> list[tuple[str, str]]:
    options = []
    if person.has_perm("properties.view_import"):  # type: ignore[union-attr]
        rows = within(person, Import.objects.filter(released_at__isnull=False)).order_by("-pk")
        options = [
            (Cause.IMPORT.of(pk), f"{name[:40]}, {day_in_words(timezone.localtime(at))}")
            for pk, name, at in rows.values_list("pk", "name", "released_at")[:OFFERED]
        ]
    if chosen and chosen not in dict(options):
        options.insert(0, (chosen, _cause_name(chosen)))
    return options


def _times(asked: QueryDict, now: datetime) -> tuple[datetime | None, datetime | None]:
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    match asked.get("time", ""):
        case "hour":
            return now - timedelta(hours=1), None
        case "today":
            return midnight, None
        case "yesterday":
            return midnight - timedelta(days=1), midnight
    return _moment(asked.get("from", "")), _moment(asked.get("to", ""))


def _moment(text: str) -> datetime | None:
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    if found is None:
        return None
    moment = timezone.make_aware(found) if timezone.is_naive(found) else found
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # beyond the ends of the calendar
        return None


def _typed(at: datetime | None) -> str:
    return f"{timezone.localtime(at):%Y-%m-%dT%H:%M}" if at else ""


def _query(asked: QueryDict) -> dict[str, str]:
    return {name: text for name in asked if (text := asked.get(name, "")) and name != "after"}


def _written(place: Place) -> str:
    return f"{place[0].isoformat()}_{place[1]}"


def _place(text: str) -> Place | None:
    time, _, key = text.partition("_")
    at, pk = _moment(time), whole(key)
    return (at, pk) if at and pk else None
