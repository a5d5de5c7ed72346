"""The workspaces: their list with connection, webhook and gaps, and the settings of one."""

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.contrib.auth.models import User
from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import ModelForm, action, display
from crm_sync.admin.ui.cells import badge, exact_moment, link, moment, shortened, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import ConditionFilter
from crm_sync.admin.ui.readonly import Empty
from crm_sync.admin.ui.scope import OwnPage, ScopedAdmin
from crm_sync.admin.workspace import webhook
from crm_sync.admin.workspace.credentials import credentials_page
from crm_sync.admin.workspace.gaps import gaps_page, see
from crm_sync.admin.workspace.pause_page import pause_page
from crm_sync.admin.workspace.state import CONNECTING, connection, webhook_state, without_secrets
from crm_sync.admin.workspace.tabs import address_of, tabs
from crm_sync.models import Gap, Workspace
from crm_sync.models.workspace import MOST_UNDER_WAY
from crm_sync.platform import clock
from crm_sync.templatetags.problems import problem_cell
from crm_sync.translated import Text, number
from crm_sync.webhook.configuration import GONE


def unseen_gaps() -> Coalesce:
    """Return an expression: the number of unseen gaps of a workspace."""
    unseen = Gap.objects.filter(workspace=OuterRef("pk"), acknowledged_at=None).order_by()
    count = unseen.values("workspace").annotate(count=Count("pk")).values("count")
    return Coalesce(Subquery(count), 0, output_field=IntegerField())


class WebhookFilter(ConditionFilter):
    """Filter by problems with callbacks."""

    title = _("webhook")
    parameter_name = "webhook"
    conditions = {
        "changed": (_("Changed on the platform"), Q(monitor__drift_since__isnull=False)),
        "failed": (_("With failed attempts"), Q(monitor__failed__gt=0)),
        "refused": (_("With refused callbacks"), Q(refused_callbacks__gt=0)),
        "gaps": (_("With unseen gaps"), Q(unseen__gt=0)),
        "none": (_("Not set from here"), Q(monitor=None)),
    }


# What each setting means for people.
HELP: dict[str, Text] = {
    "conflict_policy": _(
        "When both sides changed the same field since they last agreed."
        " Our value wins: ours is sent over theirs. The platform's value wins: theirs replaces"
        " ours, and nothing is sent. A person decides: the field waits under Conflicts, the others"
        " go out. In every case all three values are kept there. A change counts from the next"
        " conflict on."
    ),
    "read_before_write": _(
        "Read a property before each push: one more call each. Without it nobody notices what was"
        " changed on the platform meanwhile, and a push replaces it."
    ),
    "max_under_way": _(
        "1 to %(most)s, for all workers together. More is faster, until the platform answers 429"
        " and the whole workspace pauses. Of three or more, pushes leave one to orders and one to"
        " reads."
    ),
    "callback_sources": _(
        "Addresses or networks, such as 192.0.2.0/24, separated by blanks. Empty: any address. A"
        " callback from another address is refused and counted under Webhook; its event then comes"
        " only through the trigger history."
    ),
}


