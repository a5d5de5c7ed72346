"""Why a received event is stuck becomes a kind and what it is about; older texts stay as they are."""

from typing import Any

from django.db import migrations, models

STUCK = ("EARLY", "FAILED", "QUARANTINED")


def keep_the_texts(apps: Any, _: Any) -> None:
    """Give the stuck events of older versions the kind whose cause is its own text."""
    rows = apps.get_model("crm_sync", "ReceivedEvent").objects
    # Along the partial index of what is stuck; what is settled shows no cause.
    rows.filter(state__in=STUCK).exclude(cause="").update(problem_kind="OTHER")


class Migration(migrations.Migration):
    dependencies = [("crm_sync", "0004_take_over_apps")]

    operations = [
        migrations.AddField(
            "receivedevent",
            "problem_kind",
            models.CharField(blank=True, db_default="", default="", max_length=20),
        ),
        migrations.AlterField(
            "receivedevent",
            "cause",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="What the problem is about, such as a field",
                max_length=200,
            ),
        ),
        migrations.RemoveIndex("receivedevent", "received_event_cause"),
        migrations.AddIndex(
            "receivedevent",
            models.Index(
                condition=models.Q(("state__in", STUCK)),
                fields=["state", "problem_kind", "cause"],
                name="received_event_cause",
            ),
        ),
        migrations.RunPython(keep_the_texts, migrations.RunPython.noop),
    ]
