"""The day of the person who opens the overview: who comes where, and which drafts wait."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import F
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crm_sync.admin.ui.cells import badge, link, list_of, moment, page_at
from crm_sync.security.access import within
from orders.admin.cells import ASSIGNMENT_TONES
from orders.calendar.appointments import Appointment, appointments
from orders.calendar.ics import what
from orders.mirror.agent_lists import beginning
from orders.models import Placement
from orders.models.placement import OPEN_STATES
from orders.models.statuses import AssignmentStatus, shown
from orders.people.preferences import settings_of
from properties.domain.headline import one_line

SHOWN = 10


def section(request: HttpRequest, now: datetime) -> SafeString:
    """Return the appointments of today and tomorrow, and the person's own drafts.

    The appointments are those of the orders that the person chose for news. "" for people who may
    not see orders. A `hooks.AppHooks.overview`.
    """
    person = cast("User", request.user)
    if not person.has_perm("orders.view_order"):
        return SafeString("")
    today = timezone.localdate(now)
    only_mine = settings_of(person).only_mine
    held = appointments(
        beginning(today),
        beginning(today + timedelta(days=2)),
        person=person,
        only_mine=only_mine,
    )
    drafts = _drafts(person)
    context = {
        "appointments": [_appointment(one, today, now) for one in held[:SHOWN]],
        "only_mine": only_mine,
        "more_appointments": max(0, len(held) - SHOWN),
        "calendar": f"{reverse('admin:orders_order_calendar')}?view=list",
        "drafts": [_draft(one, now) for one in drafts[:SHOWN]],
        "has_more_drafts": len(drafts) > SHOWN,
        "placements": list_of("orders.placement"),
    }
    return render_to_string("orders/today.html", context, request)


def _drafts(person: User) -> list[dict[str, Any]]:
    """Return the newest placements that the person began and neither ordered nor took back."""
    if not person.has_perm("orders.view_placement"):
        return []
    mine = within(person, Placement.objects.filter(created_by=person, state__in=OPEN_STATES))
    rows = mine.order_by("-created_at", "-pk").values(
        "pk",
        "state",
        "created_at",
        reference=F("object_reference_id"),
        title=F("real_estate_property__title"),
        address=F("real_estate_property__desired__address"),
    )
    return [dict(row) for row in rows[: SHOWN + 1]]


def _appointment(one: Appointment, today: date, now: datetime) -> dict[str, Any]:
    at = timezone.localtime(one.at)
    return {
        "day": _("Today") if at.date() == today else _("Tomorrow"),
        "time": f"{at:%H:%M}",
        "is_past": one.at < now,
        "where": link(page_at("orders.order", one.order_key), one.where),
        "what": what(one),
        "who": one.photographer_name,
        "status": badge(
            shown(one.status, AssignmentStatus), ASSIGNMENT_TONES.get(one.status, "muted")
        ),
    }


def _draft(row: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    return {
        "where": one_line(row["address"]) or row["title"] or row["reference"],
        "state": Placement.State(row["state"]).label,
        "began": moment(row["created_at"], now),
        "page": page_at("orders.placement", row["pk"]),
    }