class WorkspaceForm(ModelForm):
    """The settings of our side, and the people who see the workspace."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in HELP.keys() & self.fields.keys():  # a viewer gets none of them
            self.fields[name].help_text = HELP[name] % {"most": MOST_UNDER_WAY}
        if "people" in self.fields:
            field = cast("forms.ModelMultipleChoiceField[User]", self.fields["people"])
            able = Q(is_active=True, is_staff=True) | Q(workspaces=self.instance.pk)
            field.queryset = User.objects.filter(able).distinct().order_by("username")

    def clean_max_under_way(self) -> int:
        """Require at least one call at a time, and limit the load on the platform (A8)."""
        most = int(self.cleaned_data["max_under_way"])
        if not 1 <= most <= MOST_UNDER_WAY:
            raise forms.ValidationError(
                gettext("Between 1 and %(most)s.") % {"most": MOST_UNDER_WAY}
            )
        return most


@admin.register(Workspace)
class WorkspaceAdmin(ScopedAdmin):
    """The settings of workspaces. Credentials are changed on a page that never shows one (S5)."""

    workspace_path = "pk"
    is_of_many = False
    form = WorkspaceForm
    empty = Empty(
        _("No workspace is connected yet"),
        _(
            "Connect one here, or by a command on the server. Its credentials are stored encrypted,"
            " and never shown again."
        ),
        CONNECTING,
    )
    change_form_template = "crm_sync/workspace/settings.html"
    list_display = ("name", "state", "address", "webhook", "attempts", "refused", "gaps", "polled")
    list_filter = (WebhookFilter,)
    list_filter_submit = True
    actions = ("repair", "poll_now", "see_failures", "see_gaps")
    search_fields = ("slug", "base_url")
    ordering = ("slug",)
    readonly_fields = (
        *("slug", "address", "credentials_kind", "state", "paused", "reason"),
        *("platform_clock", "since"),
    )
    fieldsets = (
        (_("People"), {"fields": ("people",)}),
        (
            _("Settings"),
            {
                "fields": (
                    *("conflict_policy", "read_before_write", "max_under_way"),
                    "callback_sources",
                )
            },
        ),
        (_("Connection"), {"fields": readonly_fields}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workspace]:
        """Load all except the secrets, and what the list shows of webhook and gaps."""
        rows: QuerySet[Workspace] = super().get_queryset(request).select_related("monitor")
        return without_secrets(rows.annotate(unseen=unseen_gaps()))

    def pages(self) -> Iterable[OwnPage]:
        place = "<int:workspace_id>/"
        return [
            OwnPage(f"{place}webhook/", "webhook", partial(webhook.webhook_page, self)),
            OwnPage(f"{place}gaps/", "gaps", partial(gaps_page, self)),
            OwnPage(f"{place}pause/", "pause", partial(pause_page, self)),
            OwnPage(f"{place}credentials/", "credentials", partial(credentials_page, self)),
        ]

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Connect a workspace. Django's form would call the platform in a transaction."""
        response: HttpResponse = credentials_page(self, request)
        return response

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Use the same select for people as the page of a user has for workspaces."""
        widget = FilteredSelectMultiple(gettext("people"), is_stacked=False)
        return super().formfield_for_manytomany(db_field, request, **(kwargs | {"widget": widget}))

    name = column(
        _("workspace"), lambda row: two_lines(row.slug, row.get_conflict_policy_display()), "slug"
    )
    # Text, not a link: nobody opens an API in the browser.
    address = column(_("base address"), lambda row: row.base_url, "base_url")

    @display(description=_("credentials"))
    def credentials_kind(self, workspace: Any) -> str:
        """Return which credentials are stored, never their value (S5)."""
        if workspace.has_fixed_token:
            return gettext("Fixed token: stored")
        if workspace.has_client_secret:
            text = gettext("Client credentials of %(client)s: secret stored")
            return text % {"client": workspace.client_id}
        return gettext("None stored")

    @display(description=_("state"))
    def state(self, workspace: Workspace) -> SafeString:
        """Show the last known state of the connection."""
        text, tone = connection(workspace, timezone.now())
        return badge(text, tone)

    @display(description=_("paused until"))
    def paused(self, workspace: Workspace) -> SafeString | str:
        """Show until when no worker calls the platform."""
        now = timezone.now()
        return (
            exact_moment(workspace.paused_until, now)
            if workspace.is_paused(now)
            else gettext("Not paused")
        )

    reason = column(_("last problem"), lambda row: problem_cell(row.problem))

    @display(description=_("the platform's clock"))
    def platform_clock(self, workspace: Workspace) -> str:
        """Return how it differs from our clock, by the `Date` of its answers (I29)."""
        if workspace.clock_ahead is None:
            return gettext("Not known yet: no answer has had a date")
        difference = clock.difference(workspace.clock_ahead)
        if not difference:
            return gettext("As ours, within a minute")
        return gettext("Its clock is %(difference)s") % {"difference": difference}

    @display(description=_("webhook"), ordering="monitor__drift_since")
    def webhook(self, workspace: Any) -> SafeString:
        """Show whether the webhook is as we set it, and what differs."""
        seen = getattr(workspace, "monitor", None)
        shown = link(address_of("webhook", workspace.pk), badge(*webhook_state(seen)))
        differing = sorted(seen.drift.keys() - {GONE}) if seen else []
        return two_lines(shown, ", ".join(differing))

    @display(description=_("failed attempts"), ordering="monitor__failed")
    def attempts(self, workspace: Any) -> SafeString | str:
        """Show the number of failed attempts, and the reason of the last."""
        seen = getattr(workspace, "monitor", None)
        if seen is None or not seen.failed:
            return "0"
        return two_lines(badge(number(seen.failed), "warning"), shortened(seen.last_failure, 60))

    @display(description=_("gaps"), ordering="unseen")
    def gaps(self, workspace: Any) -> SafeString | str:
        """Show the number of unseen gaps, with a link to them."""
        count = workspace.unseen
        page = address_of("gaps", workspace.pk)
        return link(page, badge(number(count), "danger")) if count else "0"

    @display(description=_("last poll"), ordering="monitor__polled_at")
    def polled(self, workspace: Any) -> SafeString | str:
        """Show when the webhook was last read."""
        seen, now = getattr(workspace, "monitor", None), timezone.now()
        return moment(seen.polled_at, now) if seen else moment(None, now)

    @display(description=_("refused"), ordering="refused_callbacks")
    def refused(self, workspace: Workspace) -> SafeString | str:
        """Show the number of refused callbacks, with a colour if there are any."""
        count = workspace.refused_callbacks
        return badge(number(count), "warning") if count else "0"

    since = moment_column(_("added"), "created_at")

    @action(description=_("Repair the webhook"), permissions=["act"])
    def repair(self, request: HttpRequest, queryset: QuerySet[Workspace]) -> None:
        """Set the webhook as it should be (POST only)."""
        webhook.repair(request, queryset)

    @action(description=_("Poll now"), permissions=["act"])
    def poll_now(self, request: HttpRequest, queryset: QuerySet[Workspace]) -> None:
        """Let a worker read the configuration and the whole history (POST only)."""
        webhook.poll_now(request, queryset)

    @action(description=_("Failures seen"), permissions=["act"])
    def see_failures(self, request: HttpRequest, queryset: QuerySet[Workspace]) -> None:
        """Reset the count of failed attempts (POST only)."""
        webhook.see_failures(request, queryset)

    @action(description=_("Gaps seen"), permissions=["act"])
    def see_gaps(self, request: HttpRequest, queryset: QuerySet[Workspace]) -> None:
        """Mark all gaps as seen. They stay on the tab Gaps (POST only)."""
        see(request, Gap.objects.filter(workspace__in=queryset.values("pk")))

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return tabs(self, request, row.pk)
