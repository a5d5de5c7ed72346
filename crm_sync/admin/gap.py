"""The intervals in which events may be unknown, until a person has seen them (I21)."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from crm_sync.admin.ui.base import action
from crm_sync.admin.ui.cells import badge, exact_moment, unbroken
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import ConditionFilter, WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.models import Gap

NEXT = {
    Gap.Why.OVERFLOW: "The platform made more attempts between two polls than its history keeps.",
    Gap.Why.ERASED: "Somebody removed the webhook or created it again; its history was lost.",
    Gap.Why.UNEXPLAINED: "The platform names an attempt that neither reached us nor stands in"
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


class SeenFilter(ConditionFilter):
    """What still waits for a person, or not."""

    title = "seen"
    parameter_name = "seen"
    conditions = {
        "no": ("Unseen", Q(acknowledged_at=None)),
        "yes": ("Seen", ~Q(acknowledged_at=None)),
    }


@admin.register(Gap)
class GapAdmin(ReadOnlyAdmin):
    """Written by `webhook.poll`; a person says that it was seen."""

    empty = Empty(
        "No gap was found",
        "Every interval in which events may have reached us neither by callback nor by the"
        " platform's history is listed here.",
    )
    change_form_template = "crm_sync/gap.html"
    list_display = ("interval", "why_", "state", "read_again", "noticed")
    list_filter = (SeenFilter, WorkspaceFilter)
    ordering = ("-pk",)
    actions = ("acknowledge",)

    interval = column("interval", lambda row: unbroken(row.interval))
    why_ = column("why", lambda row: row.get_why_display(), "why")
    state = column("state", seen_badge, "acknowledged_at")
    read_again = column("orders read again", lambda row: row.asked, "asked")
    noticed = moment_column("noticed", "noticed_at")

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

    def page_context(self, request: HttpRequest, gap: Any) -> dict[str, Any]:
        now = timezone.now()
        return {
            "badge": seen_badge(gap),
            "explanation": NEXT[Gap.Why(gap.why)],
            "advice": ADVICE,
            "facts": [
                ("Workspace", gap.workspace_slug),
                ("From", exact_moment(gap.began_at, now) if gap.began_at else "the beginning"),
                ("To", exact_moment(gap.ended_at, now)),
                ("Noticed", exact_moment(gap.noticed_at, now)),
                ("Open orders read again", gap.asked),
                ("Seen", exact_moment(gap.acknowledged_at, now)),
            ],
            "can_act": not gap.acknowledged_at and self.has_act_permission(request),
        }
