
import crm_sync.secrets
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0002_schedules'),
        ('properties', '0006_last_feed'),
    ]

    operations = [
        migrations.CreateModel(
            name='Source',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('address', models.CharField(help_text='https://…, sftp://…, ftps://…, ftp://…, http://…, or a folder of the server that SOURCE_FOLDERS names. With a slash at the end it is a folder: the feed in it is taken.', max_length=500)),
                ('user', models.CharField(blank=True, default='', max_length=200)),
                ('secret', crm_sync.secrets.EncryptedTextField(blank=True, default='')),
                ('host_key', models.TextField(blank=True, default='', editable=False)),
                ('is_enabled', models.BooleanField(default=True, verbose_name='fetch on the schedule')),
                ('every_minutes', models.PositiveIntegerField(blank=True, default=60, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10080)], verbose_name='every … minutes')),
                ('daily_at', models.TimeField(blank=True, null=True, verbose_name='or once a day at')),
                ('expect_hours', models.PositiveIntegerField(blank=True, default=72, help_text='Otherwise an alarm; empty for none.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(8784)], verbose_name='expect something new within … hours')),
                ('mail_to', models.TextField(blank=True, default='', help_text='Addresses that get the report of each import, and the alarms; one a line.', verbose_name='mail to')),
                ('is_asked', models.BooleanField(default=False, editable=False)),
                ('insists', models.BooleanField(default=False, editable=False)),
                ('etag', models.CharField(blank=True, default='', editable=False, max_length=500)),
                ('modified', models.CharField(blank=True, default='', editable=False, max_length=100)),
                ('size', models.PositiveBigIntegerField(blank=True, editable=False, null=True)),
                ('digest', models.CharField(blank=True, default='', editable=False, max_length=64)),
                ('read_as', models.CharField(blank=True, default='', editable=False, max_length=64)),
                ('fetched_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('changed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('away_since', models.DateTimeField(blank=True, editable=False, null=True)),
                ('problem', models.TextField(blank=True, default='', editable=False)),
                ('set_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('sender', models.ForeignKey(help_text='Whose feed it is', on_delete=django.db.models.deletion.PROTECT, to='properties.sender')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
            options={
                'verbose_name': 'feed source',
            },
        ),
        migrations.CreateModel(
            name='Fetch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('outcome', models.CharField(choices=[('UNCHANGED', 'Nothing new'), ('IMPORT', 'New'), ('FAILED', 'Did not come'), ('REFUSED', 'Refused'), ('AWAY', 'Stays away')], max_length=10)),
                ('text', models.TextField(blank=True, default='', help_text='What happened, in words')),
                ('name', models.CharField(blank=True, default='', help_text='Of the file', max_length=255)),
                ('size', models.PositiveBigIntegerField(blank=True, help_text='Bytes that came', null=True)),
                ('seconds', models.FloatField(default=0.0)),
                ('beside', models.JSONField(blank=True, default=list)),
                ('beside_count', models.PositiveIntegerField(default=0)),
                ('told_at', models.DateTimeField(blank=True, null=True)),
                ('problem', models.TextField(blank=True, default='', help_text='Why the mail did not go')),
                ('imported', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='properties.import')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='properties.source')),
            ],
            options={
                'verbose_name_plural': 'fetches',
            },
        ),
        migrations.AddField(
            model_name='import',
            name='source',
            field=models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='properties.source'),
        ),
        migrations.AddIndex(
            model_name='source',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['workspace', 'due_at'], name='source_due'),
        ),
        migrations.AddConstraint(
            model_name='source',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='source_has_no_half_lease'),
        ),
        migrations.AddConstraint(
            model_name='source',
            constraint=models.CheckConstraint(condition=models.Q(('every_minutes__isnull', True), ('daily_at__isnull', True), _connector='XOR'), name='source_has_one_schedule'),
        ),
        migrations.AddConstraint(
            model_name='source',
            constraint=models.CheckConstraint(condition=models.Q(('is_enabled', False), ('due_at__isnull', False), _connector='OR'), name='source_on_a_schedule_is_due'),
        ),
        migrations.AddIndex(
            model_name='fetch',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['workspace', 'due_at'], name='fetch_due'),
        ),
        migrations.AddIndex(
            model_name='fetch',
            index=models.Index(fields=['source', '-at'], name='fetch_history'),
        ),
        migrations.AddConstraint(
            model_name='fetch',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='fetch_has_no_half_lease'),
        ),
        migrations.AddConstraint(
            model_name='fetch',
            constraint=models.CheckConstraint(condition=models.Q(('outcome__in', ['UNCHANGED', 'IMPORT', 'FAILED', 'REFUSED', 'AWAY'])), name='fetch_has_a_known_outcome'),
        ),
    ]
