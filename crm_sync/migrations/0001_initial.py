import crm_sync.secrets
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Workspace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(unique=True)),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True, verbose_name='callback id')),
                ('base_url', models.URLField(max_length=500, verbose_name='base address')),
                ('fixed_token', crm_sync.secrets.EncryptedTextField(blank=True, default='', editable=False)),
                ('client_id', models.CharField(blank=True, default='', max_length=255)),
                ('client_secret', crm_sync.secrets.EncryptedTextField(blank=True, default='', editable=False)),
                ('credentials_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('auth_type', models.CharField(choices=[('NONE', 'None'), ('HEADER', 'Header'), ('QUERY_PARAMETER', 'Query parameter'), ('BEARER_TOKEN', 'Bearer token')], default='HEADER', max_length=20, verbose_name='callback authentication')),
                ('auth_header_name', models.CharField(default='X-API-Key', max_length=100)),
                ('auth_parameter_name', models.CharField(default='token', max_length=100)),
                ('previous_auth_names', models.TextField(blank=True, default='', editable=False)),
                ('previous_auth_names_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('auth_secret', crm_sync.secrets.EncryptedTextField(blank=True, default='', editable=False)),
                ('previous_auth_secret', crm_sync.secrets.EncryptedTextField(blank=True, default='', editable=False)),
                ('previous_auth_secret_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('conflict_policy', models.CharField(choices=[('crm_wins', 'Our value wins'), ('platform_wins', "The platform's value wins"), ('ask', 'A person decides')], default='crm_wins', max_length=20)),
                ('read_before_write', models.BooleanField(default=True, help_text='Read a property before each push. Without it conflicts are not noticed.')),
                ('max_under_way', models.PositiveSmallIntegerField(default=8, help_text='For all workers together.', verbose_name='requests under way at most')),
                ('paused_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('pauses', models.PositiveIntegerField(default=0, editable=False)),
                ('problem', models.TextField(blank=True, default='', editable=False)),
                ('clock_ahead', models.DurationField(blank=True, editable=False, null=True)),
                ('clock_noted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('refused_callbacks', models.PositiveIntegerField(default=0, editable=False)),
                ('last_refusal', models.CharField(blank=True, default='', editable=False, max_length=255)),
                ('last_refusal_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('people', models.ManyToManyField(blank=True, help_text='Who sees this workspace. Operators and superusers see every one.', related_name='workspaces', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'permissions': [('all_workspaces', 'Can see every workspace')],
            },
        ),
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('worker', 'Worker'), ('beat', 'Beat'), ('web', 'Web server')], max_length=10)),
                ('name', models.CharField(max_length=255)),
                ('started_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField()),
                ('stopped_at', models.DateTimeField(help_text='It ended by itself; null after a kill', null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('kind', 'name'), name='one_heartbeat_per_process')],
            },
        ),
        migrations.CreateModel(
            name='WebhookMonitor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('asked_at', models.DateTimeField(blank=True, help_text='Since then somebody wants the history read in any case', null=True)),
                ('polled_at', models.DateTimeField(blank=True, null=True)),
                ('problem', models.TextField(blank=True, default='', help_text='Why the last poll failed')),
                ('last_triggered_at', models.DateTimeField(blank=True, help_text='The last attempt that a poll has accounted for', null=True)),
                ('window', models.JSONField(default=list, help_text='The records of the history at that poll')),
                ('window_until', models.DateTimeField(blank=True, help_text='The newest of them', null=True)),
                ('drift', models.JSONField(default=dict)),
                ('drift_since', models.DateTimeField(blank=True, null=True)),
                ('recovered', models.PositiveIntegerField(default=0, help_text='Events that only history brought')),
                ('failed', models.PositiveIntegerField(default=0, help_text='Attempts that failed since somebody looked')),
                ('last_failure', models.CharField(blank=True, default='', max_length=300)),
                ('last_failure_at', models.DateTimeField(blank=True, null=True)),
                ('workspace', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='monitor', to='crm_sync.workspace')),
            ],
            options={
                'verbose_name': 'webhook',
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='webhook_monitor_has_no_half_lease'), models.CheckConstraint(condition=models.Q(('due_at__isnull', False)), name='webhook_is_polled_again')],
            },
        ),
        migrations.CreateModel(
            name='Slot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('lease_token', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='crm_sync.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'number'), name='one_slot_per_number'), models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='slot_has_no_half_lease')],
            },
        ),
        migrations.CreateModel(
            name='ReceivedEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('digest', models.CharField(help_text='SHA-256 of the raw bytes', max_length=64)),
                ('canonical_digest', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('body', models.BinaryField()),
                ('headers', models.JSONField(default=dict, help_text='Secrets are masked before they are stored')),
                ('method', models.CharField(max_length=10)),
                ('source', models.CharField(choices=[('CALLBACK', 'Callback'), ('HISTORY', 'Trigger history'), ('REPLAY', 'Replay')], default='CALLBACK', max_length=10)),
                ('state', models.CharField(choices=[('RECEIVED', 'Received'), ('APPLIED', 'Applied'), ('DUPLICATE', 'Duplicate'), ('STALE', 'Stale'), ('IGNORED', 'Ignored'), ('EARLY', 'Dated ahead'), ('QUARANTINED', 'Not understood'), ('FAILED', 'Failed')], db_default='RECEIVED', default='RECEIVED', max_length=12)),
                ('kind', models.CharField(blank=True, db_default='', default='', max_length=100, verbose_name='event')),
                ('order_platform_id', models.CharField(blank=True, db_default='', default='', max_length=255, verbose_name='order')),
                ('occurred_at', models.DateTimeField(blank=True, null=True)),
                ('received_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('applied_at', models.DateTimeField(blank=True, null=True)),
                ('repeats', models.PositiveIntegerField(db_default=0, default=0, help_text='How often the same bytes came again')),
                ('effect', models.TextField(blank=True, db_default='', default='', help_text='What it did, or why it did nothing')),
                ('cause', models.CharField(blank=True, db_default='', default='', help_text='Why it is stuck, alike for all alike', max_length=200)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ('cleared_at', models.DateTimeField(blank=True, help_text='When its bytes and headers were removed (S23)', null=True)),
                ('replay_of', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replays', to='crm_sync.receivedevent')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['workspace', 'due_at'], name='received_event_due'), models.Index(fields=['workspace', 'received_at'], name='received_event_received'), models.Index(fields=['canonical_digest'], name='received_event_canonical'), models.Index(condition=models.Q(('replay_of__isnull', False)), fields=['replay_of'], name='received_event_replays'), models.Index(fields=['state', 'received_at'], name='received_event_state'), models.Index(condition=models.Q(('state__in', ('EARLY', 'FAILED', 'QUARANTINED'))), fields=['state', 'cause'], name='received_event_cause'), models.Index(condition=models.Q(('order_platform_id', ''), _negated=True), fields=['order_platform_id'], name='received_event_order'), models.Index(condition=models.Q(('cleared_at', None), ('due_at', None)), fields=['state', 'received_at'], name='received_event_uncleared')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('canonical_digest', ''), ('replay_of', None)), fields=('workspace', 'digest'), name='one_event_per_digest'), models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='received_event_has_no_half_lease'), models.CheckConstraint(condition=models.Q(('state__in', ['RECEIVED', 'APPLIED', 'DUPLICATE', 'STALE', 'IGNORED', 'EARLY', 'QUARANTINED', 'FAILED'])), name='received_event_has_a_known_state'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ('RECEIVED', 'EARLY')), _negated=True), ('due_at__isnull', False), _connector='OR'), name='pending_received_event_is_due'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ('APPLIED', 'DUPLICATE', 'STALE', 'IGNORED', 'QUARANTINED')), _negated=True), ('due_at__isnull', True), _connector='OR'), name='settled_received_event_is_not_due'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ('APPLIED', 'DUPLICATE', 'STALE')), _negated=True), models.Q(('canonical_digest', ''), _negated=True), _connector='OR'), name='understood_received_event_has_a_digest'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ('EARLY', 'FAILED', 'QUARANTINED')), _negated=True), ('canonical_digest', ''), _connector='OR'), name='stuck_received_event_has_no_digest')],
            },
        ),
        migrations.CreateModel(
            name='Lane',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=20)),
                ('rung_at', models.DateTimeField(editable=False, null=True)),
                ('begun_at', models.DateTimeField(editable=False, null=True)),
                ('again', models.BooleanField(default=False, editable=False)),
                ('lease_token', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='crm_sync.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'queue'), name='one_lane_per_queue'), models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='lane_has_no_half_lease')],
            },
        ),
        migrations.CreateModel(
            name='Gap',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('why', models.CharField(choices=[('OVERFLOW', 'More attempts than the history keeps'), ('ERASED', 'The history was erased'), ('UNEXPLAINED', 'An attempt that nothing shows'), ('UNREADABLE', 'A record without its payload')], max_length=12)),
                ('began_at', models.DateTimeField(blank=True, help_text="By the platform's clock; none: since it was connected", null=True)),
                ('ended_at', models.DateTimeField(help_text="By the platform's clock")),
                ('noticed_at', models.DateTimeField()),
                ('asked', models.PositiveIntegerField(default=0, help_text='Open orders made due for a read')),
                ('acknowledged_at', models.DateTimeField(blank=True, null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('acknowledged_at__isnull', True)), fields=['noticed_at'], name='gap_unseen')],
            },
        ),
    ]
