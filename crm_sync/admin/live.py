"""The figures of the inbox on the overview, asked for every few seconds without a reload."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from crm_sync.admin.ui.cells import EMPTY
from crm_sync.hooks import Person
from crm_sync.inbox.stats import inbox_stats
from crm_sync.models import ReceivedEvent
from crm_sync.security.access import within
from crm_sync.text import span


def live(person: Person, now: datetime) -> dict[str, str]:
    """Return the figures of the person's workspaces as the page writes them."""
    known = inbox_stats(within(person, ReceivedEvent.objects.all()), now)
    return {
        "last_hour": str(known.last_hour),
        "pending": str(known.pending),
        "failed": str(known.failed),
        "quarantined": str(known.quarantined),
        "oldest": EMPTY if known.oldest is None else span(known.oldest),
        "lag": EMPTY if known.lag is None else span(known.lag),
    }


def live_figures(request: HttpRequest) -> HttpResponse:
    """Answer with the figures, for whoever may view received events (S17)."""
    figures = live(request.user, timezone.now())
    answer = render(request, "crm_sync/live.html", {"live": figures})
    answer["Cache-Control"] = "no-store"
    return answer
