import datetime
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('crm_sync', '0001_initial'),
        ('properties', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('platform_id', models.CharField(max_length=255, verbose_name='assignment')),
                ('assignment_type', models.CharField(blank=True, default='', max_length=100, verbose_name='type')),
                ('status', models.CharField(blank=True, default='', max_length=100)),
                ('status_at', models.DateTimeField(default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))),
                ('status_digest', models.CharField(blank=True, default='', max_length=64)),
                ('scheduled_at', models.DateTimeField(blank=True, null=True, verbose_name='appointment')),
                ('scheduled_watermark', models.DateTimeField(default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))),
                ('scheduled_digest', models.CharField(blank=True, default='', max_length=64)),
                ('estimated_delivery_date', models.DateField(blank=True, null=True)),
                ('estimate_watermark', models.DateTimeField(default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))),
                ('estimate_digest', models.CharField(blank=True, default='', max_length=64)),
                ('action_required', models.CharField(blank=True, default='', max_length=100)),
                ('action_watermark', models.DateTimeField(default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))),
                ('action_digest', models.CharField(blank=True, default='', max_length=64)),
                ('photographer', models.JSONField(default=dict, help_text='id, name, email, phone as given')),
                ('photographer_watermark', models.DateTimeField(default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))),
                ('photographer_digest', models.CharField(blank=True, default='', max_length=64)),
                ('products', models.JSONField(default=list)),
                ('read_at', models.DateTimeField(blank=True, help_text='By itself, by our clock', null=True)),
                ('problem', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('platform_id', models.CharField(max_length=255, verbose_name='order')),
                ('object_reference_id', models.CharField(blank=True, default='', max_length=255, verbose_name='reference')),
                ('property_platform_id', models.CharField(blank=True, default='', max_length=255)),
                ('user_platform_id', models.CharField(blank=True, default='', max_length=255, verbose_name='user')),
                ('status', models.CharField(blank=True, default='', max_length=100)),
                ('status_at', models.DateTimeField(default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))),
                ('status_digest', models.CharField(blank=True, default='', max_length=64)),
                ('placed_at', models.DateTimeField(blank=True, help_text="By the platform's clock", null=True)),
                ('observed', models.JSONField(default=dict, help_text='The order detail as it was last read')),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('problem', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('real_estate_property', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='properties.property', verbose_name='property')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='MaterialSet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('lease_token', models.UUIDField(blank=True, editable=False, null=True)),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('property_platform_id', models.CharField(blank=True, default='', max_length=255)),
                ('product', models.CharField(blank=True, default='', max_length=100)),
                ('visual_type', models.CharField(blank=True, default='', max_length=100)),
                ('target_platform', models.CharField(blank=True, default='', max_length=100)),
                ('ready_at', models.DateTimeField(help_text="By the platform's clock")),
                ('fetched_at', models.DateTimeField(blank=True, null=True)),
                ('problem', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('assignment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='material_sets', to='orders.assignment')),
                ('real_estate_property', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='properties.property', verbose_name='property')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
                ('order', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='material_sets', to='orders.order')),
            ],
        ),
        migrations.AddField(
            model_name='assignment',
            name='order',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='orders.order'),
        ),
        migrations.CreateModel(
            name='Placement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('object_reference_id', models.CharField(max_length=255, verbose_name='reference')),
                ('property_platform_id', models.CharField(blank=True, default='', max_length=255)),
                ('user_platform_id', models.CharField(max_length=255, verbose_name='user')),
                ('user_reference_id', models.CharField(blank=True, default='', max_length=255)),
                ('products', models.JSONField(default=list, help_text='As the session lists them, and quantity')),
                ('instructions', models.JSONField(default=dict, help_text='billing, organization, delivery: ids')),
                ('state', models.CharField(choices=[('DRAFT', 'Draft'), ('READY', 'Ready to send'), ('SENDING', 'Sending'), ('PLACED', 'Placed'), ('UNCERTAIN', 'Uncertain: a person must look'), ('FAILED', 'Failed: nothing was ordered')], default='DRAFT', max_length=10)),
                ('session_id', models.CharField(blank=True, default='', max_length=255)),
                ('not_before', models.DateTimeField(blank=True, help_text="The platform's clock before the sending", null=True)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('problem', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('order', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='placement', to='orders.order')),
                ('real_estate_property', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='properties.property', verbose_name='property')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='RateLimit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('paid_until', models.DateTimeField(default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), help_text='Reads that have been made are worth this long')),
                ('workspace', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, to='crm_sync.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='StatusChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fact', models.CharField(choices=[('ORDER_STATUS', 'Order status'), ('ASSIGNMENT_STATUS', 'Assignment status'), ('APPOINTMENT', 'Appointment'), ('ESTIMATE', 'Estimated delivery'), ('ACTION', 'Action required'), ('PHOTOGRAPHER', 'Photographer'), ('MATERIALS', 'Materials')], max_length=20)),
                ('previous', models.CharField(blank=True, default='', max_length=255)),
                ('new', models.CharField(blank=True, default='', max_length=255)),
                ('occurred_at', models.DateTimeField(help_text="By the platform's clock")),
                ('digest', models.CharField(max_length=64)),
                ('source', models.CharField(choices=[('CALLBACK', 'Callback'), ('READ', 'Read from the platform'), ('LOCAL', 'Answer to our own request')], max_length=10)),
                ('is_listed', models.BooleanField(default=True, help_text='False: §3 does not list this move')),
                ('was_stale', models.BooleanField(default=False, help_text='True: something newer was known when it came')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('assignment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='orders.assignment')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='orders.order')),
                ('received_event', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='crm_sync.receivedevent')),
            ],
        ),
        migrations.CreateModel(
            name='Material',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform_id', models.CharField(max_length=255, verbose_name='material')),
                ('product', models.CharField(blank=True, default='', max_length=100)),
                ('visual_type', models.CharField(blank=True, default='', max_length=100)),
                ('target_platform', models.CharField(blank=True, default='', max_length=100)),
                ('file_name', models.TextField(blank=True, default='')),
                ('mime_type', models.CharField(blank=True, default='', max_length=255)),
                ('size', models.BigIntegerField(blank=True, null=True)),
                ('url', models.TextField(blank=True, default='')),
                ('thumbnail_url', models.TextField(blank=True, default='')),
                ('modified_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('material_set', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='materials', to='orders.materialset')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('material_set', 'platform_id'), name='one_material_per_id')],
            },
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['workspace', 'due_at'], name='order_due'),
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(fields=['workspace', 'property_platform_id', 'user_platform_id'], name='order_of_property_and_user'),
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(fields=['workspace', 'object_reference_id'], name='order_reference'),
        ),
        migrations.AddConstraint(
            model_name='order',
            constraint=models.UniqueConstraint(fields=('workspace', 'platform_id'), name='one_order_per_id'),
        ),
        migrations.AddConstraint(
            model_name='order',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='order_has_no_half_lease'),
        ),
        migrations.AddIndex(
            model_name='materialset',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['workspace', 'due_at'], name='material_set_due'),
        ),
        migrations.AddConstraint(
            model_name='materialset',
            constraint=models.UniqueConstraint(condition=models.Q(('assignment__isnull', False)), fields=('assignment', 'product', 'visual_type'), name='one_set_of_visuals'),
        ),
        migrations.AddConstraint(
            model_name='materialset',
            constraint=models.UniqueConstraint(condition=models.Q(('assignment__isnull', True)), fields=('workspace', 'property_platform_id', 'target_platform'), name='one_set_of_marketing_materials'),
        ),
        migrations.AddConstraint(
            model_name='materialset',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='material_set_has_no_half_lease'),
        ),
        migrations.AddConstraint(
            model_name='materialset',
            constraint=models.CheckConstraint(condition=models.Q(('due_at__isnull', False), ('fetched_at__isnull', False), models.Q(('problem', ''), _negated=True), _connector='OR'), name='announced_materials_are_fetched_or_say_why_not'),
        ),
        migrations.AddIndex(
            model_name='assignment',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['workspace', 'due_at'], name='assignment_due'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(fields=('workspace', 'platform_id'), name='one_assignment_per_id'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('lease_until__isnull', True)), models.Q(('lease_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='assignment_has_no_half_lease'),
        ),
        migrations.AddIndex(
            model_name='placement',
            index=models.Index(fields=['state', 'workspace'], name='placement_state'),
        ),
        migrations.AddConstraint(
            model_name='placement',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['DRAFT', 'READY', 'SENDING', 'PLACED', 'UNCERTAIN', 'FAILED'])), name='placement_has_a_known_state'),
        ),
        migrations.AddConstraint(
            model_name='placement',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'PLACED'), _negated=True), ('order__isnull', False), _connector='OR'), name='placed_placement_has_an_order'),
        ),
        migrations.AddConstraint(
            model_name='placement',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'PLACED'), ('order__isnull', True), _connector='OR'), name='placement_with_an_order_is_placed'),
        ),
        migrations.AddConstraint(
            model_name='placement',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'SENDING'), _negated=True), ('sent_at__isnull', False), _connector='OR'), name='placement_that_is_sent_says_since_when'),
        ),
        migrations.AddIndex(
            model_name='statuschange',
            index=models.Index(fields=['order', 'occurred_at'], name='timeline'),
        ),
        migrations.AddIndex(
            model_name='statuschange',
            index=models.Index(fields=['created_at'], name='timeline_newest'),
        ),
        migrations.AddConstraint(
            model_name='statuschange',
            constraint=models.UniqueConstraint(fields=('order', 'fact', 'digest'), name='one_line_per_event'),
        ),
    ]
