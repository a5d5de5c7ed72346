"""The schedules of django-celery-beat in the style of the admin, without solar and clocked ones."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django_celery_beat.admin import CrontabScheduleAdmin as BeatCrontabScheduleAdmin
from django_celery_beat.admin import PeriodicTaskAdmin as BeatPeriodicTaskAdmin
from django_celery_beat.admin import PeriodicTaskForm, TaskSelectWidget
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from crm_sync.admin.ui.base import ModelAdmin, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

for _model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(_model)


class TaskSelect(UnfoldAdminSelectWidget, TaskSelectWidget):  # type: ignore[misc]
    """A select with the registered tasks."""


class ScheduleForm(PeriodicTaskForm):  # type: ignore[misc]
    """The form of django-celery-beat, with our style for its two inputs of the task."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, widget in (("task", UnfoldAdminTextInputWidget()), ("regtask", TaskSelect())):
            if name in self.fields:
                self.fields[name].widget = widget


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(BeatPeriodicTaskAdmin, ModelAdmin):  # type: ignore[misc]
    """The periodic tasks. The edits of an operator are kept."""

    form = ScheduleForm
    list_display = ("name", "enabled", "scheduler", "last_run_at")
    list_filter = ()
    date_hierarchy = None
    fieldsets = (
        (None, {"fields": ("name", "regtask", "task", "enabled", "description")}),
        ("Schedule", {"fields": ("interval", "crontab", "start_time", "last_run_at", "one_off")}),
        ("Arguments", {"fields": ("args", "kwargs"), "classes": ("collapse",)}),
        (
            "Execution",
            {
                "fields": ("expires", "expire_seconds", "queue", "priority"),
                "classes": ("collapse",),
            },
        ),
    )

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Allow actions only to editors (S17): django-celery-beat gives them to viewers too."""
        return dict(super().get_actions(request)) if self.has_change_permission(request) else {}


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(ModelAdmin):
    """Schedules with a fixed interval."""


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(BeatCrontabScheduleAdmin, ModelAdmin):  # type: ignore[misc]
    """Schedules at set times."""

    inlines = ()
