"""The users of the platform, and the accounts here that belong to the same people."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from crm_sync.admin.ui.cells import EMPTY, badge, exact_moment, link, list_of, moment, two_lines
from crm_sync.admin.ui.columns import column
from crm_sync.admin.ui.delays import say_when
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage
from crm_sync.security.access import own_workspaces, within
from crm_sync.sentence import sentence
from crm_sync.translated import Text
from orders.admin.user_account import AccountForm, account_view
from orders.admin.user_filters import AccountFilter, CountryFilter, GoneFilter, LanguageFilter
from orders.admin.user_reads import reads
from orders.models import PlatformUser, UserList
from orders.platform_users import user_list

BY_HAND, BY_EMAIL = _("chosen here"), _("by e-mail")


def tie(user: PlatformUser) -> Text:
    """Return how a user got its account, or "" if it has none and nobody chose that."""
    if user.is_tied_by_hand:
        return BY_HAND
    return BY_EMAIL if user.account_id else ""


def account_cell(user: Any) -> SafeString | str:
    """Show the account, or "Nobody" if a person chose that."""
    how = tie(user)
    return two_lines(user.account_name or gettext("Nobody"), how) if how else EMPTY


def last_seen(user: PlatformUser) -> SafeString | str:
    """Show when the user was last in the list, and whether the user is gone."""
    when = moment(user.seen_at, timezone.now())
    return two_lines(badge(gettext("Gone"), "warning"), when) if user.gone_at else when


@admin.register(PlatformUser)
class PlatformUserAdmin(ReadOnlyAdmin):
    """A read-only mirror, except for the account, which is chosen here."""

    empty = Empty(
        _("No user of the platform is known yet"),
        _(
            "They are read from the platform as soon as a workspace is connected, and then every"
            " hour."
        ),
    )
    list_before_template = "orders/user_reads.html"
    change_form_template = "orders/user.html"
    list_display = ("person", "reached_at", "speaks", "account_", "seen")
    list_filter = (GoneFilter, AccountFilter, LanguageFilter, CountryFilter, WorkspaceFilter)
    search_fields = (
        *("name", "user_reference_id", "platform_id", "email", "phone"),
        "account__username",
    )
    search_help_text = _("Name, reference, id, e-mail, phone or account")
    ordering = ("name", "pk")
    annotations = {"account_name": F("account__username")}

    person = column(
        _("user"),
        lambda row: two_lines(row.name or row.platform_id, row.user_reference_id),
        "name",
    )
    reached_at = column(_("e-mail"), lambda row: two_lines(row.email or EMPTY, row.phone), "email")
    speaks = column(
        _("language"), lambda row: two_lines(row.language or EMPTY, row.country), "language"
    )
    account_ = column(_("account"), account_cell, "account_name")
    seen = column(_("last seen"), last_seen, "seen_at")

    def pages(self) -> Iterable[OwnPage]:
        read, account = partial(read_view, self), partial(account_view, self)
        return [
            OwnPage("read/", "read", read, "act", is_post_only=True),
            OwnPage("<int:pk>/account/", "account", account, "act", is_post_only=True),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show above the list when it was read, and what failed."""
        more = {
            "reads": reads(request.user, timezone.now()),
            "can_act": self.has_act_permission(request),
        }
        return super().changelist_view(request, (extra_context or {}) | more)

    def page_context(self, request: HttpRequest, user: Any) -> dict[str, Any]:
        now = timezone.now()
        orders = f"{list_of('orders.order')}?by={user.pk}"
        return {
            "title": str(user),
            "badge": badge(gettext("Gone"), "warning") if user.gone_at else "",
            "orders": link(orders, gettext("Orders of this user")),
            "form": AccountForm(user) if self.has_act_permission(request) else None,
            "facts": [
                (_("Name"), user.name or EMPTY),
                (_("Reference"), user.user_reference_id or EMPTY),
                (_("Id on the platform"), user.platform_id),
                (_("E-mail"), user.email or EMPTY),
                (_("Phone"), user.phone or EMPTY),
                (_("Language"), user.language or EMPTY),
                (_("Country"), user.country or EMPTY),
                (_("Workspace"), user.workspace_slug),
                (_("Account here"), account_cell(user)),
                (_("Last seen"), exact_moment(user.seen_at, now)),
                *([(_("Gone since"), exact_moment(user.gone_at, now))] if user.gone_at else []),
            ],
        }


def read_view(admin: ReadOnlyAdmin, request: HttpRequest) -> HttpResponse:
    """Have the users of all workspaces of this person read now."""
    now = timezone.now()
    mine = own_workspaces(request.user)
    for workspace_id in mine.values_list("pk", flat=True):
        user_list.ask(workspace_id, now)
    admin.note(request, mine, sentence("Asked for its users."))
    at_once = _("A worker reads the users from the platform now: %(count)s.")
    say_when(request, within(request.user, UserList.objects.all()), now=now, at_once=at_once)
    return HttpResponseRedirect(reverse("admin:orders_platformuser_changelist"))
