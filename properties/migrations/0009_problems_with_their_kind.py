"""What went wrong is stored with its kind; see `crm_sync.migrations._problems`."""

from collections.abc import Callable
from typing import Any

from django.db import migrations, models

from crm_sync.migrations import _problems
from crm_sync.models.problem import ProblemField


def convert(apps: Any, _: Any) -> None:
    _problems.convert(apps.get_model("properties", "Property").objects.all(), "last_answer")
    _problems.convert(apps.get_model("properties", "Recurring").objects.all(), "problem")
    _change_refusals(apps, _problems.kinded)


def revert(apps: Any, _: Any) -> None:
    _problems.revert(apps.get_model("properties", "Property").objects.all(), "last_answer")
    _problems.revert(apps.get_model("properties", "Recurring").objects.all(), "problem")
    _change_refusals(apps, _problems.plain)


def _change_refusals(apps: Any, change: Callable[[Any], Any]) -> None:
    """Change the message that stands at the property as a whole, which may hold a call."""

    def changed(problem: Any) -> Any:
        refused = problem["REFUSED"]
        whole = {"": change(refused[""])} if "" in refused else {}
        return problem | {"REFUSED": refused | whole}

    rows = apps.get_model("properties", "Property").objects.filter(problem__has_key="REFUSED")
    _problems.each(rows, "problem", changed)


class Migration(migrations.Migration):
    dependencies = [("properties", "0008_urgent")]

    operations = [
        migrations.AlterField(
            "property", "last_answer", models.TextField(blank=True, default="", editable=False)
        ),
        migrations.RunPython(convert, revert),
        # The column is the same text.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    "property", "last_answer", ProblemField(blank=True, default="", editable=False)
                ),
                migrations.AlterField(
                    "recurring",
                    "problem",
                    ProblemField(blank=True, default="", help_text="Why the last try failed"),
                ),
            ]
        ),
    ]
