"""What went wrong is stored with its kind; see `crm_sync.migrations._problems`."""

from typing import Any

from django.db import migrations

from crm_sync.migrations import _problems
from crm_sync.models.problem import ProblemField

MODELS = ("Order", "Assignment", "MaterialSet", "Placement", "UserList")


def convert(apps: Any, _: Any) -> None:
    for name in MODELS:
        _problems.convert(apps.get_model("orders", name).objects.all(), "problem")


def revert(apps: Any, _: Any) -> None:
    for name in MODELS:
        _problems.revert(apps.get_model("orders", name).objects.all(), "problem")


class Migration(migrations.Migration):
    dependencies = [("orders", "0007_visual_types")]

    operations = [
        migrations.RunPython(convert, revert),
        # The column is the same text.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *(
                    migrations.AlterField(model, "problem", ProblemField(blank=True, default=""))
                    for model in ("order", "assignment", "materialset", "placement")
                ),
                migrations.AlterField(
                    "userlist",
                    "problem",
                    ProblemField(blank=True, default="", help_text="Why the last read failed"),
                ),
            ]
        ),
    ]
