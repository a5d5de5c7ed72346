"""Fills the words of the search. If it is interrupted, it goes on at the rows without words.

Each batch is a transaction of its own, so that edits wait for a batch at most. A row that is edited
in between has its words already, and keeps them.
"""

from typing import Any

from django.db import migrations, transaction

from properties.models.search_column import text_of

TOGETHER = 500  # rows
READ = ("pk", "revision", "desired", "object_reference_id", "platform_id")


def fill(apps: Any, _: Any) -> None:
    rows = apps.get_model("properties", "Property").objects.filter(search="")
    after = 0
    while found := list(rows.filter(pk__gt=after).order_by("pk").only(*READ)[:TOGETHER]):
        with transaction.atomic():
            for row in found:
                same = rows.filter(pk=row.pk, revision=row.revision)
                same.update(search=text_of(row))
        after = found[-1].pk


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("properties", "0011_search")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
