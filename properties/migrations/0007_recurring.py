"""Pull, sample and sweep are due rows of each workspace; their schedules and turns go."""

from datetime import timedelta

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone

TASKS = ("properties.pull", "properties.drift_sample", "properties.drift_sweep")
HOUR, DAY = timedelta(hours=1), timedelta(hours=24)


def begin(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Give each workspace its rows, due as long after the last time as the schedules had it."""
    walks = apps.get_model("properties", "Walk").objects
    checks = apps.get_model("properties", "DriftCheck").objects
    last = {
        "PULL": (HOUR, walks.filter(finished_at__isnull=False), "finished_at"),
        "SAMPLE": (HOUR, checks.filter(kind="SAMPLE"), "started_at"),
        "SWEEP": (DAY, checks.filter(kind="SWEEP", finished_at__isnull=False), "started_at"),
    }
    recurring = apps.get_model("properties", "Recurring")
    workspaces = list(apps.get_model("crm_sync", "Workspace").objects.values_list("pk", flat=True))
    for kind, (every, rows, column) in last.items():
        newest = dict(rows.order_by().values_list("workspace").annotate(at=models.Max(column)))
        recurring.objects.bulk_create(
            recurring(
                workspace_id=pk,
                kind=kind,
                due_at=newest[pk] + every if pk in newest else timezone.now(),
            )
            for pk in workspaces
        )


def remove_schedules(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Remove the schedules of the tasks that are gone."""
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(task__in=TASKS).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0006_turns'),
        ('django_celery_beat', '0019_alter_periodictasks_options'),
        ('properties', '0006_sign_in'),
    ]

    operations = [
        migrations.CreateModel(
            name='Recurring',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('kind', models.CharField(choices=[('PULL', 'Pull'), ('SAMPLE', 'Sample'), ('SWEEP', 'Sweep')], max_length=10)),
                ('problem', models.TextField(blank=True, default='', help_text='Why the last try failed')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='crm_sync.workspace')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'kind'), name='one_recurring_of_a_kind'),
                    models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='recurring_has_no_half_lease'),
                    models.CheckConstraint(condition=models.Q(('due_at__isnull', False)), name='recurring_is_due_again'),
                ],
            },
        ),
        migrations.RunPython(begin, migrations.RunPython.noop),
        migrations.RunPython(remove_schedules, migrations.RunPython.noop),
        migrations.DeleteModel(
            name='Turn',
        ),
    ]
