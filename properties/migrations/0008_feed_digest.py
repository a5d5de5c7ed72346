"""What an import compares a record with, and which properties the last feed of the stock had."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crm_sync", "0002_schedules"), ("properties", "0007_import")]

    operations = [
        migrations.AddField(
            model_name="property",
            name="fed_digest",
            field=models.CharField(blank=True, default="", editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="property",
            name="fed_by",
            field=models.CharField(blank=True, editable=False, max_length=20, null=True),
        ),
        migrations.AddIndex(
            model_name="property",
            index=models.Index(
                condition=models.Q(("fed_by__isnull", False)),
                fields=["workspace", "fed_by", "object_reference_id", "fed_digest"],
                name="property_fed",
            ),
        ),
    ]
