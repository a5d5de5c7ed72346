"""The list of orders and the page of an order: a read-only mirror that can be read again."""

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Max, OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from crm_sync import row_locks
from crm_sync.admin.ui.base import action, display
from crm_sync.admin.ui.cells import EMPTY, badge, moment, page_of, shortened, two_lines, unbroken
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.delays import PAUSE, row_delay, say_when
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage
from crm_sync.security.access import within
from crm_sync.sentence import sentence
from crm_sync.translated import day_in_words
from orders.admin.calendar import address_page, calendar_page
from orders.admin.cells import assignment_badge, assignment_names, order_badge, who_lines
from orders.admin.changing import CHANGES, change_page, change_view, offered
from orders.admin.file_view import download_view, file_view, zip_view
from orders.admin.materials import materials_page
from orders.admin.order_filters import StatusFilter, UserFilter, WhatFilter, WhoseFilter, tabs
from orders.admin.order_page import page
from orders.admin.placing.property_choice import StartsOrders
from orders.materials import expectations
from orders.mirror import unit_of_work
from orders.mirror.agent_lists import note_look
from orders.models import Order, Placement, StatusChange
from orders.models.order import WITH_REFERENCE
from orders.models.statuses import ASSIGNMENT_TERMINAL
from orders.placing.session_offer import total
from orders.reads import poller
from properties.domain.headline import address_lines
from properties.models import Property
from properties.models.search_column import search

MOST_BADGES = 3  # assignments shown in a row of the list


