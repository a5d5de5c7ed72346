"""The checks for drift, and the default schedules of both, where an operator can change them."""

import django.db.models.deletion
import django.utils.timezone
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

TASKS = (
    (
        "Drift: compare a sample with the platform",
        "properties.drift_sample",
        "Reads a few properties once an hour, counts what differs and makes due what nothing explains.",
    ),
    (
        "Drift: find properties that nobody made due",
        "properties.drift_sweep",
        "Goes through all our rows once a day, without a call to the platform.",
    ),
)


def add_checks(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Add both: they look every five minutes, and begin when an hour or a day has passed."""
    interval, _created = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=5, period="minutes"
    )
    for name, task, description in TASKS:
        apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
            name=name,
            defaults={
                "task": task,
                "interval": interval,
                "expire_seconds": 240,
                "description": description,
            },
        )


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0002_schedules'),
        ('django_celery_beat', '0019_alter_periodictasks_options'),
        ('properties', '0004_property_fed'),
    ]

    operations = [
        migrations.CreateModel(
            name='DriftCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('SAMPLE', 'Sample'), ('SWEEP', 'Sweep')], max_length=10)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('position', models.BigIntegerField(default=0, help_text='Key of the last row of a sweep so far')),
                ('compared', models.PositiveIntegerField(default=0)),
                ('differing', models.PositiveIntegerField(default=0)),
                ('unexplained', models.PositiveIntegerField(default=0, help_text='They differed though nothing was due and nothing waited for a person')),
                ('pending', models.PositiveIntegerField(default=0, help_text='Ours was on its way')),
                ('held', models.PositiveIntegerField(default=0, help_text='It waited for a person')),
                ('gone', models.PositiveIntegerField(default=0, help_text='The platform had no such property')),
                ('failed', models.PositiveIntegerField(default=0, help_text='They could not be compared')),
                ('fields', models.JSONField(blank=True, default=dict)),
                ('found', models.JSONField(blank=True, default=list)),
                ('stopped', models.CharField(blank=True, default='', help_text='Why before time', max_length=255)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='crm_sync.workspace')),
            ],
            options={
                'verbose_name': 'drift check',
                'indexes': [models.Index(fields=['workspace', 'kind', 'started_at'], name='drift_check_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('finished_at', None)), fields=('workspace', 'kind'), name='one_drift_check_under_way')],
            },
        ),
        migrations.RunPython(add_checks, migrations.RunPython.noop),
    ]
