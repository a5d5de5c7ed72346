"""The tab Match of a workspace: what is only here, what only the platform has, and the pairs."""

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from django.contrib import admin as django_admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.text import get_text_list
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import link, page_at
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.admin.workspace.tabs import tabs
from crm_sync.models import Workspace
from crm_sync.security.access import own_workspaces
from crm_sync.sentence import Sentence, counted_sentence, sentence
from crm_sync.text import plain, whole
from crm_sync.translated import Text, number
from properties.admin.property.change_history import numbers
from properties.admin.words import rooms_in_words
from properties.domain import candidates, headline
from properties.domain.matching import Matching
from properties.match_keys import Criterion
from properties.models import Property
from properties.pull.linking import Linking, LinkOutcome, link_all

PER_PAGE = 50
FEW = 20  # rows of theirs that a choice offers
SECONDS = 2.0  # of work in one request; then the person presses once more

CRITERIA: dict[Criterion, Sentence] = {
    Criterion.ADDRESS: sentence("address with rooms"),
    Criterion.UNIT: sentence("EGID and EWID"),
    Criterion.IS24: sentence("is24 id"),
    Criterion.REFERENCE: sentence("reference"),
}
NONE, LATER = "none", ""
SIDES = ("ours", "theirs", "one")  # of a row: what it shows of properties
Policy = Workspace.ConflictPolicy
POLICIES = (
    (Policy.ASK, _("ask me: a conflict each")),
    (Policy.CRM_WINS, _("take ours")),
    (Policy.PLATFORM_WINS, _("take the platform's")),
)

Cell = dict[str, Any]


def match_page(admin: ModelAdmin, request: HttpRequest, workspace_id: int) -> HttpResponse:
    """Show the pairs by a criterion. A POST links, sets apart, or compares again."""
    workspace = own_workspaces(request.user).filter(pk=workspace_id).first()
    if workspace is None:
        raise Http404
    by = request.GET.get("by", "")
    criterion = next((one for one in Criterion if one.value == by), Criterion.ADDRESS)
    may_act = admin.has_change_permission(request)
    if request.method == "POST":
        if not may_act:
            raise PermissionDenied
        if _act(request, workspace, criterion):
            return HttpResponseRedirect(request.get_full_path())
    found = candidates.matching(workspace_id, criterion)
    parts = _parts(found)
    show = request.GET.get("show", "")
    show = show if show in parts else next((name for name, rows in parts.items() if rows), "")
    unread = candidates.unread(workspace_id).count()
    stored = Workspace.objects.values_list("conflict_policy", flat=True).get(pk=workspace_id)
    context = {
        "title": gettext("Match the properties of %(workspace)s") % {"workspace": workspace.slug},
        "criteria": [
            (
                gettext("By %(criterion)s") % {"criterion": text.said()},
                _address(workspace_id, one),
                one == criterion,
            )
            for one, text in CRITERIA.items()
        ],
        "tiles": [
            (title, len(parts[name]), tone, _address(workspace_id, criterion, name), name == show)
            for name, (title, tone) in TILES.items()
        ],
        "by": CRITERIA[criterion],
        "show": show,
        "unread": unread,
        "may_act": may_act,
        "seen": found.seen,
        "policies": POLICIES,
        "policy": request.POST.get("policy", stored),
        "keep": urlencode({"by": criterion.value, "show": show}),
        **_shown(request, parts.get(show, ()), show),
        **_tabs(request, workspace_id),
    }
    return page(admin, request, "properties/match.html", context, row=workspace)


TILES: dict[str, tuple[Text, str]] = {
    "matched": (_("Matched"), "good"),
    "ambiguous": (_("Ambiguous"), "warning"),
    "here": (_("Only here: will be created"), "info"),
    "there": (_("Only on the platform"), "muted"),
}


def match_address(workspace_id: int) -> str:
    """Return the address of the tab."""
    return reverse("admin:properties_property_match", args=[workspace_id])


def _address(workspace_id: int, criterion: Criterion, show: str = "") -> str:
    query = {"by": criterion.value} | ({"show": show} if show else {})
    return f"{match_address(workspace_id)}?{urlencode(query)}"


def _tabs(request: HttpRequest, workspace_id: int) -> dict[str, Any]:
    """Return the tabs of the workspace, for people who may open it."""
    workspaces = django_admin.site.get_model_admin(Workspace)
    if not workspaces.has_view_permission(request):
        return {}
    shown = tabs(cast("ModelAdmin", workspaces), request, workspace_id)
    return shown | {"opts": workspaces.opts}


