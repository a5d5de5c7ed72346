"""Lines of the timeline hold values: moments in ISO 8601, and names apart from ids."""

from typing import Any

from django.db import migrations, models
from django.db.models import F, Q, Value
from django.db.models.functions import Replace

UTC = " UTC"
CHUNK = 500


def to_values(apps: Any, _: Any) -> None:
    """Write "2026-11-25 09:00 UTC" as "2026-11-25T09:00+00:00", and names into their columns."""
    lines = apps.get_model("orders", "StatusChange").objects.order_by()
    for column in ("previous", "new"):
        moment = Replace(Replace(F(column), Value(UTC), Value("+00:00")), Value(" "), Value("T"))
        worded = lines.filter(fact="APPOINTMENT", **{f"{column}__endswith": UTC})
        worded.update(**{column: moment})
    # An event told the id of a photographer, a read the name, or the id where it knew no name.
    booked = lines.filter(fact="PHOTOGRAPHER")
    ids = set(booked.filter(source="CALLBACK").values_list("order", "new"))
    read = booked.exclude(source="CALLBACK").exclude(Q(previous="") & Q(new=""))
    columns = ["previous", "new", "previous_name", "new_name"]
    changed = list(read.only("order", *columns))
    for line in changed:
        for column in ("previous", "new"):
            text = getattr(line, column)
            if (line.order_id, text) not in ids:
                setattr(line, column, "")
                setattr(line, f"{column}_name", text)
    lines.bulk_update(changed, columns, batch_size=CHUNK)


class Migration(migrations.Migration):
    dependencies = [("orders", "0005_withdrawn")]

    operations = [
        migrations.AddField(
            "statuschange",
            "previous_name",
            models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
        migrations.AddField(
            "statuschange",
            "new_name",
            models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
        migrations.RunPython(to_values, migrations.RunPython.noop),
    ]
