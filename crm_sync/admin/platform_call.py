"""The logged calls to the platform: request, answer and duration."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import ChoicesDropdownFilter
from crm_sync.admin.ui.cells import (
    EMPTY,
    badge,
    exact_moment,
    link,
    page_at,
    shortened,
    two_lines,
    unbroken,
)
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.payload import indented
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.models import PlatformCall
from crm_sync.platform.problems import explain
from crm_sync.translated import number

Result = PlatformCall.Result
TONES = {
    Result.OK: "good",
    Result.NOT_FOUND: "muted",
    Result.REFUSED: "danger",
    Result.AUTH: "danger",
    Result.BUSY: "warning",
    Result.FAILED: "danger",
    Result.NO_ANSWER: "danger",
}


def _result(row: PlatformCall) -> SafeString:
    result = Result(row.result)
    status = f" {row.status}" if row.status else ""
    return badge(f"{result.label}{status}", TONES[result])


def _duration(row: PlatformCall) -> str:
    return gettext("%(count)s ms") % {"count": number(row.milliseconds)}


def _said(row: PlatformCall) -> SafeString | str:
    """Show the platform's own words about the problem, or else our sentence."""
    text = row.problem.words or explain(row.problem).sentence
    return shortened(text, 120) if text else ""


def _row(row: PlatformCall) -> SafeString | str:
    """Link the row that the call was for. Its page checks the permission."""
    label, __, key = row.about.partition(":")
    if not key:
        return EMPTY
    try:
        name = apps.get_model(label)._meta.verbose_name
    except (LookupError, ValueError):  # the app is no longer installed
        name = label.partition(".")[2]
    return link(page_at(label, key), f"{name} {key}")


@admin.register(PlatformCall)
class PlatformCallAdmin(ReadOnlyAdmin):
    """Calls that `models.call_log` writes. They are removed by age and number."""

    empty = Empty(
        _("No call was kept"),
        _(
            "Calls that failed are listed here for some days. PLATFORM_CALLS=all keeps every call,"
            " PLATFORM_CALLS=off none."
        ),
    )
    change_form_template = "crm_sync/platform_call.html"
    list_display = ("call", "result_", "took", "about_", "when")
    list_filter = (("result", ChoicesDropdownFilter), WorkspaceFilter)
    search_fields = ("=request_id",)
    search_help_text = _("The id in the log")
    ordering = ("-pk",)

    call = column(_("call"), lambda row: two_lines(f"{row.method} {row.address[:120]}", _said(row)))
    result_ = column(_("result"), _result, "result")
    took = column(_("duration"), lambda row: unbroken(_duration(row)), "milliseconds")
    about_ = column(_("row"), _row)
    when = moment_column(_("when"), "at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Do not load the bodies."""
        return super().get_queryset(request).defer("sent", "answer")

    def page_context(self, request: HttpRequest, call: Any) -> dict[str, Any]:
        return {
            "badge": _result(call),
            "problem": explain(call.problem) if call.problem else None,
            "sent": indented(call.sent),
            "answer": indented(call.answer),
            "facts": [
                (gettext("Workspace"), call.workspace_slug),
                (gettext("When"), exact_moment(call.at, timezone.now())),
                (gettext("Duration"), _duration(call)),
                (gettext("Row"), _row(call)),
                (gettext("Attempt"), call.attempt or EMPTY),
                (gettext("Id in the log"), call.request_id or EMPTY),
            ],
        }
