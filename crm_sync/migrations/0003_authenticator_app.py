"""The apps of second factors, with their keys encrypted (S5)."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import crm_sync.models.second_factor
import crm_sync.secrets


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0002_schedules'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AuthenticatorApp',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='The human-readable name of this device.', max_length=64)),
                ('confirmed', models.BooleanField(default=True, help_text='Is this device ready for use?')),
                ('throttling_failure_timestamp', models.DateTimeField(blank=True, default=None, help_text='A timestamp of the last failed verification attempt. Null if last attempt succeeded.', null=True)),
                ('throttling_failure_count', models.PositiveIntegerField(default=0, help_text='Number of successive failed attempts.')),
                ('created_at', models.DateTimeField(auto_now_add=True, help_text='The date and time when this device was initially created in the system.', null=True)),
                ('last_used_at', models.DateTimeField(blank=True, help_text='The most recent date and time this device was used.', null=True)),
                ('key', crm_sync.secrets.EncryptedTextField(default=crm_sync.models.second_factor.new_key, editable=False)),
                ('drift', models.SmallIntegerField(default=0, editable=False)),
                ('last_t', models.BigIntegerField(default=-1, editable=False)),
                ('user', models.ForeignKey(help_text='The user that this device belongs to.', on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'second factor',
            },
        ),
    ]
