"""Slack workspaces, their channels and receipts, and who opted out, with their account policy.

Which account a workspace belongs to is asked before the account is known: by the workspace alone.
"""

import django.db.models.deletion
import facts.clock
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):

    dependencies = [
        ('facts', '0002_row_level_security'),
        ('ingest', '0007_actions_and_deliveries'),
    ]

    operations = [
        migrations.CreateModel(
            name='DeletedMessage',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('source_key', models.CharField(max_length=400)),
                ('deleted_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'deleted_at'], name='deleted_message_by_time')],
                'constraints': [models.UniqueConstraint(fields=('account', 'source_key'), name='deleted_message_once')],
            },
        ),
        migrations.CreateModel(
            name='OptOut',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('active', models.BooleanField(default=True)),
                ('said_at', models.DateTimeField(default=facts.clock.now)),
                ('via', models.CharField(max_length=32)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('subject', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.subject')),
            ],
            options={
                'ordering': ['-said_at'],
                'constraints': [models.UniqueConstraint(fields=('account', 'subject'), name='opt_out_once')],
            },
        ),
        migrations.CreateModel(
            name='SlackChannel',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=64)),
                ('channel_id', models.CharField(max_length=64)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('is_private', models.BooleanField(default=False)),
                ('is_member', models.BooleanField(default=False)),
                ('archived', models.BooleanField(default=False)),
                ('listening', models.BooleanField(default=False)),
                ('switched_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('switched_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='facts.subject')),
            ],
            options={
                'ordering': ['name', 'channel_id'],
                'constraints': [models.UniqueConstraint(fields=('account', 'team', 'channel_id'), name='slack_channel_once')],
            },
        ),
        migrations.CreateModel(
            name='SlackReceipt',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=64)),
                ('event_id', models.CharField(max_length=64)),
                ('event_type', models.CharField(max_length=64)),
                ('outcome', models.CharField(blank=True, max_length=64)),
                ('received_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'received_at'], name='slack_receipt_by_time')],
                'constraints': [models.UniqueConstraint(fields=('account', 'team', 'event_id'), name='slack_receipt_once')],
            },
        ),
        migrations.CreateModel(
            name='SlackWorkspace',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=64)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('app_id', models.CharField(blank=True, max_length=64)),
                ('bot_user_id', models.CharField(max_length=64)),
                ('bot_id', models.CharField(blank=True, max_length=64)),
                ('root', models.CharField(default='/slack', max_length=512)),
                ('connected_at', models.DateTimeField(default=facts.clock.now)),
                ('disconnected_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
            ],
            options={
                'ordering': ['team'],
                'constraints': [models.UniqueConstraint(fields=('team',), name='slack_workspace_once')],
            },
        ),
        rls.protect("ingest_deletedmessage"),
        rls.protect("ingest_optout"),
        rls.protect("ingest_slackchannel"),
        rls.protect("ingest_slackreceipt"),
        rls.protect("ingest_slackworkspace"),
        rls.allow_lookup("ingest_slackworkspace", column="team", setting="app.slack_team"),
    ]
