"""The admin screens of the platform side: connections, what came, schedules, accounts."""

from django.contrib import admin

from crm_sync.admin.accounts import GroupAdmin, UserAdmin, password_change
from crm_sync.admin.api_token import ApiTokenAdmin
from crm_sync.admin.gap import GapAdmin
from crm_sync.admin.login_failures import LoginFailureAdmin
from crm_sync.admin.login_form import LoginForm
from crm_sync.admin.outgoing import OutgoingMessageAdmin
from crm_sync.admin.platform_call import PlatformCallAdmin
from crm_sync.admin.received_event import ReceivedEventAdmin
from crm_sync.admin.schedules import CrontabScheduleAdmin, IntervalScheduleAdmin, PeriodicTaskAdmin
from crm_sync.admin.second_factor import SecondFactorAdmin
from crm_sync.admin.subscription import SubscriptionAdmin
from crm_sync.admin.ui.cells import EMPTY
from crm_sync.admin.webhook_monitor import WebhookMonitorAdmin
from crm_sync.admin.workspace import WorkspaceAdmin

__all__ = [
    "ApiTokenAdmin",
    "CrontabScheduleAdmin",
    "GapAdmin",
    "GroupAdmin",
    "IntervalScheduleAdmin",
    "LoginFailureAdmin",
    "OutgoingMessageAdmin",
    "PeriodicTaskAdmin",
    "PlatformCallAdmin",
    "ReceivedEventAdmin",
    "SecondFactorAdmin",
    "SubscriptionAdmin",
    "UserAdmin",
    "WebhookMonitorAdmin",
    "WorkspaceAdmin",
]

admin.site.password_change = password_change  # type: ignore[method-assign, assignment]
admin.site.login_form = LoginForm
admin.site.login_template = "crm_sync/login.html"
admin.site.index_template = "crm_sync/dashboard.html"
admin.site.index_title = "Overview"
admin.site.empty_value_display = EMPTY
