"""The connections to the platform: their state, and three settings to change."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any, cast

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.contrib.auth.models import User
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from crm_sync.admin import webhook
from crm_sync.admin.credentials import credentials_page
from crm_sync.admin.ui.base import ModelForm, display
from crm_sync.admin.ui.cells import badge, exact_moment, link, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.readonly import Empty
from crm_sync.admin.ui.scope import OwnPage, ScopedAdmin
from crm_sync.admin.webhook_monitor import webhook_address, webhook_cell
from crm_sync.models import Workspace
from crm_sync.platform import clock
from crm_sync.templatetags.problems import problem_cell

MOST_UNDER_WAY = 100


def without_secrets(workspaces: QuerySet[Workspace]) -> QuerySet[Workspace]:
    """Leave the secrets in the database (S5); `has_…` says which are there.

    The empty string is stored as it is, so that needs no key either.
    """
    flags = {
        f"has_{name}": ExpressionWrapper(~Q(**{name: ""}), output_field=BooleanField())
        for name in Workspace.SECRETS
    }
    return workspaces.defer(*Workspace.SECRETS).annotate(**flags)


def connection(workspace: Any, now: datetime) -> tuple[str, str]:
    """Return the state of a connection for a person, and its tone."""
    if not workspace.has_fixed_token and not workspace.has_client_secret:
        return "No credentials", "danger"
    if workspace.is_paused(now):
        return "Paused", "warning"
    if workspace.problem:
        return "Problem", "danger"
    return "Connected", "good"


# What each setting means for the people who work with it.
HELP = {
    "conflict_policy": "When both sides changed the same field since they last agreed."
    " Our value wins: ours is sent over theirs. The platform's value wins: theirs replaces ours,"
    " and nothing is sent. A person decides: the field waits under Conflicts, the others go out."
    " In every case all three values are kept there. A change counts from the next conflict on.",
    "read_before_write": "Read a property before each push: one more call each. Without it nobody"
    " notices what was changed on the platform meanwhile, and a push replaces it.",
    "max_under_way": f"1 to {MOST_UNDER_WAY}, for all workers together. More is faster, until the"
    " platform answers 429 and the whole workspace pauses. Of three or more, pushes leave one to"
    " orders and one to reads.",
    "callback_sources": "Addresses or networks, such as 192.0.2.0/24, separated by blanks."
    " Empty: any address. A callback from another address is refused and counted below; its event"
    " then comes only through the trigger history.",
}


class WorkspaceForm(ModelForm):
    """The settings that concern only our side, and who sees the workspace."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in HELP.keys() & self.fields.keys():  # a viewer gets none of them
            self.fields[name].help_text = HELP[name]
        if "people" in self.fields:
            field = cast("forms.ModelMultipleChoiceField[User]", self.fields["people"])
            able = Q(is_active=True, is_staff=True) | Q(workspaces=self.instance.pk)
            field.queryset = User.objects.filter(able).distinct().order_by("username")

    def clean_max_under_way(self) -> int:
        """Keep the workspace moving, and the platform from a flood (A8)."""
        most = int(self.cleaned_data["max_under_way"])
        if not 1 <= most <= MOST_UNDER_WAY:
            raise forms.ValidationError(f"Between 1 and {MOST_UNDER_WAY}.")
        return most


