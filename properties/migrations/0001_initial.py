import django.db.models.deletion
import django.db.models.fields.json
import django.utils.timezone
import properties.models.documents
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('crm_sync', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Property',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('object_reference_id', models.CharField(blank=True, max_length=255, null=True, verbose_name='reference')),
                ('platform_id', models.CharField(blank=True, editable=False, max_length=255, null=True)),
                ('desired', models.JSONField(default=dict, help_text='What our people want')),
                ('observed', models.JSONField(default=dict, help_text='What the platform last confirmed')),
                ('inflight', models.JSONField(default=dict, editable=False)),
                ('revision', models.PositiveBigIntegerField(default=0, editable=False)),
                ('verify_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('create_sent_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('problem', models.JSONField(blank=True, default=dict, editable=False)),
                ('wait_reason', models.CharField(blank=True, choices=[('PARENT', 'its parent is created first'), ('CREATION', 'its creation got no answer and may still come'), ('VERIFICATION', 'an earlier call may still land; it is read once more then'), ('PAUSE', 'the workspace is paused'), ('FAILURE', 'the last attempt failed')], default='', editable=False, max_length=20)),
                ('last_answer', models.CharField(blank=True, default='', editable=False, max_length=500)),
                ('read_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('pushed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('fed', models.JSONField(blank=True, default=dict, editable=False)),
                ('fed_digest', models.CharField(blank=True, default='', editable=False, max_length=64)),
                ('fed_by', models.CharField(blank=True, editable=False, max_length=20, null=True)),
                ('leftover', models.JSONField(blank=True, default=dict, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('title', models.GeneratedField(db_persist=True, expression=django.db.models.fields.json.KeyTextTransform('title', 'desired'), output_field=models.TextField(null=True))),
                ('property_type', models.GeneratedField(db_persist=True, expression=django.db.models.fields.json.KeyTextTransform('propertyType', 'desired'), output_field=models.TextField(null=True))),
                ('locality', models.GeneratedField(db_persist=True, expression=django.db.models.fields.json.KeyTextTransform('locality', django.db.models.fields.json.KeyTextTransform('address', 'desired')), output_field=models.TextField(null=True))),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
            options={
                'verbose_name_plural': 'properties',
            },
        ),
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('PUSH', 'Push'), ('READ', 'Read from the platform')], max_length=4)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('properties', models.ManyToManyField(to='properties.property')),
            ],
            options={
                'verbose_name_plural': 'batches',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Walk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('page', models.PositiveIntegerField(default=0, help_text='The next page to read, zero-based')),
                ('listed', models.PositiveIntegerField(default=0, help_text='Properties on the pages so far')),
                ('added', models.PositiveIntegerField(default=0, help_text='Properties that we did not know')),
                ('asked', models.PositiveIntegerField(default=0, help_text='Properties to be read in full')),
                ('missing', models.PositiveIntegerField(default=0, help_text='Known ones that no page showed')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
        ),
        migrations.AddField(
            model_name='property',
            name='listed_in',
            field=models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='properties.walk'),
        ),
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
                ('blocked', models.PositiveIntegerField(default=0, help_text='It waited for a person')),
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
        migrations.CreateModel(
            name='Import',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('name', models.CharField(help_text='What the file was called', max_length=255, verbose_name='file')),
                ('stored_as', models.CharField(editable=False, help_text='Its name in our folder', max_length=64)),
                ('size', models.PositiveBigIntegerField(default=0, editable=False, help_text='Bytes')),
                ('force', models.BooleanField(default=False, help_text='Also take a full feed that lacks many properties of the last one.', verbose_name='even if much is missing')),
                ('state', models.CharField(choices=[('PREVIEWING', 'Being looked at'), ('PREVIEWED', 'Waits for a person'), ('RUNNING', 'Being imported'), ('DONE', 'Imported'), ('PARTLY', 'Partly imported'), ('FAILED', 'Failed'), ('CANCELLED', 'Cancelled')], default='PREVIEWING', max_length=10)),
                ('total', models.PositiveIntegerField(blank=True, help_text='Records in the file', null=True)),
                ('done', models.PositiveIntegerField(default=0, help_text='Records looked at or imported')),
                ('preview', models.JSONField(blank=True, default=dict)),
                ('report', models.JSONField(blank=True, default=dict)),
                ('problem', models.TextField(blank=True, default='')),
                ('cancel_asked', models.BooleanField(default=False)),
                ('uploaded_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('released_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('released_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('uploaded_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['workspace', 'due_at'], name='import_due'), models.Index(fields=['state', 'workspace'], name='import_state')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='import_has_no_half_lease'), models.CheckConstraint(condition=models.Q(('state__in', ['PREVIEWING', 'PREVIEWED', 'RUNNING', 'DONE', 'PARTLY', 'FAILED', 'CANCELLED'])), name='import_has_a_known_state'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ('PREVIEWING', 'RUNNING', 'PREVIEWED')), _negated=True), ('due_at__isnull', False), _connector='OR'), name='open_import_is_due'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'RUNNING'), _negated=True), ('released_at__isnull', False), _connector='OR'), name='running_import_was_released'), models.CheckConstraint(condition=models.Q(('state__in', ('PREVIEWING', 'RUNNING', 'PREVIEWED')), ('ended_at__isnull', False), _connector='OR'), name='ended_import_says_when')],
            },
        ),
        migrations.CreateModel(
            name='Conflict',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=300, verbose_name='field')),
                ('ours', models.JSONField(null=True)),
                ('base', models.JSONField(null=True)),
                ('theirs', models.JSONField(null=True)),
                ('decision', models.CharField(blank=True, choices=[('', 'Open'), ('OURS', 'Ours'), ('THEIRS', 'Theirs'), ('BOTH', 'From both')], default='', max_length=6)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('real_estate_property', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='properties.property')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('decision', '')), fields=('real_estate_property', 'path'), name='one_open_conflict_per_field')],
            },
        ),
        migrations.CreateModel(
            name='Change',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=300, verbose_name='field')),
                ('old', models.JSONField(null=True)),
                ('new', models.JSONField(null=True)),
                ('origin', models.CharField(choices=[('ADMIN', 'Admin'), ('FEED', 'Feed'), ('API', 'Our own code'), ('PLATFORM', 'Platform')], max_length=10)),
                ('note', models.CharField(blank=True, default='', max_length=255)),
                ('revision', models.PositiveBigIntegerField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('real_estate_property', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='properties.property')),
            ],
            options={
                'indexes': [models.Index(fields=['real_estate_property', '-at'], name='change_history')],
            },
        ),
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task', models.CharField(choices=[('PULL', 'Pull'), ('SAMPLE', 'Sample'), ('SWEEP', 'Sweep')], max_length=10)),
                ('tried_at', models.DateTimeField()),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='crm_sync.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'task'), name='one_turn_a_task')],
            },
        ),
        migrations.AddConstraint(
            model_name='walk',
            constraint=models.UniqueConstraint(condition=models.Q(('finished_at', None)), fields=('workspace',), name='one_walk_under_way'),
        ),
        migrations.AddIndex(
            model_name='property',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['workspace', 'due_at'], name='property_due'),
        ),
        migrations.AddIndex(
            model_name='property',
            index=models.Index(condition=models.Q(('lease_until__isnull', False)), fields=['workspace', 'lease_until'], name='property_leased'),
        ),
        migrations.AddIndex(
            model_name='property',
            index=models.Index(fields=['workspace', 'locality'], name='property_locality'),
        ),
        migrations.AddIndex(
            model_name='property',
            index=models.Index(condition=models.Q(('fed_by__isnull', False)), fields=['workspace', 'fed_by', 'object_reference_id', 'fed_digest'], name='property_fed'),
        ),
        migrations.AddConstraint(
            model_name='property',
            constraint=models.UniqueConstraint(fields=('workspace', 'object_reference_id'), name='one_property_per_reference'),
        ),
        migrations.AddConstraint(
            model_name='property',
            constraint=models.UniqueConstraint(fields=('workspace', 'platform_id'), name='one_property_per_platform_id'),
        ),
        migrations.AddConstraint(
            model_name='property',
            constraint=models.CheckConstraint(condition=models.Q(properties.models.documents.IsObject('desired'), properties.models.documents.IsObject('observed'), properties.models.documents.IsObject('inflight'), properties.models.documents.IsObject('problem')), name='documents_of_a_property_are_objects'),
        ),
        migrations.AddConstraint(
            model_name='property',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='property_has_no_half_lease'),
        ),
        migrations.AddConstraint(
            model_name='property',
            constraint=models.CheckConstraint(condition=models.Q(('verify_at__isnull', True), ('due_at__isnull', False), _connector='OR'), name='property_to_be_read_once_more_is_due'),
        ),
    ]
