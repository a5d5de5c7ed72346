"""A property may wait because a person holds pushes."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('properties', '0009_problems_with_their_kind'),
    ]

    operations = [
        migrations.AlterField(
            model_name='property',
            name='wait_reason',
            field=models.CharField(blank=True, choices=[('PARENT', 'its parent is created first'), ('CREATION', 'its creation got no answer and may still come'), ('VERIFICATION', 'an earlier call may still land; it is read once more then'), ('PAUSE', 'the workspace is paused'), ('HELD', 'a person holds pushes of the workspace'), ('FAILURE', 'the last attempt failed')], default='', editable=False, max_length=20),
        ),
    ]