@admin.register(Workspace)
class WorkspaceAdmin(ScopedAdmin):
    """Its settings are changed here, its credentials on a page that never shows one (S5)."""

    workspace_path = "pk"
    is_of_many = False
    form = WorkspaceForm
    empty = Empty(
        "No workspace is connected yet",
        "Connect one here, or by a command on the server. Its credentials are stored encrypted, and"
        " never shown again.",
        (
            "manage.py add_workspace main --base-url https://… --token-env PLATFORM_TOKEN",
            "manage.py configure_webhook main",
        ),
    )
    list_display = ("name", "state", "address", "callbacks", "refused", "since")
    search_fields = ("slug", "base_url")
    ordering = ("slug",)
    readonly_fields = (
        "slug",
        "address",
        "credentials_kind",
        "state",
        "paused",
        "reason",
        "platform_clock",
        "callback_address",
        "callbacks",
        "webhook",
        "refused_callbacks",
        "last_refusal",
        "refused_at",
        "since",
    )
    fieldsets = (
        ("People", {"fields": ("people",)}),
        (
            "Settings",
            {
                "fields": (
                    "conflict_policy",
                    "read_before_write",
                    "max_under_way",
                    "callback_sources",
                )
            },
        ),
        (
            "Connection",
            {
                "fields": (
                    "slug",
                    "address",
                    "credentials_kind",
                    "state",
                    "paused",
                    "reason",
                    "platform_clock",
                    "since",
                ),
                "description": "Changed on the page of the credentials, or by manage.py"
                " add_workspace.",
            },
        ),
        (
            "Callbacks",
            {
                "fields": (
                    "callback_address",
                    "callbacks",
                    "webhook",
                    "refused_callbacks",
                    "last_refusal",
                    "refused_at",
                ),
                "description": "Changed on the page of the webhook, or by manage.py"
                " configure_webhook: here and on the platform together.",
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workspace]:
        """Load everything but the secrets."""
        return without_secrets(super().get_queryset(request))

    def pages(self) -> Iterable[OwnPage]:
        place = "<int:workspace_id>/"
        return [
            OwnPage(f"{place}webhook/", "webhook", partial(webhook.webhook_page, self)),
            OwnPage(f"{place}credentials/", "credentials", partial(credentials_page, self)),
        ]

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Connect one: not Django's form, which would ask the platform inside a transaction."""
        response: HttpResponse = credentials_page(self, request)
        return response

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Write only what was changed here: workers write the other columns (rule 7)."""
        changed = [name for name in form.changed_data if name != "people"]
        if changed:
            obj.save(update_fields=changed)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Choose among the accounts, as on the page of a user among the workspaces."""
        widget = FilteredSelectMultiple("people", is_stacked=False)
        return super().formfield_for_manytomany(db_field, request, **(kwargs | {"widget": widget}))

    name = column(
        "workspace", lambda row: two_lines(row.slug, row.get_conflict_policy_display()), "slug"
    )
    # As text: nobody wants to open an API in the browser.
    address = column("base address", lambda row: row.base_url, "base_url")

    @display(description="credentials")
    def credentials_kind(self, workspace: Any) -> SafeString:
        """Say which credentials are stored, never their value, and lead to their page (S5)."""
        kind = "None"
        if workspace.has_fixed_token:
            kind = "Fixed token: stored"
        elif workspace.has_client_secret:
            kind = f"Client credentials of {workspace.client_id}: secret stored"
        page = reverse("admin:crm_sync_workspace_credentials", args=[workspace.pk])
        return format_html("{} · {}", kind, link(page, "Change or test"))

    @display(description="state")
    def state(self, workspace: Workspace) -> SafeString:
        """Show whether the platform can be reached as far as we know."""
        text, tone = connection(workspace, timezone.now())
        return badge(text, tone)

    @display(description="paused until")
    def paused(self, workspace: Workspace) -> SafeString | str:
        """Show how long all workers leave the platform alone."""
        now = timezone.now()
        return (
            exact_moment(workspace.paused_until, now) if workspace.is_paused(now) else "Not paused"
        )

    reason = column("last problem", lambda row: problem_cell(row.problem))

    @display(description="the platform's clock")
    def platform_clock(self, workspace: Workspace) -> str:
        """Say how it differs from ours, by the `Date` of its answers (I29)."""
        if workspace.clock_ahead is None:
            return "Not known yet: no answer has had a date"
        difference = clock.difference(workspace.clock_ahead)
        return f"Its clock is {difference}" if difference else "As ours, within a minute"

    callback_address = column("callback address", lambda row: row.callback_url)

    @display(description="callback authentication", ordering="auth_type")
    def callbacks(self, workspace: Any) -> str:
        """Say how callbacks are authenticated, and whether there is a secret for it."""
        if workspace.auth_type == Workspace.AuthType.NONE:
            return "None: anybody can send events"
        name = {
            Workspace.AuthType.HEADER: workspace.auth_header_name,
            Workspace.AuthType.QUERY_PARAMETER: workspace.auth_parameter_name,
        }.get(workspace.auth_type, "")
        stored = "secret stored" if workspace.has_auth_secret else "no secret yet"
        return f"{workspace.get_auth_type_display()} {name}".strip() + f": {stored}"

    @display(description="webhook on the platform")
    def webhook(self, workspace: Workspace) -> SafeString:
        """Say whether the platform holds what we set, and lead to where it is seen and changed."""
        state, watched = webhook_cell(workspace)
        page = link(webhook_address(workspace.pk), "Attempts, settings and test")
        if not watched:
            return format_html("{} {}", state, page)
        return format_html("{} {} · {}", state, link(watched, "What we saw"), page)

    @display(description="refused callbacks", ordering="refused_callbacks")
    def refused(self, workspace: Workspace) -> SafeString | str:
        """Count them in the list; colour what needs a look."""
        count = workspace.refused_callbacks
        return badge(count, "warning") if count else "0"

    refused_at = column(
        "last refused", lambda row: exact_moment(row.last_refusal_at, timezone.now())
    )
    since = moment_column("added", "created_at")
