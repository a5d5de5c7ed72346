"""The list of downloaded files, with reasons for the missing ones, and *Try again*."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.ui.base import action
from crm_sync.admin.ui.cells import (
    badge,
    link,
    shortened,
    two_lines,
)
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import ConditionFilter, WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty
from crm_sync.sentence import sentence
from crm_sync.translated import Text, number
from orders.admin.file_rows import FileAdmin, name_of
from orders.admin.file_view import file_address
from orders.materials import file_requests
from orders.models import MaterialFile

STATES: dict[str, tuple[Text, str, Q]] = {
    "waiting": (_("To be downloaded"), "info", Q(due_at__isnull=False)),
    "stored": (_("Stored"), "good", Q(due_at=None) & ~Q(name="")),
    "problem": (_("Not downloaded"), "danger", Q(due_at=None, name="")),
}


def state_badge(row: MaterialFile) -> SafeString:
    """Show the state of a file."""
    key = "waiting" if row.due_at else "stored" if row.name else "problem"
    name, tone, __ = STATES[key]
    return badge(name, tone)


def _name(row: Any) -> SafeString:
    name = shortened(name_of(row), 60)
    shown = link(file_address(row), name) if row.name else name
    is_small = row.role == MaterialFile.Role.THUMBNAIL
    return two_lines(shown, gettext("Thumbnail") if is_small else "")


class FileStateFilter(ConditionFilter):
    """By the state of a file."""

    title = _("state")
    parameter_name = "state"
    conditions = {key: (name, rows) for key, (name, __, rows) in STATES.items()}


@admin.register(MaterialFile)
class MaterialFileAdmin(FileAdmin):
    """The files that are stored here, and those that are missing."""

    empty = Empty(
        _("No file is kept here"),
        _(
            "Files stay at the platform unless an operator has them downloaded"
            " (docs/operations.md, Files of what was delivered)."
        ),
    )
    list_display = ("name_", "order_", "state", "why", "next_try", "stored")
    fields = readonly_fields = list_display
    list_filter = (FileStateFilter, WorkspaceFilter)
    search_fields = ("material__file_name", "material__material_set__order__platform_id")
    actions = ("try_again",)

    name_ = column(_("file"), _name, "material__file_name")
    state = column(_("state"), state_badge)
    stored = moment_column(_("stored"), "stored_at")

    @action(description=_("Try again"), permissions=["act"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[MaterialFile]) -> None:
        """Have the lists of these files read again and the missing files downloaded (POST only)."""
        self.note(request, queryset, sentence("Asked for it to be downloaded again."))
        count = file_requests.try_again(queryset, now=timezone.now())
        text = ngettext(
            "A worker reads %(count)s list again, then downloads what is missing.",
            "A worker reads %(count)s lists again, then downloads what is missing.",
            count,
        )
        messages.success(request, text % {"count": number(count)})
