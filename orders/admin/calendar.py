"""The calendar of appointments, and each person's private calendar address."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _, ngettext

from crm_sync.admin.ui.base import ModelAdmin, action
from crm_sync.admin.ui.cells import exact_moment, local_time, page_at
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.page import page, secret_page, titled
from crm_sync.admin.ui.qr_code import qr_code
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.security import login
from crm_sync.security.access import own_workspaces
from crm_sync.sentence import sentence
from crm_sync.translated import Text, day_in_words, number
from orders.admin.cells import ASSIGNMENT_TONES
from orders.calendar import feed
from orders.calendar.appointments import MOST, Appointment, appointments
from orders.calendar.ics import what
from orders.calendar.periods import VIEWS, Period, period
from orders.mirror.agent_lists import beginning
from orders.models import CalendarFeed
from orders.models.statuses import AssignmentStatus, shown

VIEW_NAMES: dict[str, Text] = {"month": _("Month"), "week": _("Week"), "list": _("List")}
SHOWN = 4  # appointments per day in the month view. The week view shows the others.
EARLIEST, LATEST = date(2000, 1, 1), date(2100, 1, 1)


def calendar_page(orders: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show a month, a week or a list. On a phone, each view is a list."""
    person = cast("User", request.user)
    now, asked = timezone.now(), request.GET
    view = asked.get("view", "") if asked.get("view") in VIEWS else "month"
    shown_days = period(view, _day(asked.get("on", "")))
    workspace, who = asked.get("workspace", ""), asked.get("photographer", "")
    only_mine = asked.get("whose") == "mine"
    every = appointments(
        beginning(shown_days.first),
        beginning(shown_days.end),
        person=person,
        only_mine=only_mine,
        workspace=workspace,
    )
    chosen = [one for one in every if who in ("", one.photographer_name)]
    context = {
        **titled(_("Calendar")),
        "period": shown_days,
        "view": view,
        "views": [(VIEW_NAMES[name], _at(request, view=name), name == view) for name in VIEWS],
        "before": _at(request, on=shown_days.before),
        "after": _at(request, on=shown_days.after),
        "today": _at(request, on=""),
        "days": _days(shown_days, chosen, view, timezone.localdate(now), request),
        "count": len(chosen),
        "is_cut": len(every) == MOST,
        "workspaces": [one.slug for one in own_workspaces(person)],
        "workspace": workspace,
        "photographers": sorted({one.photographer_name for one in every} - {""} | {who} - {""}),
        "photographer": who,
        "only_mine": only_mine,
        "on": asked.get("on", ""),
        "zone": timezone.get_current_timezone_name(),
        "usual_zone": timezone.get_default_timezone_name(),
        "feed": _feed(person, now),
        "asks_password": login.needs_password(request, now),
    }
    return page(orders, request, "orders/calendar.html", context)


def address_page(orders: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Make or renew the private address and show it once, or revoke it (POST only)."""
    person, back = cast("User", request.user), reverse("admin:orders_order_calendar")
    if request.method != "POST":
        return HttpResponseRedirect(back)
    if request.POST.get("do") == "revoke":
        if feed.revoke(person):
            messages.success(request, _("The address leads nowhere any more."))
        return HttpResponseRedirect(back)
    if not login.is_confirmed(request, request.POST.get("password", ""), timezone.now()):
        kept = _("The address is as it was.")
        messages.error(request, f"{login.WRONG} {kept}")
        return HttpResponseRedirect(back)
    only_mine = request.POST.get("only_mine") == "on"
    address = feed.renew(person, only_mine=only_mine, now=timezone.now())
    to_subscribe = feed.to_subscribe(address)
    return secret_page(
        orders,
        request,
        title=_("Your calendar address"),
        text=_(
            "Subscribe to it in your calendar program. An address from before leads nowhere any"
            " more. Anyone with this link can read the appointments."
        ),
        secret=address,
        back=back,
        links=[(_("Open in my calendar"), to_subscribe)],
        picture=qr_code(to_subscribe),
    )


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return timezone.localdate()
    return min(max(day, EARLIEST), LATEST)


def _at(request: HttpRequest, **changed: object) -> str:
    """Return the address of this page with other values. "" removes a value."""
    query = request.GET.dict() | {name: str(value) for name, value in changed.items()}
    return f"?{urlencode({name: value for name, value in query.items() if value})}"


def _days(
    days: Period, found: Iterable[Appointment], view: str, today: date, request: HttpRequest
) -> list[dict[str, Any]]:
    by_day: dict[date, list[Appointment]] = defaultdict(list)
    for one in found:
        by_day[timezone.localtime(one.at).date()].append(one)
    limit = SHOWN if view == "month" else MOST
    # A line that says "and 1 more" takes as much room as the one.
    kept = {day: several[: limit + (len(several) == limit + 1)] for day, several in by_day.items()}
    return [
        {
            "day": day,
            "name": day_in_words(day),
            "is_today": day == today,
            "is_outside": days.month not in (0, day.month),
            "entries": [_entry(one) for one in kept.get(day, ())],
            "more": len(by_day.get(day, ())) - len(kept.get(day, ())),
            "all": _at(request, view="week", on=day),
        }
        for day in days.days
        if view != "list" or day in by_day
    ]


def _entry(one: Appointment) -> dict[str, str]:
    status = shown(one.status, AssignmentStatus)
    return {
        "key": str(one.key),
        "time": f"{timezone.localtime(one.at):%H:%M}",
        "what": what(one),
        "where": one.where,
        "who": one.photographer_name,
        "tone": ASSIGNMENT_TONES.get(one.status, "muted"),
        "status": status,
        "address": page_at("orders.order", one.order_key),
        "hint": f"{local_time(one.at)}, {status}",
    }


def _feed(person: User, now: datetime) -> dict[str, object] | None:
    row = CalendarFeed.objects.filter(person=person).first()
    if row is None:
        return None
    return {"made": exact_moment(row.created_at, now), "only_mine": row.only_mine}


@admin.register(CalendarFeed)
class CalendarFeedAdmin(ReadOnlyAdmin):
    """The accounts with a calendar address. An address is never shown, but can be revoked."""

    workspace_path = None
    empty = Empty(
        _("Nobody has a calendar address"),
        _("Whoever may see orders can make one on the page of the calendar."),
    )
    list_display = ("who", "range_", "made")
    list_display_links = None
    fields = readonly_fields = list_display
    search_fields = ("person__username",)
    search_help_text = _("Account")
    ordering = ("person__username",)
    annotations = {"username": F("person__username")}
    actions = ("revoke",)

    who = column(_("account"), lambda row: row.username, "person__username")
    range_ = column(
        _("shows"), lambda row: _("Only own orders") if row.only_mine else _("All orders")
    )
    made = moment_column(_("made"), "created_at")

    @action(description=_("Revoke"), permissions=["act"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[CalendarFeed]) -> None:
        """Revoke the chosen addresses (POST only)."""
        self.note(request, queryset, sentence("Revoked."))
        count = queryset.count()
        CalendarFeed.objects.filter(pk__in=[row.pk for row in queryset]).delete()
        text = ngettext(
            "%(count)s address was revoked.", "%(count)s addresses were revoked.", count
        )
        messages.success(request, text % {"count": number(count)})
