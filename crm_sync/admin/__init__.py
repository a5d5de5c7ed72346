"""The admin screens of the platform side: workspaces, deliveries, schedules, accounts."""

from django.contrib import admin

from crm_sync import tiles  # noqa: F401 - adds itself to the dashboard
from crm_sync.admin.accounts import GroupAdmin, UserAdmin
from crm_sync.admin.delivery import DeliveryAdmin
from crm_sync.admin.schedules import CrontabScheduleAdmin, IntervalScheduleAdmin, PeriodicTaskAdmin
from crm_sync.admin.workspace import WorkspaceAdmin

__all__ = [
    "CrontabScheduleAdmin",
    "DeliveryAdmin",
    "GroupAdmin",
    "IntervalScheduleAdmin",
    "PeriodicTaskAdmin",
    "UserAdmin",
    "WorkspaceAdmin",
]

admin.site.index_template = "crm_sync/dashboard.html"
admin.site.index_title = "Overview"
