"""What ended a conflict where no person decided it, and that both sides agree."""

from django.db import migrations, models

ORIGINS = [
    ("ADMIN", "Admin"),
    ("FEED", "Feed"),
    ("MISSING", "Missing in its feed"),
    ("API", "Our own code"),
    ("HTTP_API", "API"),
    ("PLATFORM", "Platform"),
]
DECISIONS = [
    ("", "Open"),
    ("OURS", "Ours"),
    ("THEIRS", "Theirs"),
    ("BOTH", "From both"),
    ("AGREED", "Both agree"),
]


class Migration(migrations.Migration):
    dependencies = [("properties", "0004_references")]

    operations = [
        migrations.AlterField(
            model_name="conflict",
            name="decision",
            field=models.CharField(blank=True, choices=DECISIONS, default="", max_length=6),
        ),
        migrations.AddField(
            model_name="conflict",
            name="origin",
            field=models.CharField(
                blank=True, choices=ORIGINS, db_default="", default="", editable=False, max_length=10
            ),
        ),
    ]
