"""Retry and replay by a person: stuck events by their cause, and a replay after its preview."""

from typing import Any

from django.contrib import messages
from django.contrib.admin import helpers
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.db.models import Count, Max, Min, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext, gettext_lazy as _, ngettext, ngettext_lazy

from crm_sync.admin.received_event.states import named_badge, state_badge
from crm_sync.admin.ui.base import DropdownFilter
from crm_sync.admin.ui.cells import link, list_of, moment, page_at, page_of
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.readonly import ReadOnlyAdmin
from crm_sync.inbox import store
from crm_sync.inbox.failure_groups import worded
from crm_sync.inbox.replay import Preview, Replayed, preview, replay
from crm_sync.installed import command
from crm_sync.models import ReceivedEvent
from crm_sync.security.access import within
from crm_sync.sentence import said, sentence
from crm_sync.translated import Counted, number

MOST = 100  # groups on the page, the largest first
AT_ONCE = 2000  # received events of one click
MOST_REPLAYED = 200  # received events on one page; the command replays more
MOST_CAUSES = 50
BETWEEN = ":"
# Name of the action → function, text for the history of a row, text for the person.
ACTIONS = {
    "apply_again": (
        store.apply_again,
        sentence("Applied again."),
        ngettext_lazy(
            "A worker applies %(count)s event again now.",
            "A worker applies %(count)s events again now.",
            "count",
        ),
    ),
    "set_aside": (
        store.set_aside,
        sentence("Set aside."),
        ngettext_lazy(
            "%(count)s event is set aside, and kept.",
            "%(count)s events are set aside, and kept.",
            "count",
        ),
    ),
}


def choice(kind: str, about: str) -> str:
    """Return the value of the filter by cause."""
    return f"{kind}{BETWEEN}{about}"


