"""The tiles count open orders and those with a problem without reading all orders."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0019_traceparent'),
        ('orders', '0019_operators_of_targets'),
        ('properties', '0028_goes_on'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='order',
            index=models.Index(condition=models.Q(('status__in', ['CANCELLED', 'COMPLETED']), _negated=True), fields=['workspace'], name='order_open'),
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(condition=models.Q(('problem', ''), _negated=True), fields=['-created_at', '-id'], name='order_with_problem'),
        ),
    ]
