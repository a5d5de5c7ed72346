"""The admin screens of the platform side: connections, what came, schedules, accounts."""

from django.contrib import admin

from crm_sync.admin import tiles  # noqa: F401 - adds itself to the dashboard
from crm_sync.admin.accounts import GroupAdmin, UserAdmin
from crm_sync.admin.delivery import DeliveryAdmin
from crm_sync.admin.gap import GapAdmin
from crm_sync.admin.schedules import CrontabScheduleAdmin, IntervalScheduleAdmin, PeriodicTaskAdmin
from crm_sync.admin.watch import WatchAdmin
from crm_sync.admin.workspace import WorkspaceAdmin

__all__ = [
    "CrontabScheduleAdmin",
    "DeliveryAdmin",
    "GapAdmin",
    "GroupAdmin",
    "IntervalScheduleAdmin",
    "PeriodicTaskAdmin",
    "UserAdmin",
    "WatchAdmin",
    "WorkspaceAdmin",
]

admin.site.index_template = "crm_sync/dashboard.html"
admin.site.index_title = "Overview"
