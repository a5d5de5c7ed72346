from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('properties', '0023_note_of_a_change'),
    ]

    operations = [
        migrations.AlterField(
            model_name='driftcheck',
            name='stopped',
            field=models.TextField(blank=True, default='', help_text='Why before time'),
        ),
    ]
