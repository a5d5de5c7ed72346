"""The schedule that removes old rows says which setting it follows, unless an operator did."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

BEFORE = "Removes payload and headers after DELIVERY_KEEP_DAYS; the row stays."
NOW = "Removes what is older than KEEP_DAYS allows."


def describe(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Replace our own description."""
    tasks = apps.get_model("django_celery_beat", "PeriodicTask").objects
    tasks.filter(description=BEFORE).update(description=NOW)


class Migration(migrations.Migration):
    dependencies = [
        ("crm_sync", "0006_turns"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(describe, migrations.RunPython.noop)]
