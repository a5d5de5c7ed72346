"""The intervals in which events may be unknown, until a person has seen them (I21)."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString

from crm_sync.admin.ui.base import DropdownFilter, action, display
from crm_sync.admin.ui.cells import badge, exact_moment, moment, two_lines
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.models import Gap

NEXT = {
    Gap.Why.OVERFLOW: "The platform made more attempts between two looks than its history keeps.",
    Gap.Why.ERASED: "Somebody removed the webhook, or made it anew; its history went with it.",
    Gap.Why.UNEXPLAINED: "The platform tells of an attempt that neither reached us nor stands in"
    " its history.",
    Gap.Why.UNREADABLE: "Records of the history hold no payload, or one that was cut off.",
}
ADVICE = (
    "Every open order that we know is read again by itself. An order that somebody else placed in"
    " this interval may be unknown until its next event: look for it on the platform."
)


def seen_badge(gap: Gap) -> SafeString:
    """Show whether a person has seen it."""
    return badge("Seen") if gap.acknowledged_at else badge("Unseen", "danger")


class SeenFilter(DropdownFilter):
    """What still waits for a person, or not."""

    title = "seen"
    parameter_name = "seen"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer both."""
        return [("no", "Unseen"), ("yes", "Seen")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Keep the chosen ones."""
        chosen = self.value()
        return queryset.filter(acknowledged_at__isnull=chosen == "no") if chosen else queryset


@admin.register(Gap)
class GapAdmin(ReadOnlyAdmin):
    """Written by `webhook.poll`; a person says that it was seen."""

    empty = Empty(
        "No gap was found",
        "Here stands every interval in which the platform may have told something that reached us"
        " neither by callback nor by its history.",
    )
    change_form_template = "crm_sync/gap.html"
    list_display = ("interval", "why_", "state", "read_again", "noticed")
    list_filter = (SeenFilter, WorkspaceFilter)
    ordering = ("-pk",)
    actions = ("acknowledge",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Gap]:
        """Load the slug and nothing else of the workspace (S5)."""
        gaps: QuerySet[Gap] = super().get_queryset(request)
        return gaps.annotate(slug=F("workspace__slug"))

    @display(description="interval")
    def interval(self, gap: Any) -> SafeString:
        """Show from when to when, by the platform's clock, and the workspace."""
        return two_lines(gap.interval, gap.slug)

    @display(description="why", ordering="why")
    def why_(self, gap: Gap) -> str:
        """Show what was noticed."""
        return gap.get_why_display()

    @display(description="state", ordering="acknowledged_at")
    def state(self, gap: Gap) -> SafeString:
        """Show whether a person has seen it."""
        return seen_badge(gap)

    @display(description="orders read again", ordering="asked")
    def read_again(self, gap: Gap) -> int:
        """Show how many open orders were made due for a read."""
        return gap.asked

    @display(description="noticed", ordering="noticed_at")
    def noticed(self, gap: Gap) -> SafeString | str:
        """Show when."""
        return moment(gap.noticed_at, timezone.now())

    @action(description="Seen", permissions=["act"])
    def acknowledge(self, request: HttpRequest, queryset: QuerySet[Gap]) -> None:
        """Take them off the list of what waits for a person; they stay here (POST only)."""
        unseen = Gap.objects.filter(pk__in=queryset, acknowledged_at=None)
        self.note(request, unseen, "Seen.")
        count = unseen.update(acknowledged_at=timezone.now())
        if count:
            messages.success(request, f"Seen: {count}.")
        else:
            messages.warning(request, "All of them have been seen before.")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the page of one gap instead of a form."""
        gap, now = kwargs["obj"], timezone.now()
        context |= {
            "badge": seen_badge(gap),
            "explanation": NEXT[Gap.Why(gap.why)],
            "advice": ADVICE,
            "facts": [
                ("Workspace", gap.slug),
                ("From", exact_moment(gap.began_at, now) if gap.began_at else "the beginning"),
                ("To", exact_moment(gap.ended_at, now)),
                ("Noticed", exact_moment(gap.noticed_at, now)),
                ("Open orders read again", gap.asked),
                ("Seen", exact_moment(gap.acknowledged_at, now)),
            ],
            "can_act": not gap.acknowledged_at and self.has_act_permission(request),
        }
        return super().render_change_form(request, context, *args, **kwargs)
