"""The periodic tasks in the file, with their interval or crontab."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from celery import current_app
from django.core.exceptions import ValidationError
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from crm_sync.configured import (
    ConfiguredItem,
    ConfiguredRows,
    Faults,
    ItemKind,
    Known,
    Values,
    column_faults,
    item,
)
from crm_sync.json_values import read_json

PERIODS = tuple(name for name, _ in IntervalSchedule._meta.get_field("period").choices)
CRONTAB = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
PLAIN = (
    *("name", "task", "enabled", "description", "args", "kwargs", "queue", "priority"),
    *("expires", "expire_seconds", "one_off", "start_time"),
)
ITEMS = (
    item(PeriodicTask, "name"),
    item(PeriodicTask, "task"),
    item(PeriodicTask, "enabled", ItemKind.YES_NO),
    ConfiguredItem("every", ItemKind.TEXT, ""),
    ConfiguredItem("crontab", ItemKind.TEXT, ""),
    ConfiguredItem("timezone", ItemKind.TEXT, "UTC"),
    item(PeriodicTask, "description", default=""),
    item(PeriodicTask, "args"),
    item(PeriodicTask, "kwargs"),
    item(PeriodicTask, "queue", default=None),
    item(PeriodicTask, "priority", ItemKind.WHOLE, default=None),
    item(PeriodicTask, "expires", ItemKind.MOMENT, default=None),
    item(PeriodicTask, "expire_seconds", ItemKind.WHOLE, default=None),
    item(PeriodicTask, "one_off", ItemKind.YES_NO, default=False),
    item(PeriodicTask, "start_time", ItemKind.MOMENT, default=None),
)
# The tasks that each installation has by itself: ours, and one of Celery's.
BY_ITSELF: dict[str, dict[str, Any]] = {
    "crm_sync.clear_deliveries": {"every": "1 hours"},
    "celery.backend_cleanup": {"crontab": "0 4 * * *"},
}
_OF_NO_WEIGHT = frozenset({"name", "task", "description", "timezone", "expire_seconds"})


def rows(_: int) -> Iterator[tuple[int, Values]]:
    """Yield the tasks with an interval or a crontab by their names; we offer no others."""
    found = PeriodicTask.objects.filter(solar=None, clocked=None)
    for row in sorted(found.select_related("interval", "crontab"), key=lambda row: row.name):
        yield row.pk, _values(row)


def _values(row: Any) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in PLAIN}
    every = f"{row.interval.every} {row.interval.period}" if row.interval else ""
    parts = [str(getattr(row.crontab, one, "")).replace(" ", "") for one in CRONTAB]
    crontab = " ".join(parts) if row.crontab else ""
    zone = str(row.crontab.timezone) if row.crontab else "UTC"
    return {**values, "every": every, "crontab": crontab, "timezone": zone}


def _is_untouched(values: Values) -> bool:
    """Return whether nobody has changed a task that each installation has."""
    mine = BY_ITSELF.get(values["task"])
    usual = {one.name: one.default for one in ITEMS} | (mine or {})
    return mine is not None and all(
        values[name] == value for name, value in usual.items() if name not in _OF_NO_WEIGHT
    )


def faults(values: Values, _: Values, __: Known) -> Faults:
    """Yield what beat cannot run."""
    yield from column_faults(PeriodicTask, {name: values[name] for name in PLAIN})
    if bool(values["every"]) == bool(values["crontab"]):
        yield "every", "expected either every, such as 10 minutes, or crontab"
    elif values["every"]:
        yield from _interval_faults(values["every"])
    elif values["crontab"]:
        yield from _crontab_faults(values)
    for name, kind in (("args", list), ("kwargs", dict)):
        try:
            is_fit = isinstance(read_json(values[name]), kind)
        except ValueError:
            is_fit = False
        if not is_fit:
            yield name, f"expected JSON: {'a list' if kind is list else 'an object'}"
    if values["expires"] and values["expire_seconds"] is not None:
        yield "expires", "expected either expires or expire_seconds; the other one is null"
    current_app.loader.import_default_modules()
    if values["task"] not in current_app.tasks:
        ours = [name for name in sorted(current_app.tasks) if not name.startswith("celery.")]
        yield "task", f"is no task of this installation; expected one of {', '.join(ours)}"


def _interval_faults(text: str) -> Faults:
    found = _interval(text)
    if found is None:
        yield "every", f"expected a number and one of {', '.join(PERIODS)}"
    elif not has_next_time(IntervalSchedule(every=found[0], period=found[1])):
        yield "every", "expected a time that comes"


def has_next_time(schedule: Any) -> bool:
    """Return whether an interval or a crontab has a time at which its tasks run next.

    Beat ends at an interval that reaches beyond the last year, and passes over a day that no month
    has.
    """
    try:
        schedule.schedule.remaining_estimate(timezone.now())
    except (OverflowError, ValueError):
        return False
    return True


def _crontab_faults(values: Values) -> Faults:
    parts = values["crontab"].split(" ")
    if len(parts) != len(CRONTAB):
        yield "crontab", f"expected five parts with one blank between: {', '.join(CRONTAB)}"
        return
    if values["timezone"] not in available_timezones():
        yield "timezone", "expected a zone such as Europe/Zurich"
        return
    crontab = CrontabSchedule(**dict(zip(CRONTAB, parts, strict=True)))
    try:
        crontab.clean_fields()
    except ValidationError as error:
        yield "crontab", " ".join(error.messages)
    else:
        if not has_next_time(crontab):
            yield "crontab", "expected a day that comes"


def _interval(text: str) -> tuple[int, str] | None:
    number, _, period = text.partition(" ")
    is_number = number.isascii() and number.isdecimal() and 0 < int(number[:10]) < 2**31
    is_plain = is_number and number == str(int(number)) and period in PERIODS
    return (int(number), period) if is_plain else None


def make(_: int, values: Values, __: datetime) -> int:
    """Add a task."""
    row = PeriodicTask(**{name: values[name] for name in PLAIN}, **_when(values))
    row.save(force_insert=True)  # its signals let beat read the schedules again
    return int(row.pk)


def change(_: int, key: Any, values: Values, __: datetime) -> None:
    """Change a task, and when it runs."""
    row = PeriodicTask.objects.select_related("interval", "crontab").get(pk=key)
    now = _values(row) | dict(values)
    for name, value in {**{one: now[one] for one in PLAIN}, **_when(now)}.items():
        setattr(row, name, value)
    row.save()


def _when(values: Values) -> dict[str, Any]:
    """Return the columns with the schedule, which is shared by all tasks that have the same."""
    if interval := _interval(values["every"]):
        every, period = interval
        same = IntervalSchedule.objects.filter(every=every, period=period).order_by("pk").first()
        return {
            "interval": same or IntervalSchedule.objects.create(every=every, period=period),
            "crontab": None,
        }
    parts = dict(zip(CRONTAB, values["crontab"].split(" "), strict=True))
    parts["timezone"] = values["timezone"]
    same = CrontabSchedule.objects.filter(**parts).order_by("pk").first()
    return {"interval": None, "crontab": same or CrontabSchedule.objects.create(**parts)}


SCHEDULES = ConfiguredRows(
    name="schedules",
    noun="schedule",
    items=ITEMS,
    key=("name",),
    rows=rows,
    make=make,
    change=change,
    faults=faults,
    title=lambda values: str(values["name"]),
    is_untouched=_is_untouched,
    is_of_workspace=False,
)
