"""The words by which a property is found; 0012 fills them for the rows that are there."""

from django.db import migrations

from properties.models.search_column import SearchField, SearchIndex


class Migration(migrations.Migration):
    dependencies = [("properties", "0010_held")]

    operations = [
        migrations.AddField(
            "property", "search", SearchField(db_default="", default="", editable=False)
        ),
        migrations.AddIndex(
            "property",
            SearchIndex(
 fields=["workspace", "object_reference_id", "id", "search"], name="property_search"
),
        ),
    ]
