"""What a person holds."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0008_problems_with_their_kind'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('pushes', 'pushes'), ('orders', 'orders'), ('imports', 'imports'), ('files', 'files'), ('messages', 'messages')], max_length=10)),
                ('cause', models.CharField(choices=[('PERSON', 'Held by a person'), ('WATCH_ONLY', 'Watch only')], default='PERSON', max_length=10)),
                ('reason', models.CharField(max_length=200)),
                ('program', models.CharField(blank=True, default='', max_length=110)),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('ended_program', models.CharField(blank=True, default='', max_length=110)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('ended_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='crm_sync.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('workspace', 'kind', 'cause'), name='one_hold_per_kind')],
            },
        ),
    ]
