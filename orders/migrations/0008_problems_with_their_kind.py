"""What went wrong is stored with its kind; see `crm_sync.migrations._problems`."""

from django.db import migrations

from crm_sync.migrations import _problems
from crm_sync.models.problem import ProblemField


class Migration(migrations.Migration):
    dependencies = [("orders", "0007_visual_types")]

    operations = [
        _problems.conversion("orders", "Order", "Assignment", "MaterialSet", "Placement", "UserList"),
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