class CauseFilter(DropdownFilter):
    """Filter stuck events by cause; hidden if no event is stuck."""

    title = _("cause")
    parameter_name = "cause"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer the causes of the events that are stuck now."""
        every = ReceivedEvent.objects.filter(state__in=store.STUCK).exclude(problem_kind="")
        stuck = within(request.user, every).order_by("problem_kind", "cause")
        causes = stuck.values_list("problem_kind", "cause").distinct()
        return [(choice(*one), worded(*one)) for one in causes[:MOST_CAUSES]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if not chosen:
            return queryset
        kind, __, about = chosen.partition(BETWEEN)
        return queryset.filter(state__in=store.STUCK, problem_kind=kind, cause=about)


def failure_groups_page(admin: ReadOnlyAdmin, request: HttpRequest) -> HttpResponse:
    """Show the groups. A POST applies one group again or sets it aside."""
    if request.method == "POST":
        _act(admin, request)
        return HttpResponseRedirect(reverse("admin:crm_sync_receivedevent_causes"))
    context = {
        "title": gettext("Stuck, by cause"),
        "groups": _groups(admin.narrowed(request, ReceivedEvent.objects.all())),
        "most": MOST,
        "can_act": admin.has_act_permission(request),
    }
    return page(admin, request, "crm_sync/received_event/failure_groups.html", context)


def _groups(rows: QuerySet[ReceivedEvent]) -> list[dict[str, Any]]:
    now = timezone.now()
    groups = (
        rows.filter(state__in=store.STUCK)
        .values("state", "problem_kind", "cause")
        .annotate(
            count=Count("pk"),
            workspaces=Count("workspace", distinct=True),
            first=Min("received_at"),
            last=Max("received_at"),
            example=Max("pk"),
        )
        .order_by("-count", "state", "problem_kind", "cause")
    )
    found = list(groups[:MOST])
    examples = dict(
        ReceivedEvent.objects.filter(pk__in=[one["example"] for one in found]).values_list(
            "pk", "effect"
        )
    )
    return [
        one
        | {
            "badge": named_badge(one["state"]),
            "first": moment(one["first"], now),
            "last": moment(one["last"], now),
            "text": said(examples.get(one["example"], "")),
            "page": page_at("crm_sync.receivedevent", one["example"]),
            "why": worded(one["problem_kind"], one["cause"]),
            "list": _listed(one["problem_kind"], one["cause"]),
        }
        for one in found
    ]


def _listed(kind: str, about: str) -> str:
    """Return the address of the list of a group."""
    return f"{list_of('crm_sync.receivedevent')}?{urlencode({'cause': choice(kind, about)})}"


def act_on_stuck(
    admin: ReadOnlyAdmin, request: HttpRequest, rows: QuerySet[ReceivedEvent], name: str
) -> tuple[int, str]:
    """Run one of the `ACTIONS` on stuck events and return their number and a message."""
    act, done, text = ACTIONS[name]
    # First the history: after the action, none of the rows is stuck (S17: who did what).
    admin.note(request, rows, done)
    count = act(rows, now=timezone.now())
    return count, text % {"count": Counted(count)}


def _act(admin: ReadOnlyAdmin, request: HttpRequest) -> None:
    name = request.POST.get("action", "")
    if not admin.has_act_permission(request):
        raise PermissionDenied
    if name not in ACTIONS:
        return
    group = (
        admin.narrowed(request, ReceivedEvent.objects.all())
        .filter(state=request.POST.get("state"), cause=request.POST.get("cause", ""))
        .filter(problem_kind=request.POST.get("problem_kind", ""))
        .filter(state__in=store.STUCK)
    )
    keys = list(group.order_by("received_at", "pk").values_list("pk", flat=True)[:AT_ONCE])
    rows = ReceivedEvent.objects.filter(pk__in=keys)
    __, text = act_on_stuck(admin, request, rows, name)
    messages.success(request, text)
    if len(keys) == AT_ONCE:
        text = gettext("%(count)s at once: the rest is still listed here.")
        messages.info(request, text % {"count": number(AT_ONCE)})


# --- replay ---
def ask_to_replay(
    admin: ReadOnlyAdmin, request: HttpRequest, chosen: QuerySet[ReceivedEvent]
) -> HttpResponse | None:
    """Show what a replay of the chosen events would do, or replay them once confirmed."""
    keys = list(chosen.order_by().values_list("pk", flat=True)[: MOST_REPLAYED + 1])
    if len(keys) > MOST_REPLAYED:
        text = gettext("At most %(count)s at once here; `%(command)s` takes any number.")
        named = {"count": number(MOST_REPLAYED), "command": command("replay")}
        messages.error(request, text % named)
        return None
    rows = list(ReceivedEvent.objects.filter(pk__in=keys))
    if "confirmed" in request.POST:
        admin.note(request, ReceivedEvent.objects.filter(pk__in=keys), sentence("Replayed."))
        return _replayed(request, rows, replay(rows, now=timezone.now()))
    try:
        found = preview(rows, now=timezone.now())
    except DatabaseError:
        text = gettext("Workers have leased these rows: try again in a moment.")
        messages.error(request, text)
        return None
    context = {
        "title": gettext("Replay"),
        "steps": [_previewed(one) for one in found],
        "playable": sum(one.state != "" for one in found),
        "checkbox": helpers.ACTION_CHECKBOX_NAME,
        "list_url": list_of("crm_sync.receivedevent"),
    }
    return page(admin, request, "crm_sync/received_event/replay.html", context)


def _replayed(request: HttpRequest, rows: list[ReceivedEvent], done: Replayed) -> HttpResponse:
    if done.played:
        text = ngettext(
            "A worker replays %(count)s event now.",
            "A worker replays %(count)s events now.",
            len(done.played),
        )
        messages.success(request, text % {"count": number(len(done.played))})
    if done.waiting:
        text = ngettext(
            "%(count)s event waits for a worker already.",
            "%(count)s events wait for a worker already.",
            done.waiting,
        )
        messages.info(request, text % {"count": number(done.waiting)})
    if done.cleared:
        text = ngettext(
            "%(count)s event was removed after its retention time.",
            "%(count)s events were removed after their retention time.",
            done.cleared,
        )
        messages.warning(request, text % {"count": number(done.cleared)})
    if len(rows) == 1:
        return HttpResponseRedirect(page_of(rows[0]))
    return HttpResponseRedirect(list_of("crm_sync.receivedevent"))


def _previewed(one: Preview) -> dict[str, Any]:
    received_event = one.received_event
    return {
        "pk": received_event.pk,
        "name": link(page_of(received_event), received_event.kind or gettext("Callback")),
        "received": moment(received_event.received_at, timezone.now()),
        "state": state_badge(received_event),
        "outcome": named_badge(one.state) if one.state else "",
        "text": one.text,
        "changes": [(name, before or "—", after or "—") for name, before, after in one.changes],
    }
