"""Fills the keys by which properties are matched. If it is interrupted, it starts again.

Each batch is a transaction of its own, so that edits wait for a batch at most. A row that is edited
in between has its keys already, and keeps them.
"""

from typing import Any

from django.db import migrations, transaction

from properties.models.match_columns import keys_of

TOGETHER = 500  # rows
READ = ("pk", "revision", "desired")


def fill(apps: Any, _: Any) -> None:
    rows = apps.get_model("properties", "Property").objects
    after = 0
    while found := list(rows.filter(pk__gt=after).order_by("pk").only(*READ)[:TOGETHER]):
        with transaction.atomic():
            for row in found:
                keys = keys_of(row.desired)
                if any(keys.values()):
                    rows.filter(pk=row.pk, revision=row.revision).update(**keys)
        after = found[-1].pk


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("properties", "0017_matching")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
