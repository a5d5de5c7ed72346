"""The schedules of django-celery-beat in the style of the admin, without solar and clocked ones."""

from typing import Any

from cron_descriptor import (
    FormatException,
    MissingFieldException,
    Options,
    WrongArgumentException,
    get_description as described,
)
from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import get_language, gettext_lazy as _
from django_celery_beat.admin import (
    CrontabScheduleAdmin as BeatCrontabScheduleAdmin,
    PeriodicTaskAdmin as BeatPeriodicTaskAdmin,
    PeriodicTaskForm,
    TaskSelectWidget,
)
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from crm_sync.admin.ui.base import (
    ModelAdmin,
    ModelForm,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)
from crm_sync.admin.ui.cells import EMPTY
from crm_sync.admin.ui.columns import column
from crm_sync.configuration.schedule_rows import has_next_time

LOCALES = {"de": "de_DE", "fr": "fr_FR", "it": "it_IT"}  # of cron_descriptor, by language

for _model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(_model)


def in_words(row: CrontabSchedule) -> str:
    """Return the times of a crontab in the language of the reader."""
    options = Options()
    options.locale_code = LOCALES.get((get_language() or "")[:2], "en_US")
    options.use_24hour_time_format = True
    parts = (row.minute, row.hour, row.day_of_month, row.month_of_year, row.day_of_week)
    try:
        text = described(" ".join(part.replace(" ", "") for part in parts), options)
    except (FormatException, MissingFieldException, WrongArgumentException):
        return str(row)
    return f"{text} {row.timezone}"


class TaskSelect(UnfoldAdminSelectWidget, TaskSelectWidget):  # type: ignore[misc]
    """A select with the registered tasks."""


class ScheduleForm(PeriodicTaskForm):  # type: ignore[misc]
    """The form of django-celery-beat, with our style for its two inputs of the task."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, widget in (("task", UnfoldAdminTextInputWidget()), ("regtask", TaskSelect())):
            if name in self.fields:
                self.fields[name].widget = widget
        if "crontab" in self.fields:
            self.fields["crontab"].label_from_instance = in_words

    def validate_unique(self) -> None:
        """Require one schedule. The model says it in English only."""
        if bool(self.instance.interval) == bool(self.instance.crontab):
            self.add_error(None, forms.ValidationError(_("Choose an interval or a crontab.")))
        else:
            super().validate_unique()


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(BeatPeriodicTaskAdmin, ModelAdmin):  # type: ignore[misc]
    """The periodic tasks. The edits of an operator are kept."""

    form = ScheduleForm
    change_form_template = None  # theirs adds the crontab in English
    list_display = ("name", "enabled", "scheduler_", "last_run_at")
    list_filter = ()
    date_hierarchy = None
    fieldsets = (
        (None, {"fields": ("name", "regtask", "task", "enabled", "description")}),
        (
            _("Schedule"),
            {"fields": ("interval", "crontab", "start_time", "last_run_at", "one_off")},
        ),
        (_("Arguments"), {"fields": ("args", "kwargs"), "classes": ("collapse",)}),
        (
            _("Execution"),
            {
                "fields": ("expires", "expire_seconds", "queue", "priority"),
                "classes": ("collapse",),
            },
        ),
    )

    scheduler_ = column(
        _("schedule"),
        lambda row: in_words(row.crontab) if row.crontab else row.interval or EMPTY,
    )

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Allow actions only to editors (S17): django-celery-beat gives them to viewers too."""
        return dict(super().get_actions(request)) if self.has_change_permission(request) else {}


class TimesForm(ModelForm):
    """Refuses an interval or a crontab at which beat would end, or that it would pass over."""

    def validate_unique(self) -> None:
        """Require a next time, of what each field takes."""
        super().validate_unique()
        if not self.errors and not has_next_time(self.instance):
            self.add_error(None, forms.ValidationError(_("This time never comes.")))


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(ModelAdmin):
    """Schedules with a fixed interval."""

    form = TimesForm


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(BeatCrontabScheduleAdmin, ModelAdmin):  # type: ignore[misc]
    """Schedules at set times."""

    form = TimesForm
    inlines = ()
    list_display = ("__str__", "times")
    fields = ("times", "minute", "hour", "day_of_month", "month_of_year", "day_of_week", "timezone")
    readonly_fields = ("times",)

    times = column(_("times"), in_words)
