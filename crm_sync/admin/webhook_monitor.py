"""The webhook as the platform holds it: what differs, what failed, and the repair."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from crm_sync.admin.ui.base import action, display
from crm_sync.admin.ui.cells import badge, exact_moment, link, page_at, shortened, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.delays import say_when
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.models import WebhookMonitor, Workspace
from crm_sync.platform.errors import SyncError
from crm_sync.secrets import SecretUnreadable
from crm_sync.templatetags.problems import problem_cell
from crm_sync.webhook import configuration, schedule
from crm_sync.webhook.configuration import GONE


def state_of(seen: WebhookMonitor) -> tuple[str, str]:
    """Return for a person whether the webhook is as we set it, and the tone."""
    if GONE in seen.drift:
        return "Not configured", "danger"
    if seen.drift:
        return "Changed", "danger"
    if seen.problem:
        return "Cannot be read", "warning"
    return ("As we set it", "good") if seen.polled_at else ("Not polled yet", "info")


@admin.register(WebhookMonitor)
class WebhookMonitorAdmin(ReadOnlyAdmin):
    """One row for each workspace whose webhook was set from here."""

    empty = Empty(
        "No webhook is set yet",
        "The platform calls us once its webhook is configured:",
        ("manage.py configure_webhook main",),
    )
    is_of_many = False
    change_form_template = "crm_sync/webhook_monitor.html"
    list_display = ("name", "state", "attempt", "failures", "recovered", "polled")
    list_filter = (WorkspaceFilter,)
    search_fields = ("workspace__slug",)
    ordering = ("workspace__slug",)
    annotations = {"slug": F("workspace__slug")}
    actions = ("repair", "poll_now", "seen")

    name = column(
        "workspace",
        lambda row: two_lines(row.slug, ", ".join(sorted(row.drift))),
        "workspace__slug",
    )
    state = column("on the platform", lambda row: badge(*state_of(row)), "drift_since")
    attempt = moment_column("last attempt", "last_triggered_at")

    @display(description="failed attempts", ordering="failed")
    def failures(self, seen: WebhookMonitor) -> SafeString | str:
        """Show how many did not reach us, and why the last did not."""
        if not seen.failed:
            return "0"
        return two_lines(badge(seen.failed, "warning"), shortened(seen.last_failure, 60))

    polled = moment_column("last poll", "polled_at")

    @action(description="Repair", permissions=["act"])
    def repair(self, request: HttpRequest, queryset: QuerySet[WebhookMonitor]) -> None:
        """Set the webhook as it should be (POST only)."""
        for workspace_id, slug in queryset.values_list("workspace_id", "workspace__slug"):
            mine = queryset.filter(workspace_id=workspace_id)
            try:
                workspace = Workspace.objects.get(pk=workspace_id)
                configuration.repair(workspace, now=timezone.now())
            except SyncError as error:
                messages.error(request, format_html("{}: {}", slug, problem_cell(error)))
            except (
                SecretUnreadable,
                configuration.NoneNotAllowed,
                configuration.OnlyHere,
            ) as error:
                messages.error(request, f"{slug}: {error}")
            else:
                self.note(request, mine, "Repaired.")
                messages.success(request, f"{slug}: the webhook is set as it should be.")

    @action(description="Poll now", permissions=["act"])
    def poll_now(self, request: HttpRequest, queryset: QuerySet[WebhookMonitor]) -> None:
        """Have the configuration and the whole history read (POST only)."""
        chosen, now = WebhookMonitor.objects.filter(pk__in=queryset), timezone.now()
        schedule.ask(chosen, now=now)
        self.note(request, chosen, "Asked for a poll.")
        say_when(request, chosen, now=now, done="polled", at_once="A worker polls now")

    @action(description="Failures seen", permissions=["act"])
    def seen(self, request: HttpRequest, queryset: QuerySet[WebhookMonitor]) -> None:
        """Begin to count the failed attempts again (POST only)."""
        failed = WebhookMonitor.objects.filter(pk__in=queryset, failed__gt=0)
        self.note(request, failed, "Failures seen.")
        count = failed.update(failed=0)
        messages.success(request, f"Counted from 0 again: {count}.")

    def page_context(self, request: HttpRequest, seen: Any) -> dict[str, Any]:
        return {
            "title": f"Webhook of {seen.slug}",
            "badge": badge(*state_of(seen)),
            "facts": _facts(seen),
            "drift": sorted(seen.drift.items()),
        }


def _facts(seen: Any) -> list[tuple[str, object]]:
    now = timezone.now()
    facts: list[tuple[str, object]] = [
        (
            "Attempts, settings and test",
            link(webhook_address(seen.workspace_id), "Open the webhook page"),
        ),
        ("Last poll", exact_moment(seen.polled_at, now)),
        ("Next poll", exact_moment(seen.due_at, now)),
        ("Last attempt of the platform", exact_moment(seen.last_triggered_at, now)),
        ("Events that only the history brought", seen.recovered),
        ("Failed attempts", seen.failed),
    ]
    if seen.last_failure:
        when = exact_moment(seen.last_failure_at, now)
        facts.append(("Last failure", two_lines(seen.last_failure, when)))
    if seen.problem:
        facts.append(("Why it cannot be read", problem_cell(seen.problem)))
    return facts


def webhook_address(workspace_id: int) -> str:
    """Return the address of the page of a workspace's webhook."""
    return reverse("admin:crm_sync_workspace_webhook", args=[workspace_id])


def webhook_cell(workspace: Workspace) -> tuple[SafeString, str]:
    """Return the state of a workspace's webhook as a badge, and the address of its page."""
    seen = WebhookMonitor.objects.filter(workspace_id=workspace.pk).first()
    if seen is None:
        return badge("Not set from here", "warning"), ""
    return badge(*state_of(seen)), page_at("crm_sync.webhookmonitor", seen.pk)
