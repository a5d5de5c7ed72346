"""The default schedules: in the database, so that what an operator edits stays (design §8)."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def add_tick(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Add the tick that finds everything due, every five seconds (design §2.1)."""
    interval, _created = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=5, period="seconds"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name="Tick: do what is due",
        defaults={
            "task": "crm_sync.tick",
            "interval": interval,
            "expire_seconds": 5,  # a tick that waited is worthless
            "description": "Finds every property, delivery and order that is due.",
        },
    )


class Migration(migrations.Migration):
    dependencies = [
        ("crm_sync", "0001_initial"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(add_tick, migrations.RunPython.noop)]
