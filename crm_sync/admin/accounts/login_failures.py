"""Failed logins. A superuser can unlock a name at once (S17)."""

from axes.models import AccessAttempt
from django.apps import apps
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _, ngettext

from crm_sync.admin.ui.base import action
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.sentence import sentence
from crm_sync.translated import number

apps.get_app_config("axes").verbose_name = _("Failed logins")
AccessAttempt.__str__ = lambda row: row.username or ""
_names = AccessAttempt._meta
_names.verbose_name, _names.verbose_name_plural = _("failed login"), _("failed logins")


@admin.register(AccessAttempt)
class LoginFailureAdmin(ReadOnlyAdmin):
    """Rows of django-axes. The next successful login removes a row, and so does *Unlock*."""

    workspace_path = None
    empty = Empty(
        _("Nobody has failed to log in"),
        _("A name with a wrong password or code is listed here until its next successful login."),
    )
    list_display = ("name", "address", "failures", "browser", "last")
    list_display_links = None
    search_fields = ("username", "ip_address")
    ordering = ("-attempt_time",)
    fields = ("name", "address", "failures", "browser", "last")
    actions = ("unlock",)

    name = column(_("name"), lambda row: row.username or "", "username")
    address = column(_("address"), lambda row: row.ip_address or "", "ip_address")
    failures = column(_("failures"), lambda row: row.failures_since_start, "failures_since_start")
    browser = column(_("browser"), lambda row: row.user_agent[:80])
    last = moment_column(_("last"), "attempt_time")

    @action(description=_("Unlock"), permissions=["act"])
    def unlock(self, request: HttpRequest, queryset: QuerySet[AccessAttempt]) -> None:
        """Delete the failures, so that these people can log in again (POST only)."""
        self.note(request, queryset, sentence("Unlocked."))
        count, __ = queryset.order_by().delete()
        text = ngettext("%(count)s login is unlocked.", "%(count)s logins are unlocked.", count)
        messages.success(request, text % {"count": number(count)})
