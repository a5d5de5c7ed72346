"""The list of files at targets: which are there, which wait, and why one was not taken."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _, ngettext

from crm_sync.admin.ui.base import action
from crm_sync.admin.ui.cells import (
    badge,
    breakable,
    two_lines,
)
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import ConditionFilter, WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty
from crm_sync.sentence import sentence
from crm_sync.translated import Text, number
from orders.admin.file_rows import FileAdmin, name_of
from orders.models import TargetFile
from orders.targets import target_files

STATES: dict[str, tuple[Text, str, Q]] = {
    "waiting": (_("To be uploaded"), "info", Q(due_at__isnull=False)),
    "there": (_("Uploaded"), "good", Q(due_at=None, problem="")),
    "problem": (_("Not taken"), "danger", Q(due_at=None) & ~Q(problem="")),
}


def state_badge(row: TargetFile) -> SafeString:
    """Show the state of a file."""
    key = "waiting" if row.due_at else "problem" if row.problem else "there"
    name, tone, __ = STATES[key]
    return badge(name, tone)


def _name(row: Any) -> SafeString:
    return two_lines(breakable(row.name or name_of(row)), row.target_name)


class UploadStateFilter(ConditionFilter):
    """By the state of a file at a target."""

    title = _("state")
    parameter_name = "state"
    conditions = {key: (name, rows) for key, (name, __, rows) in STATES.items()}


@admin.register(TargetFile)
class TargetFileAdmin(FileAdmin):
    """The files at targets, and those that are still to be uploaded."""

    empty = Empty(
        _("No file goes to a target yet"),
        _("As soon as a file of a delivery is stored here, it is uploaded to each target."),
    )
    list_display = ("name_", "order_", "state", "why", "next_try", "uploaded")
    fields = readonly_fields = list_display
    list_filter = (UploadStateFilter, WorkspaceFilter)
    search_fields = ("name", "material__material_set__order__platform_id")
    actions = ("upload_again",)
    annotations = FileAdmin.annotations | {"target_name": F("target__name")}

    name_ = column(_("file"), _name, "name")
    state = column(_("state"), state_badge)
    uploaded = moment_column(_("uploaded"), "uploaded_at")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow the list of one target, to which its page leads."""
        return lookup == "target__id__exact" or super().lookup_allowed(lookup, value, request)

    @action(description=_("Upload again"), permissions=["act"])
    def upload_again(self, request: HttpRequest, queryset: QuerySet[TargetFile]) -> None:
        """Have these files uploaded once more, also those that are there (POST only)."""
        self.note(request, queryset, sentence("Asked for it to be uploaded again."))
        count = target_files.try_again(queryset, now=timezone.now(), anew=True)
        text = ngettext(
            "A worker uploads %(count)s file.", "A worker uploads %(count)s files.", count
        )
        messages.success(request, text % {"count": number(count)})
