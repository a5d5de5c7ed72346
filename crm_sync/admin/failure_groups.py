"""What is stuck, grouped by its cause, with one action for all of a group."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Max, Min, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from crm_sync.admin.inbox_filters import choice
from crm_sync.admin.states import named_badge
from crm_sync.admin.ui.cells import list_of, moment, page_at
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.readonly import ReadOnlyAdmin
from crm_sync.inbox import store
from crm_sync.inbox.failure_groups import worded
from crm_sync.models import ReceivedEvent

MOST = 100  # groups on the page, the largest first
AT_ONCE = 2000  # received events that one click acts on
# Name of the action → how, what the history of a row says, and what the person reads.
ACTIONS = {
    "apply_again": (store.apply_again, "Applied again.", "A worker applies them again now"),
    "set_aside": (store.set_aside, "Set aside.", "Set aside, and kept"),
}


def failure_groups_page(admin: ReadOnlyAdmin, request: HttpRequest) -> HttpResponse:
    """Show the groups; try one again or set it aside (POST)."""
    if request.method == "POST":
        _act(admin, request)
        return HttpResponseRedirect(reverse("admin:crm_sync_receivedevent_causes"))
    context = {
        "title": "Stuck, by cause",
        "groups": _groups(admin.narrowed(request, ReceivedEvent.objects.all())),
        "most": MOST,
        "can_act": admin.has_act_permission(request),
    }
    return page(admin, request, "crm_sync/failure_groups.html", context)


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
            "text": examples.get(one["example"], ""),
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
    """Do one of the `ACTIONS` to received events that are stuck: to how many, and how to say so."""
    act, done, text = ACTIONS[name]
    # Before they change: afterwards none of them is stuck any more (S17: who did what).
    admin.note(request, rows, done)
    count = act(rows, now=timezone.now())
    return count, f"{text}: {count}."


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
    _, text = act_on_stuck(admin, request, rows, name)
    messages.success(request, text)
    if len(keys) == AT_ONCE:
        messages.info(request, f"{AT_ONCE} at once: the rest is still listed here.")
