"""News for the person who opens the overview, and the button that dismisses it."""

from datetime import datetime
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.safestring import SafeString

from crm_sync.admin.ui.cells import badge, link, list_of, local_time, moment, page_at
from orders.admin.cells import PLACEMENT_TONES
from orders.models import Placement
from orders.models.news import News
from orders.people.happenings import Happening
from orders.people.overview import new_to
from orders.people.preferences import dismiss

TONES = {
    News.UNCERTAIN: PLACEMENT_TONES[Placement.State.UNCERTAIN],
    News.ACTION: "warning",
    News.CANCELLED: "muted",
    News.SCHEDULED: "info",
    News.DELIVERED: "good",
}


def section(request: HttpRequest, now: datetime) -> SafeString:
    """Return the news section, "" if nothing is new. A `hooks.AppHooks.overview`."""
    person = cast("User", request.user)
    new = new_to(person, now=now)
    if new is None:
        return SafeString("")
    context = {
        "lines": [_line(one, now) for one in new.found],
        "since": local_time(new.since),
        "until": new.until.isoformat(),
        "is_more": new.is_more,
        "every": f"{list_of('orders.order')}?what=news",
    }
    return render_to_string("orders/news.html", context, request)


def seen(request: HttpRequest) -> HttpResponse:
    """Mark news as seen, up to the time shown on the page (POST only)."""
    if request.method == "POST":
        until, now = _moment(request.POST.get("until", "")), timezone.now()
        if until is not None:
            dismiss(cast("User", request.user), until=min(until, now))
    return HttpResponseRedirect(reverse("admin:index"))


def _line(one: Happening, now: datetime) -> dict[str, Any]:
    return {
        "badge": badge(one.kind.label, TONES[one.kind]),
        "link": link(page_at(one.model, one.key), one.name),
        "at": moment(one.at, now),
    }


def _moment(text: str) -> datetime | None:
    try:
        at = parse_datetime(text)
    except ValueError:
        return None
    return at if at is not None and timezone.is_aware(at) else None
