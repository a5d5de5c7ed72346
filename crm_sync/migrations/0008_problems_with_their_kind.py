"""What went wrong is stored with its kind; see `_problems`."""

from django.db import migrations

from crm_sync.migrations import _problems
from crm_sync.models.problem import ProblemField


class Migration(migrations.Migration):
    dependencies = [("crm_sync", "0007_days_in_one_setting")]

    operations = [
        _problems.conversion("crm_sync", "Workspace", "PlatformCall", "WebhookMonitor"),
        # The column is the same text.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    "workspace", "problem", ProblemField(blank=True, default="", editable=False)
                ),
                migrations.AlterField(
                    "platformcall", "problem", ProblemField(blank=True, default="")
                ),
                migrations.AlterField(
                    "webhookmonitor",
                    "problem",
                    ProblemField(blank=True, default="", help_text="Why the last poll failed"),
                ),
            ]
        ),
    ]
