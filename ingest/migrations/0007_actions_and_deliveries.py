"""Actions, their deliveries and moods, with their account policy; calls that score moods are on the ledger too."""

import django.db.models.deletion
import facts.clock
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):

    dependencies = [
        ('facts', '0009_refused_texts'),
        ('ingest', '0006_embedding_role'),
    ]

    operations = [
        migrations.CreateModel(
            name='Action',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('rule_key', models.CharField(max_length=64)),
                ('rule_version', models.PositiveIntegerField(help_text='0: the built-in rule.')),
                ('kind', models.CharField(choices=[('task', 'Task'), ('blocker', 'Blocker'), ('alert', 'Alert'), ('flag', 'Flag'), ('message', 'Message')], max_length=8)),
                ('state', models.CharField(choices=[('open', 'Open'), ('done', 'Done'), ('dismissed', 'Dismissed'), ('withdrawn', 'withdrawn: its fact holds no more')], default='open', max_length=10)),
                ('state_before', models.CharField(blank=True, choices=[('open', 'Open'), ('done', 'Done'), ('dismissed', 'Dismissed'), ('withdrawn', 'withdrawn: its fact holds no more')], max_length=10)),
                ('reason', models.CharField(blank=True, max_length=64)),
                ('due_on', models.DateField(blank=True, help_text="A day in the account's time zone.", null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ActionRule',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('key', models.SlugField(max_length=64)),
                ('category', models.CharField(choices=[('commitment', 'Commitment'), ('blocker', 'Blocker'), ('handoff', 'Handoff'), ('risk_signal', 'Risk Signal'), ('mood_signal', 'Mood Signal'), ('deadline_mention', 'Deadline Mention'), ('reference', 'Reference'), ('status_update', 'Status Update'), ('general', 'General')], max_length=20)),
                ('threshold', models.FloatField(help_text='Strictly greater.')),
                ('kind', models.CharField(choices=[('task', 'Task'), ('blocker', 'Blocker'), ('alert', 'Alert'), ('flag', 'Flag'), ('message', 'Message')], max_length=8)),
                ('notice_to', models.CharField(choices=[('nobody', 'Nobody'), ('ops', 'the target called ops'), ('target', "a target of the rule's own"), ('receiver', 'the person to whom something was handed over')], default='nobody', max_length=8)),
                ('enabled', models.BooleanField(default=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
            ],
            options={
                'ordering': ['category', 'key'],
            },
        ),
        migrations.CreateModel(
            name='BlockedWay',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('way', models.CharField(max_length=64)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('blocked_until', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('about', models.CharField(max_length=32)),
                ('object_id', models.UUIDField()),
                ('key', models.CharField(max_length=200)),
                ('state', models.CharField(choices=[('pending', 'it waits to be sent, or to be tried again'), ('sending', 'a worker is sending it'), ('sent', 'the receiver has taken it'), ('dead', 'given up; a person can send it again'), ('cancelled', 'what it is about is withdrawn or done'), ('suppressed', 'it may not be told there')], default='pending', max_length=10)),
                ('reason', models.CharField(blank=True, max_length=64)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('uncertain', models.BooleanField(default=False)),
                ('next_try_at', models.DateTimeField(default=facts.clock.now)),
                ('claim_token', models.UUIDField(blank=True, null=True)),
                ('claimed_at', models.DateTimeField(blank=True, null=True)),
                ('error_class', models.CharField(blank=True, max_length=128)),
                ('receipt', models.CharField(blank=True, help_text='What the receiver calls it, if it says so.', max_length=200)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='DeliveryTarget',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.SlugField(max_length=64)),
                ('kind', models.CharField(choices=[('slack', 'Slack'), ('webhook', 'signed webhook'), ('email', 'e-mail')], max_length=8)),
                ('address', models.CharField(max_length=500)),
                ('audience', models.CharField(choices=[('scope', 'everybody who may read a scope'), ('person', 'one person'), ('named', 'named recipients')], max_length=8)),
                ('enabled', models.BooleanField(default=True)),
                ('secret', models.CharField(blank=True, max_length=100)),
                ('previous_secret', models.CharField(blank=True, max_length=100)),
                ('previous_secret_until', models.DateTimeField(blank=True, null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='MoodEntry',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('score', models.PositiveSmallIntegerField()),
                ('source', models.CharField(choices=[('manual', 'entered by the person'), ('detected', 'read out of what was said')], max_length=8)),
                ('note', models.CharField(blank=True, max_length=500)),
                ('facts', models.JSONField(blank=True, default=list)),
                ('scorer', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('updated_at', models.DateTimeField(default=facts.clock.now)),
            ],
            options={
                'verbose_name_plural': 'mood entries',
                'ordering': ['-day'],
            },
        ),
        migrations.CreateModel(
            name='TargetRecipient',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='modelcall',
            name='model_call_role_known',
        ),
        migrations.AlterField(
            model_name='modelcall',
            name='role',
            field=models.CharField(choices=[('extraction', 'Extraction'), ('answerer', 'Answerer'), ('embedding', 'Embedding'), ('mood', 'Mood')], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='modelcall',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['extraction', 'answerer', 'embedding', 'mood'])), name='model_call_role_known'),
        ),
        migrations.AddField(
            model_name='action',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account'),
        ),
        migrations.AddField(
            model_name='action',
            name='assignee',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.subject'),
        ),
        migrations.AddField(
            model_name='action',
            name='decided_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='facts.membership'),
        ),
        migrations.AddField(
            model_name='action',
            name='fact',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='actions', to='facts.fact'),
        ),
        migrations.AddField(
            model_name='action',
            name='scope',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.scope'),
        ),
        migrations.AddField(
            model_name='action',
            name='subject',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.subject'),
        ),
        migrations.AddField(
            model_name='actionrule',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account'),
        ),
        migrations.AddField(
            model_name='blockedway',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='recipient',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.subject'),
        ),
        migrations.AddField(
            model_name='deliverytarget',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account'),
        ),
        migrations.AddField(
            model_name='deliverytarget',
            name='scope',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.scope'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='target',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='ingest.deliverytarget'),
        ),
        migrations.AddField(
            model_name='actionrule',
            name='target',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ingest.deliverytarget'),
        ),
        migrations.AddField(
            model_name='moodentry',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account'),
        ),
        migrations.AddField(
            model_name='moodentry',
            name='subject',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='moods', to='facts.subject'),
        ),
        migrations.AddField(
            model_name='targetrecipient',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account'),
        ),
        migrations.AddField(
            model_name='targetrecipient',
            name='subject',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.subject'),
        ),
        migrations.AddField(
            model_name='targetrecipient',
            name='target',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='readers', to='ingest.deliverytarget'),
        ),
        migrations.AddField(
            model_name='deliverytarget',
            name='recipients',
            field=models.ManyToManyField(related_name='+', through='ingest.TargetRecipient', to='facts.subject'),
        ),
        migrations.AddIndex(
            model_name='action',
            index=models.Index(fields=['account', 'state', 'id'], name='action_by_state'),
        ),
        migrations.AddIndex(
            model_name='action',
            index=models.Index(fields=['account', 'scope', 'state'], name='action_by_scope'),
        ),
        migrations.AddIndex(
            model_name='action',
            index=models.Index(fields=['account', 'assignee', 'state'], name='action_by_assignee'),
        ),
        migrations.AddConstraint(
            model_name='action',
            constraint=models.UniqueConstraint(fields=('account', 'fact', 'rule_key'), name='action_once_per_rule'),
        ),
        migrations.AddConstraint(
            model_name='action',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['task', 'blocker', 'alert', 'flag', 'message'])), name='action_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='action',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'done', 'dismissed', 'withdrawn'])), name='action_state_known'),
        ),
        migrations.AddConstraint(
            model_name='blockedway',
            constraint=models.UniqueConstraint(fields=('account', 'way'), name='blocked_way_once'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state__in', ['pending', 'sending'])), fields=['account', 'next_try_at'], name='delivery_waiting'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['account', 'object_id'], name='delivery_by_object'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['account', 'state', 'id'], name='delivery_by_state'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('account', 'key'), name='delivery_key_once'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'sending', 'sent', 'dead', 'cancelled', 'suppressed'])), name='delivery_state_known'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('target__isnull', False), ('recipient__isnull', False), _connector='XOR'), name='delivery_one_place'),
        ),
        migrations.AddConstraint(
            model_name='actionrule',
            constraint=models.UniqueConstraint(fields=('account', 'key'), name='action_rule_once'),
        ),
        migrations.AddConstraint(
            model_name='actionrule',
            constraint=models.CheckConstraint(condition=models.Q(('category__in', ['commitment', 'blocker', 'handoff', 'risk_signal', 'mood_signal', 'deadline_mention', 'reference', 'status_update', 'general'])), name='action_rule_category_known'),
        ),
        migrations.AddConstraint(
            model_name='actionrule',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['task', 'blocker', 'alert', 'flag', 'message'])), name='action_rule_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='actionrule',
            constraint=models.CheckConstraint(condition=models.Q(('notice_to__in', ['nobody', 'ops', 'target', 'receiver'])), name='action_rule_notice_known'),
        ),
        migrations.AddConstraint(
            model_name='actionrule',
            constraint=models.CheckConstraint(condition=models.Q(('threshold__gte', 0), ('threshold__lt', 1)), name='action_rule_threshold'),
        ),
        migrations.AddConstraint(
            model_name='actionrule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('notice_to', 'target'), ('target__isnull', False)), models.Q(models.Q(('notice_to', 'target'), _negated=True), ('target__isnull', True)), _connector='OR'), name='action_rule_target_iff_named'),
        ),
        migrations.AddConstraint(
            model_name='moodentry',
            constraint=models.UniqueConstraint(fields=('account', 'subject', 'day'), name='mood_once_a_day'),
        ),
        migrations.AddConstraint(
            model_name='moodentry',
            constraint=models.CheckConstraint(condition=models.Q(('score__gte', 1), ('score__lte', 5)), name='mood_score_range'),
        ),
        migrations.AddConstraint(
            model_name='moodentry',
            constraint=models.CheckConstraint(condition=models.Q(('source__in', ['manual', 'detected'])), name='mood_source_known'),
        ),
        migrations.AddConstraint(
            model_name='targetrecipient',
            constraint=models.UniqueConstraint(fields=('account', 'target', 'subject'), name='target_recipient_once'),
        ),
        migrations.AddConstraint(
            model_name='deliverytarget',
            constraint=models.UniqueConstraint(fields=('account', 'name'), name='delivery_target_once'),
        ),
        migrations.AddConstraint(
            model_name='deliverytarget',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['slack', 'webhook', 'email'])), name='delivery_target_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='deliverytarget',
            constraint=models.CheckConstraint(condition=models.Q(('audience__in', ['scope', 'person', 'named'])), name='delivery_target_audience_known'),
        ),
        migrations.AddConstraint(
            model_name='deliverytarget',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('audience', 'scope'), ('scope__isnull', False)), models.Q(models.Q(('audience', 'scope'), _negated=True), ('scope__isnull', True)), _connector='OR'), name='delivery_target_scope_iff_audience'),
        ),
        migrations.AddConstraint(
            model_name='deliverytarget',
            constraint=models.CheckConstraint(condition=models.Q(('kind', 'webhook'), ('secret', ''), _connector='XOR'), name='delivery_target_secret_iff_webhook'),
        ),
        rls.protect("ingest_action"),
        rls.protect("ingest_actionrule"),
        rls.protect("ingest_delivery"),
        rls.protect("ingest_deliverytarget"),
        rls.protect("ingest_targetrecipient"),
        rls.protect("ingest_blockedway"),
        rls.protect("ingest_moodentry"),
    ]
