"""The index by which properties without an open order are found."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0010_named_views'),
        ('orders', '0010_zone_answered'),
        ('properties', '0016_filters'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='order',
            index=models.Index(fields=['real_estate_property', 'status'], name='order_of_property'),
        ),
    ]
