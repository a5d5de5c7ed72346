"""Slots of queues, and rings: the turns of the workers take the place of lanes."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0005_kinds_of_causes'),
    ]

    operations = [
        migrations.CreateModel(
            name='Ring',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=20)),
                ('rung_at', models.DateTimeField(editable=False, null=True)),
                ('refused_at', models.DateTimeField(editable=False, null=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='slot',
            name='one_slot_per_number',
        ),
        migrations.AddField(
            model_name='slot',
            name='kind',
            field=models.CharField(default='', editable=False, max_length=20),
        ),
        migrations.AddField(
            model_name='slot',
            name='queue',
            field=models.CharField(default='', editable=False, max_length=20),
        ),
        migrations.AlterField(
            model_name='heartbeat',
            name='kind',
            field=models.CharField(choices=[('worker', 'Worker'), ('beat', 'Beat'), ('web', 'Web server'), ('tick', 'Tick')], max_length=10),
        ),
        migrations.AddConstraint(
            model_name='slot',
            constraint=models.UniqueConstraint(fields=('workspace', 'kind', 'number'), name='one_slot_per_number'),
        ),
        migrations.AddField(
            model_name='ring',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='crm_sync.workspace'),
        ),
        migrations.DeleteModel(
            name='Lane',
        ),
        migrations.AddConstraint(
            model_name='ring',
            constraint=models.UniqueConstraint(fields=('workspace', 'queue'), name='one_ring_per_queue'),
        ),
    ]
