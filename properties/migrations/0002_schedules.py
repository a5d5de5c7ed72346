"""The default schedules, in the database, so that what an operator edits stays."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

TASKS = (
    (
        "Pull: walk the platform's list of properties",
        "properties.pull",
        "Finds properties that are new, changed or gone on the platform.",
    ),
    (
        "Drift: compare a sample with the platform",
        "properties.drift_sample",
        "Reads a few properties once an hour, counts what differs and makes due what nothing explains.",
    ),
    (
        "Drift: find properties that nobody made due",
        "properties.drift_sweep",
        "Goes through all our rows once a day, without a call to the platform.",
    ),
)


def add_tasks(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Add them: they look every five minutes, and begin when an hour or a day has passed."""
    interval, _created = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=5, period="minutes"
    )
    for name, task, description in TASKS:
        apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
            name=name,
            defaults={
                "task": task,
                "interval": interval,
                "expire_seconds": 240,
                "description": description,
            },
        )


class Migration(migrations.Migration):
    dependencies = [
        ("properties", "0001_initial"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(add_tasks, migrations.RunPython.noop)]
