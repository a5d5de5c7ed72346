"""In the timeline a visual type stands beside its product, and states have short names."""

from typing import Any

from django.db import migrations, models
from django.db.models import Value
from django.db.models.functions import Concat, StrIndex, Substr

STATES = {
    "DRAFT": "Draft",
    "READY": "Ready to send",
    "SENDING": "Sending",
    "PLACED": "Placed",
    "UNCERTAIN": "Uncertain",
    "FAILED": "Failed",
}
BLANK = Value(" ")


def apart(apps: Any, _: Any) -> None:
    """Write "DRONE PHOTO" as two values; what has more blanks stays, and is shown as it is."""
    lines = apps.get_model("orders", "StatusChange").objects.filter(fact="MATERIALS", new_name="")
    first = StrIndex("new", BLANK)
    lines.filter(new__regex=r"^[^ ]+ [^ ]+$").update(
        new=Substr("new", 1, first - 1), new_name=Substr("new", first + 1)
    )


def together(apps: Any, _: Any) -> None:
    """Write both into one column again."""
    lines = apps.get_model("orders", "StatusChange").objects.filter(fact="MATERIALS")
    lines.exclude(new_name="").update(new=Concat("new", BLANK, "new_name"), new_name="")


class Migration(migrations.Migration):
    dependencies = [("orders", "0006_values_of_the_timeline")]

    operations = [
        migrations.AlterField(
            "placement",
            "state",
            models.CharField(choices=[*STATES.items()], default="DRAFT", max_length=10),
        ),
        migrations.RunPython(apart, together),
    ]
