"""The admin screens of the platform side: connections, received events, schedules, accounts."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from crm_sync.admin.accounts.login_failures import LoginFailureAdmin
from crm_sync.admin.accounts.login_form import LoginForm
from crm_sync.admin.accounts.second_factor import SecondFactorAdmin
from crm_sync.admin.accounts.users import GroupAdmin, UserAdmin, password_change
from crm_sync.admin.api_token import ApiTokenAdmin
from crm_sync.admin.outgoing.message import OutgoingMessageAdmin
from crm_sync.admin.outgoing.subscription import SubscriptionAdmin
from crm_sync.admin.platform_call import PlatformCallAdmin
from crm_sync.admin.received_event.received_event_admin import ReceivedEventAdmin
from crm_sync.admin.schedules import CrontabScheduleAdmin, IntervalScheduleAdmin, PeriodicTaskAdmin
from crm_sync.admin.ui.cells import EMPTY
from crm_sync.admin.workspace.workspace_admin import WorkspaceAdmin

admin.site.password_change = password_change  # type: ignore[method-assign, assignment]
admin.site.login_form = LoginForm
admin.site.login_template = "crm_sync/accounts/login.html"
admin.site.index_template = "crm_sync/overview/dashboard.html"
admin.site.index_title = _("Overview")
admin.site.empty_value_display = EMPTY
