"""Name the files of materials in a way that can be translated."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("orders", "0013_names_of_orders")]

    operations = [
        migrations.AlterModelOptions(
            name="materialfile",
            options={"verbose_name": "material file", "verbose_name_plural": "material files"},
        ),
    ]
