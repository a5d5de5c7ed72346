"""Replay of received events: first a preview, then, once it is confirmed, the replay itself."""

from typing import Any

from django.contrib import messages
from django.contrib.admin import helpers
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from crm_sync.admin.states import named_badge, state_badge
from crm_sync.admin.ui.cells import link, list_of, moment, page_of
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.readonly import ReadOnlyAdmin
from crm_sync.inbox.replay import Preview, Replayed, preview, replay
from crm_sync.models import ReceivedEvent

MOST = 200  # received events on one page; the command takes more


def ask_to_replay(
    admin: ReadOnlyAdmin, request: HttpRequest, chosen: QuerySet[ReceivedEvent]
) -> HttpResponse | None:
    """Show what a replay of the chosen events would do, or do it once that is confirmed."""
    keys = list(chosen.order_by().values_list("pk", flat=True)[: MOST + 1])
    if len(keys) > MOST:
        messages.error(
            request, f"At most {MOST} at once here; `manage.py replay` takes any number."
        )
        return None
    rows = list(ReceivedEvent.objects.filter(pk__in=keys))
    if "confirmed" in request.POST:
        admin.note(request, ReceivedEvent.objects.filter(pk__in=keys), "Replayed.")
        return _done(request, rows, replay(rows, now=timezone.now()))
    try:
        found = preview(rows, now=timezone.now())
    except DatabaseError:
        messages.error(request, "Workers have leased these rows: try again in a moment.")
        return None
    context = {
        "title": "Replay",
        "steps": [_shown(one) for one in found],
        "playable": sum(one.state != "" for one in found),
        "checkbox": helpers.ACTION_CHECKBOX_NAME,
        "list_url": list_of("crm_sync.receivedevent"),
    }
    return page(admin, request, "crm_sync/replay.html", context)


def _done(request: HttpRequest, rows: list[ReceivedEvent], done: Replayed) -> HttpResponse:
    if done.played:
        messages.success(request, f"A worker plays them now: {len(done.played)}.")
    if done.waiting:
        messages.info(request, f"They wait for a worker already: {done.waiting}.")
    if done.cleared:
        messages.warning(request, f"Removed after their retention time: {done.cleared}.")
    if len(rows) == 1:
        return HttpResponseRedirect(page_of(rows[0]))
    return HttpResponseRedirect(list_of("crm_sync.receivedevent"))


def _shown(one: Preview) -> dict[str, Any]:
    received_event = one.received_event
    return {
        "pk": received_event.pk,
        "name": link(page_of(received_event), received_event.kind or "Callback"),
        "received": moment(received_event.received_at, timezone.now()),
        "state": state_badge(received_event),
        "outcome": named_badge(one.state) if one.state else "",
        "text": one.text,
        "changes": [(name, before or "—", after or "—") for name, before, after in one.changes],
    }
