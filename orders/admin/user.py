"""The users of the platform, and the accounts here that belong to the same people."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext_lazy

from crm_sync.admin.ui.cells import EMPTY, badge, exact_moment, link, list_of, moment, two_lines
from crm_sync.admin.ui.columns import column
from crm_sync.admin.ui.delays import say_when
from crm_sync.admin.ui.filters import ConditionFilter, ValueFilter, WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage
from crm_sync.hooks import Person
from crm_sync.models import Workspace
from crm_sync.security.access import own_workspaces, within
from crm_sync.sentence import sentence
from crm_sync.translated import Text
from orders.admin.user_account import AccountForm, account_view
from orders.models import PlatformUser, UserList
from orders.platform_users import user_list

BY_HAND, BY_EMAIL = _("chosen here"), _("by e-mail")
MOST = 100  # languages or countries to choose from
SHOWN = 5  # workspaces, beginning with the ones that have a problem


class GoneFilter(ConditionFilter):
    """By whether the user is still on the platform."""

    title = _("on the platform")
    parameter_name = "gone"
    conditions = {"no": (_("There"), Q(gone_at=None)), "yes": (_("Gone"), ~Q(gone_at=None))}


class AccountFilter(ConditionFilter):
    """By the account, and by how it was chosen."""

    title = _("account")
    parameter_name = "account"
    conditions = {
        "none": (_("Without an account"), Q(account=None)),
        "email": (_("By e-mail"), Q(account__isnull=False, is_tied_by_hand=False)),
        "hand": (_("Chosen here"), Q(is_tied_by_hand=True)),
    }


class _PlatformValueFilter(ValueFilter):
    """By a column that the platform fills. The choices are the values in use."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        mine = within(request.user, PlatformUser.objects.all())
        there = mine.exclude(**{self.column: ""}).order_by(self.column)
        return [(one, one) for one in there.values_list(self.column, flat=True).distinct()[:MOST]]


class LanguageFilter(_PlatformValueFilter):
    """By language."""

    title = _("language")
    parameter_name = column = "language"


class CountryFilter(_PlatformValueFilter):
    """By country."""

    title = _("country")
    parameter_name = column = "country"


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
    at_once = ngettext_lazy(
        "A worker reads the users from the platform now.",
        "A worker reads the users of %(count)s workspaces from the platform now.",
        "count",
    )
    say_when(request, within(request.user, UserList.objects.all()), now=now, at_once=at_once)
    return HttpResponseRedirect(reverse("admin:orders_platformuser_changelist"))


# --- the last read of each workspace, above the list ---
@dataclass(frozen=True)
class UserListState:
    """The last read of one workspace's users.

    Attributes:
        at: when the users were last read completely, "" if never.
        problem: why the last read failed, "" if it did not.
        set_aside: the number of entries in the list that cannot be stored.
    """

    workspace: str
    at: SafeString | str
    due: SafeString | str
    problem: str
    set_aside: int


@dataclass(frozen=True)
class Reads:
    """The first few workspaces, the number of the others, and workspaces without any read."""

    shown: list[UserListState]
    more: int
    unasked: list[str]


def reads(person: Person, now: datetime) -> Reads:
    """Return the last reads of the users, for the person's workspaces.

    Three queries for any number of workspaces.
    """
    is_well = Case(When(problem="", then=Value(1)), default=Value(0))
    every = within(person, UserList.objects.all())
    rows = every.annotate(slug=F("workspace__slug"), is_well=is_well)
    without = within(person, Workspace.objects.filter(user_list=None), "pk")
    unasked: QuerySet[Workspace, str] = without.values_list("slug", flat=True)
    return Reads(
        [_read(row, now) for row in rows.order_by("is_well", "slug")[:SHOWN]],
        max(0, rows.count() - SHOWN),
        list(unasked.order_by("slug")[:SHOWN]),
    )


def _read(row: UserList, now: datetime) -> UserListState:
    slug = getattr(row, "slug", "")
    due = moment(row.due_at, now) if row.due_at and row.due_at > now else gettext("now")
    at = moment(row.read_at, now) if row.read_at else ""
    return UserListState(slug, at, due, row.problem, row.set_aside)