@admin.register(Order)
class OrderAdmin(StartsOrders, ReadOnlyAdmin):
    """All known orders, including orders that others placed."""

    empty = Empty(
        _("No order is known yet"),
        _(
            "Choose Order… here or on a property. Orders of others appear here too: the platform's"
            " callbacks announce them."
        ),
    )
    change_form_template = "orders/order.html"
    list_display = ("name", "property_", "who", "status_", "work", "appointment", "last_event")
    list_filter = (WhatFilter, WhoseFilter, StatusFilter, UserFilter, WorkspaceFilter)
    list_before_template = "orders/lists.html"
    search_fields = (
        *("platform_id", "object_reference_id", "real_estate_property__title"),
        *("user__name", "user__user_reference_id"),
    )
    search_help_text = _("Order, address, reference or who ordered")
    ordering = ("-created_at", "-pk")
    actions = ("read_again",)

    class Media:
        css = {
            "all": (
                "crm_sync/cards.css",
                "orders/calendar.css",
                "orders/gallery.css",
                "orders/list.css",
                "orders/placing.css",
            )
        }
        js = ("orders/gallery.js",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        """Load the columns of the list with a constant number of queries."""
        mine = StatusChange.objects.filter(order=OuterRef("pk")).order_by().values("order")
        last = mine.annotate(last=Max("occurred_at")).values("last")
        wished = Placement.objects.filter(order=OuterRef("pk"))
        orders: QuerySet[Order] = super().get_queryset(request).defer("observed")
        return orders.annotate(
            **PAUSE,
            title=F("real_estate_property__title"),
            address=F("real_estate_property__desired__address"),
            last_event_at=Subquery(last),
            wished=Subquery(wished.values("products")[:1]),
        ).prefetch_related("assignments", "user", WITH_REFERENCE)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        """Find an order also by all that its property is found by, such as its address."""
        found, is_many = super().get_search_results(request, queryset, search_term)
        if not search_term:
            return found, is_many
        mine = search(within(request.user, Property.objects.all()), search_term)
        both = queryset.filter(
            Q(pk__in=found.order_by().values("pk")) | Q(real_estate_property__in=mine.values("pk"))
        )
        return both, False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the tabs of the agent's lists above the orders."""
        listed, only_mine = tabs(request)
        context = (extra_context or {}) | {"tabs": listed, "only_mine": only_mine}
        response: HttpResponse = super().changelist_view(request, context)
        return response

    name = column(
        _("order"),
        lambda row: two_lines(row.platform_id, row.reference),
        "platform_id",
    )

    @display(description=_("property"), ordering="title")
    def property_(self, order: Any) -> SafeString | str:
        """Show address and title once we know the property."""
        if order.real_estate_property_id is None:
            return badge(_("Not ours"))
        street, place = address_lines(order.address)
        shown = (street and shortened(street, 40), place and unbroken(place))
        where = format_html_join(", ", "{}", ((part,) for part in shown if part))
        texts = [text for text in (where, order.title and shortened(order.title, 40)) if text]
        return two_lines(*texts or [str(_("No title"))])

    who = column(_("ordered by"), lambda row: who_lines(row.who), "user__name")

    @display(description=_("status"), ordering="status")
    def status_(self, order: Order) -> SafeString:
        """Show the status, and a badge if the order has a problem."""
        trouble = [badge(_("Problem"), "danger")] if order.problem else []
        return _row([order_badge(order), *trouble])

    @display(description=_("assignments"))
    def work(self, order: Order) -> SafeString | str:
        """Show what each assignment is of, its status, and below them the sum, as far as known."""
        assignments = sorted(order.assignments.all(), key=lambda one: one.pk)
        names = assignment_names(assignments)
        badges = [assignment_badge(one, names[one.pk]) for one in assignments]
        more = len(badges) - MOST_BADGES
        rest = [unbroken(f"+{more}")] if more > 0 else []
        shown = [*badges[:MOST_BADGES], *rest, *_sum(order.wished)]  # type: ignore[attr-defined]
        return _row(shown) if shown else EMPTY

    @display(description=_("appointment"))
    def appointment(self, order: Order) -> SafeString | str:
        """Show the earliest appointment of an assignment that has not ended or been withdrawn.

        One that is over although the assignment has not ended is marked.
        """
        moments = [
            one.scheduled_at
            for one in order.assignments.all()
            if one.scheduled_at and not one.withdrawn_at and one.status not in ASSIGNMENT_TERMINAL
        ]
        if not moments:
            return EMPTY
        at, now = min(moments), timezone.now()
        there = timezone.localtime(at)
        since = badge(_("Past, not done"), "warning") if at < now else moment(at, now)
        return two_lines(unbroken(f"{day_in_words(there)}, {there:%H:%M}"), since)

    last_event = moment_column(_("last event"), "last_event_at")  # by the platform's clock

    @action(description=_("Refresh from the platform"), permissions=["act"])
    def read_again(
        self, request: HttpRequest, queryset: QuerySet[Order]
    ) -> HttpResponseRedirect | None:
        """Make the orders and their materials due for a read from the platform (POST only).

        A person who asks for it on the page of an order stays there, and sees it come.
        """
        chosen, now = queryset.order_by(), timezone.now()
        rows = Order.objects.filter(pk__in=chosen.values("pk"))
        with transaction.atomic():
            row_locks.lock(rows)
            for workspace_id in chosen.values_list("workspace_id", flat=True).distinct():
                mine = chosen.filter(workspace_id=workspace_id)
                poller.ask(mine, unit_of_work.ORDERS, workspace_id, now=now)
        expectations.read_again(rows, now=now)
        self.note(request, chosen, sentence("Asked for a read from the platform."))
        say_when(request, rows, now=now)
        one = chosen.first() if request.POST.get("stays") else None
        return None if one is None else HttpResponseRedirect(page_of(one))

    def pages(self) -> Iterable[OwnPage]:
        """Return the calendar, the change forms, the materials, and the live part of the page."""
        address, download = partial(address_page, self), partial(download_view, self)
        yield OwnPage("calendar/", "calendar", partial(calendar_page, self), "view")
        yield OwnPage("calendar/address/", "calendar_address", address, "view")
        yield OwnPage("<int:pk>/live/", "live", self.live_view, "view")
        yield OwnPage("<int:pk>/materials/", "materials", partial(materials_page, self), "view")
        yield OwnPage("<int:pk>/files.zip", "zip", zip_view, "view")
        yield OwnPage("<int:pk>/download/", "download", download, "act", is_post_only=True)
        yield OwnPage("file/<int:file_id>/", "file", file_view, "view")
        for kind in CHANGES:
            name, view = kind.lower(), partial(change_view, self, kind=kind)
            yield OwnPage(f"<int:pk>/{name}/", name, view, "act")

    def page_context(self, request: HttpRequest, order: Any) -> dict[str, Any]:
        note_look(order, cast("User", request.user), now=timezone.now())
        kinds = offered(order) if self.has_act_permission(request) else []
        return page(order, now=timezone.now()) | {
            "sees_received_events": request.user.has_perm("crm_sync.view_receivedevent"),
            "read_when": row_delay(order, timezone.now()),
            "changes": [(CHANGES[kind].link, change_page(order, kind)) for kind in kinds],
        }

    def live_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the part of an order's page that reloads itself (S17)."""
        order = self.get_queryset(request).filter(pk=pk).first()
        if order is None:
            raise Http404
        can_act = self.has_act_permission(request)
        context = {"original": order, "opts": self.opts, "can_act": can_act}
        context |= self.page_context(request, order)
        return render(request, "orders/order_live.html", context)


def _sum(products: Any) -> list[SafeString]:
    """Show what the products cost together, as far as the session named prices; else nothing."""
    found = total(products or ())
    return [format_html('<span class="cs-sum">{}</span>', found)] if found.moneys else []


def _row(badges: list[SafeString]) -> SafeString:
    joined = format_html_join(" ", "{}", ((one,) for one in badges))
    return format_html('<span class="cs-badges">{}</span>', joined)