def _parts(found: Matching) -> dict[str, Sequence[Any]]:
    return {
        "matched": found.matched,
        "ambiguous": list(found.choices().items()),
        "here": found.only_ours,
        "there": found.only_theirs,
    }


# --- what is shown -------------------------------------------------------------------------------
def _shown(request: HttpRequest, rows: Sequence[Any], show: str) -> dict[str, Any]:
    """Return one page of a part; two queries, however many rows there are."""
    shown = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    wanted: Callable[[Any], Sequence[int]] = {
        "matched": lambda pair: pair,
        "ambiguous": lambda choice: (choice[0], *choice[1][:FEW]),
    }.get(show, lambda key: (key,))
    cells = _cells({key for one in shown for key in wanted(one)})
    make: Callable[[Any], Cell] = {
        "matched": lambda pair: {"ours": cells.get(pair[0]), "theirs": cells.get(pair[1])},
        "ambiguous": lambda choice: _choice(choice, cells, request.POST.get(f"pick-{choice[0]}")),
    }.get(show, lambda key: {"one": cells.get(key)})
    # A row that somebody has linked since is left out.
    made = [one for one in map(make, shown) if all(one.get(side, True) for side in SIDES)]
    return {"page": shown, "pages": numbers(shown), "rows": made}


def _choice(choice: tuple[int, Sequence[int]], cells: dict[int, Cell], picked: str | None) -> Cell:
    """Return a choice in words; `picked` is what was posted, if the page is shown again."""
    mine, theirs = choice
    offered = [cells[key] for key in theirs[:FEW] if key in cells]
    more = gettext("and %(count)s more: try another criterion")
    return {
        "ours": cells.get(mine),
        "theirs": offered,
        "picked": picked or "later",
        "more": more % {"count": number(len(theirs) - FEW)} if len(theirs) > FEW else None,
    }


def _cells(keys: set[int]) -> dict[int, Cell]:
    """Return what people know a property by, without its documents."""
    parts = ("title", "address", "numberOfRooms", "is24Id", "swissReferences")
    rows = Property.objects.filter(pk__in=keys)
    names = ("pk", "object_reference_id", "platform_id", "none_there")
    found = rows.values(*names, **{f"own_{part}": F(f"desired__{part}") for part in parts})
    return {row["pk"]: _cell(row) for row in found}


def _cell(row: dict[str, Any]) -> Cell:
    name = row["object_reference_id"]
    name = name or gettext("platform id %(id)s") % {"id": row["platform_id"]}
    rooms, place = row["own_numberOfRooms"], headline.one_line(row["own_address"])
    units = row["own_swissReferences"]
    units = units if isinstance(units, dict) else {}
    marks = [
        f"EGID {plain(units['egid'])}" if units.get("egid") else "",
        f"EWID {plain(units['ewid'])}" if units.get("ewid") else "",
        f"is24 {plain(row['own_is24Id'])}" if row["own_is24Id"] else "",
    ]
    return {
        "pk": row["pk"],
        "name": name,
        "link": link(page_at("properties.property", row["pk"]), name),
        "title": plain(row["own_title"] or ""),
        "place": ", ".join(filter(None, (place, rooms_in_words(rooms)))),
        "marks": ", ".join(filter(None, marks)),
        "is_apart": row["none_there"],
    }


# --- what is done --------------------------------------------------------------------------------
def _act(request: HttpRequest, workspace: Workspace, criterion: Criterion) -> bool:
    """Do what was posted; return False if its choices exclude each other and none was made."""
    posted, now = request.POST, timezone.now()
    if (key := whole(posted.get("apart", ""))) is not None:
        if candidates.apart(workspace.pk, [key], now=now):
            _say(request, workspace, _set_apart(1))
    elif (key := whole(posted.get("again", ""))) is not None:
        if candidates.compared_again(workspace.pk, key):
            _say(request, workspace, sentence("Compared again: 1 property."))
    elif posted.get("step") == "link":
        found = candidates.matching(workspace.pk, criterion)
        if posted.get("seen") == found.seen:
            _link(request, workspace, found.matched, CRITERIA[criterion])
        else:
            text = gettext("The pairs have changed since: look at them once more.")
            messages.warning(request, text)
    elif posted.get("step") == "decide":
        return _decide(request, workspace, criterion)
    return True


