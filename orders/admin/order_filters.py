"""Filters for the list of orders."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from crm_sync.admin.ui.base import DropdownFilter
from crm_sync.admin.ui.filters import OTHER, ValueFilter
from crm_sync.security.access import within
from crm_sync.translated import Text
from orders.mirror import agent_lists
from orders.models import Order, PlatformUser
from orders.models.statuses import OrderStatus
from orders.people.overview import orders_new_to

ME = "me"
KEY = re.compile(r"[0-9]{1,18}\Z")
ALL: tuple[str, Text] = ("", pgettext_lazy("orders", "All"))
LISTS: tuple[tuple[str, Text], ...] = (
    ("action", _("Needs action")),
    ("week", _("Appointment this week")),
    ("overdue", _("Overdue")),
    ("new", _("Delivered, not looked at")),
)
FURTHER: tuple[tuple[str, Text], ...] = (
    ("news", _("New since my last visit")),
    ("open", pgettext_lazy("orders", "Open")),
    ("problem", _("With a problem")),
    ("delivered", _("With materials")),
)
CONDITIONS: dict[str, Callable[[User, date], Q]] = {
    "action": lambda person, today: agent_lists.needs_action(),
    "week": lambda person, today: agent_lists.appointment_in_week_of(today),
    "overdue": lambda person, today: agent_lists.overdue(today),
    # For a new colleague, earlier deliveries are not news.
    "new": lambda person, today: agent_lists.not_looked_at(person, person.date_joined),
    "news": lambda person, today: orders_new_to(person, now=timezone.now()),
    "open": lambda person, today: agent_lists.still_open(),
    "problem": lambda person, today: ~Q(problem=""),
    "delivered": lambda person, today: agent_lists.delivered(),
}


class StatusFilter(ValueFilter):
    """By status. The column has no choices, since an unknown status is stored unchanged (A28)."""

    title = _("status")
    parameter_name = column = "status"
    known = OrderStatus.values

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        known = [(value, str(name)) for value, name in OrderStatus.choices]
        return [*known, (OTHER, str(_("Any other")))]


class UserFilter(DropdownFilter):
    """By the user of the platform who ordered. A link selects the user."""

    title = _("ordered by")
    parameter_name = "by"
    user: PlatformUser | None = None

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        chosen = self.value() or ""
        if not chosen:
            return []
        mine = within(request.user, PlatformUser.objects.all())
        self.user = mine.filter(pk=chosen).first() if KEY.match(chosen) else None
        return [(chosen, str(self.user or _("Nobody whom we know")))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        return queryset.filter(user__pk=self.user.pk) if self.user else queryset.none()


class OrderedByFilter(UserFilter):
    """By the user who ordered, or by the users tied to the person's account: for placements.

    The list of orders has *Only mine* instead, which includes orders placed here by the person.
    """

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        is_tied = PlatformUser.objects.filter(account=request.user.pk).exists()
        found = [(ME, str(_("Me")))] if is_tied or self.value() == ME else []
        named = [] if self.value() == ME else super().lookups(request, model_admin)
        return [*found, *named]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == ME:
            return queryset.filter(user__account=request.user.pk)
        return super().queryset(request, queryset)


class WhatFilter(DropdownFilter):
    """By one of the lists, such as orders that need action."""

    title = _("what")
    parameter_name = "what"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, str(name)) for value, name in (*LISTS, *FURTHER)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        condition = CONDITIONS.get(self.value() or "")
        if condition is None:
            return queryset
        return queryset.filter(condition(cast("User", request.user), timezone.localdate()))


class WhoseFilter(DropdownFilter):
    """By whether the order is one's own."""

    title = _("whose")
    parameter_name = "whose"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("mine", str(pgettext_lazy("orders", "Mine")))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        if self.value() != "mine":
            return queryset
        return queryset.filter(agent_lists.mine(cast("User", request.user)))


@dataclass(frozen=True)
class ListTab:
    """A tab that opens a list, or the switch that narrows every list."""

    title: Text
    address: str
    is_on: bool


def tabs(request: HttpRequest) -> tuple[list[ListTab], ListTab]:
    """Return the tabs of the lists, and the *Only mine* switch."""
    here = request.GET.get("what", "")
    found = [
        ListTab(title, _with(request, "what", key), key == here) for key, title in (ALL, *LISTS)
    ]
    is_mine = request.GET.get("whose") == "mine"
    switch = _with(request, "whose", "" if is_mine else "mine")
    return found, ListTab(pgettext_lazy("orders", "Only mine"), switch, is_mine)


def _with(request: HttpRequest, name: str, value: str) -> str:
    """Return the query of this list with another value, reset to the first page."""
    query = request.GET.copy()
    for gone in (name, "p"):
        query.pop(gone, None)
    if value:
        query[name] = value
    return f"?{query.urlencode()}"
