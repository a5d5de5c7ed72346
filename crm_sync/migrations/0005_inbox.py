"""Causes, replays and retention of deliveries, and the schedule that clears what has had its time."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from crm_sync.inbox.failure_groups import cause_of


def name_causes(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Say why what is stuck already is stuck."""
    stuck = apps.get_model("crm_sync", "Delivery").objects.filter(state__in=["FAILED", "QUARANTINED"])
    for pk, effect in stuck.values_list("pk", "effect").iterator():
        stuck.filter(pk=pk).update(cause=cause_of(effect))


def add_clearing(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Add the schedule that removes bytes and headers of old deliveries (S23)."""
    interval, _created = apps.get_model("django_celery_beat", "IntervalSchedule").objects.get_or_create(
        every=1, period="hours"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name="Deliveries: remove bytes that have had their time",
        defaults={
            "task": "crm_sync.clear_deliveries",
            "interval": interval,
            "expire_seconds": 1800,
            "description": "Removes payload and headers after DELIVERY_KEEP_DAYS; the row stays.",
        },
    )


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0004_recovery'),
        ('django_celery_beat', '0019_alter_periodictasks_options'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='delivery',
            name='one_delivery_per_digest',
        ),
        migrations.AddField(
            model_name='delivery',
            name='cause',
            field=models.CharField(blank=True, default='', help_text='Why it is stuck, alike for all alike', max_length=200),
        ),
        migrations.AddField(
            model_name='delivery',
            name='cleared_at',
            field=models.DateTimeField(blank=True, help_text='When its bytes and headers were removed (S23)', null=True),
        ),
        migrations.AddField(
            model_name='delivery',
            name='replay_of',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replays', to='crm_sync.delivery'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state__in', ['FAILED', 'QUARANTINED'])), fields=['state', 'cause'], name='delivery_cause'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('cleared_at', None)), fields=['state', 'received_at'], name='delivery_uncleared'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(condition=models.Q(('replay_of', None)), fields=('workspace', 'digest'), name='one_delivery_per_digest'),
        ),
        migrations.RunPython(name_causes, migrations.RunPython.noop),
        migrations.RunPython(add_clearing, migrations.RunPython.noop),
    ]
