"""The default schedule, in the database, so that what an operator edits stays."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def add_clearing(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Add the schedule that removes bytes and headers of old received events (S23)."""
    interval, _created = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=1, period="hours"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name="Received events: remove bytes that have had their time",
        defaults={
            "task": "crm_sync.clear_deliveries",
            "interval": interval,
            "expire_seconds": 1800,
            "description": "Removes payload and headers after DELIVERY_KEEP_DAYS; the row stays.",
        },
    )


class Migration(migrations.Migration):
    dependencies = [
        ("crm_sync", "0001_initial"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(add_clearing, migrations.RunPython.noop)]