def _link(
    request: HttpRequest,
    workspace: Workspace,
    pairs: Sequence[tuple[int, int]],
    how: Sentence | None,
) -> None:
    """Link pairs for as long as a request may take, and say what came of it."""
    policy = request.POST.get("policy", "")
    by = Linking(
        policy if policy in Policy else Policy.ASK,
        timezone.now(),
        cast("AbstractBaseUser", request.user),
    )
    counts = link_all(workspace.pk, pairs, by, until=time.monotonic() + SECONDS)
    if done := counts[LinkOutcome.LINKED]:
        _say(request, workspace, _linked(done, how))
    left = len(pairs) - counts.total()
    if count := counts[LinkOutcome.CHANGED]:
        text = ngettext(
            "Not linked: %(count)s property, somebody has linked or created it before.",
            "Not linked: %(count)s properties, somebody has linked or created it before.",
            count,
        )
        messages.warning(request, text % {"count": number(count)})
    if count := counts[LinkOutcome.BUSY]:
        text = ngettext(
            "Not linked: %(count)s property, a worker has it, or both have an open draft: try"
            " again.",
            "Not linked: %(count)s properties, a worker has it, or both have an open draft: try"
            " again.",
            count,
        )
        messages.warning(request, text % {"count": number(count)})
    if left:
        text = ngettext(
            "Not linked: %(count)s property, link them, too: one request links as many as two"
            " seconds allow.",
            "Not linked: %(count)s properties, link them, too: one request links as many as two"
            " seconds allow.",
            left,
        )
        messages.warning(request, text % {"count": number(left)})


def _linked(count: int, how: Sentence | None) -> Sentence:
    """Return how many were linked by a criterion, or by choice for None."""
    if how is None:
        return counted_sentence(
            "Linked by choice: %(count)s property.",
            "Linked by choice: %(count)s properties.",
            count=count,
        )
    return counted_sentence(
        "Linked by %(how)s: %(count)s property.",
        "Linked by %(how)s: %(count)s properties.",
        count=count,
        how=how,
    )


def _decide(request: HttpRequest, workspace: Workspace, criterion: Criterion) -> bool:
    """Do what a person chose for ambiguous rows, among the choices that they have now.

    Returns:
        False if two of ours were given the same one: nothing was done.
    """
    choices = candidates.matching(workspace.pk, criterion).choices()
    pairs: list[tuple[int, int]] = []
    apart: list[int] = []
    late = 0
    for name in request.POST:
        value = request.POST.get(name, LATER)
        mine = whole(name.removeprefix("pick-"))
        if not name.startswith("pick-") or mine is None or value == LATER:
            continue
        if value == NONE and mine in choices:
            apart.append(mine)
        elif (theirs := whole(value)) is not None and theirs in choices.get(mine, ()):
            pairs.append((mine, theirs))
        else:
            late += 1
    if twice := _given_twice(pairs):
        text = gettext("%(twice)s Nothing was done: choose again for one of them.")
        messages.error(request, text % {"twice": " ".join(twice)})
        return False
    if set_apart := candidates.apart(workspace.pk, apart, now=timezone.now()):
        _say(request, workspace, _set_apart(set_apart))
    if pairs:
        _link(request, workspace, pairs, None)
    if late:
        text = ngettext(
            "Changed since: %(count)s property. Look once more.",
            "Changed since: %(count)s properties. Look once more.",
            late,
        )
        messages.warning(request, text % {"count": number(late)})
    return True


def _set_apart(count: int) -> Sentence:
    return counted_sentence(
        "Set apart: %(count)s property, none of the platform's.",
        "Set apart: %(count)s properties, none of the platform's.",
        count=count,
    )


def _given_twice(pairs: Sequence[tuple[int, int]]) -> list[str]:
    """Return a sentence for each of theirs that several of ours were given."""
    given: dict[int, list[int]] = {}
    for mine, theirs in pairs:
        given.setdefault(theirs, []).append(mine)
    twice = {theirs: mine for theirs, mine in given.items() if len(mine) > 1}
    rows = Property.objects.filter(
        pk__in={*twice, *(key for mine in twice.values() for key in mine)}
    )
    names = {row.pk: str(row) for row in rows.only("object_reference_id", "platform_id")}
    text = gettext("%(ours)s were given the same property of the platform, %(theirs)s.")
    return [
        text
        % {
            "ours": get_text_list([names.get(key, "?") for key in mine], gettext("and")),
            "theirs": names.get(theirs, "?"),
        }
        for theirs, mine in twice.items()
    ]


def _say(request: HttpRequest, workspace: Workspace, text: Sentence) -> None:
    """Say what was done, and note it."""
    note(request, Workspace.objects.filter(pk=workspace.pk).only("pk", "slug"), text)
    messages.success(request, text.said())
