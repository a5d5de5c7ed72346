"""The default schedule of the pull, where an operator can change it (design §8)."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def add_pull(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Add the pull: it looks every five minutes, and walks when an hour has passed."""
    interval, _created = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=5, period="minutes"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name="Pull: walk the platform's list of properties",
        defaults={
            "task": "properties.pull",
            "interval": interval,
            "expire_seconds": 240,
            "description": "Finds properties that are new, changed or gone on the platform.",
        },
    )


class Migration(migrations.Migration):
    dependencies = [
        ("properties", "0002_walks"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(add_pull, migrations.RunPython.noop)]
