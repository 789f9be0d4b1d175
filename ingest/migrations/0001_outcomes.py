"""What became of events."""

import django.db.models.deletion
import facts.clock
import facts.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('facts', '0002_row_level_security'),
    ]

    operations = [
        migrations.CreateModel(
            name='EventOutcome',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('event', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outcomes', to='facts.event')),
                ('recipe', models.CharField(max_length=64)),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='facts.job')),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.scope')),
                ('subject', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.subject')),
                ('occurred_at', models.DateTimeField()),
                ('result', models.CharField(choices=[('pending', 'it waits to be processed, or to be tried again'), ('facts', 'at least one fact came of it'), ('duplicate', 'it says only what is known already'), ('rejected', 'everything read out of it was refused'), ('nothing', 'nothing in it is worth remembering'), ('failed', 'it could not be processed; it is kept and can be tried again')], default='pending', max_length=12)),
                ('reason', models.CharField(blank=True, max_length=64)),
                ('counts', models.JSONField(blank=True, default=dict)),
                ('provider', models.CharField(blank=True, max_length=64)),
                ('model', models.CharField(blank=True, max_length=128)),
                ('prompt_version', models.CharField(blank=True, max_length=64)),
                ('error_class', models.CharField(blank=True, max_length=128)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('result', 'pending')), fields=['account', 'scope', 'subject', 'occurred_at', 'event'], name='outcome_line'), models.Index(fields=['account', 'result', 'id'], name='outcome_by_result')],
                'constraints': [models.UniqueConstraint(fields=('account', 'event', 'recipe'), name='outcome_once_per_recipe'), models.CheckConstraint(condition=models.Q(('result__in', ['pending', 'facts', 'duplicate', 'rejected', 'nothing', 'failed'])), name='outcome_result_known'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', True), ('result', 'pending')), models.Q(models.Q(('result', 'pending'), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='outcome_finished_iff_not_pending')],
            },
        ),
        migrations.CreateModel(
            name='CandidateOutcome',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('outcome', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='candidates', to='ingest.eventoutcome')),
                ('ordinal', models.PositiveIntegerField()),
                ('result', models.CharField(choices=[('fact', 'Fact'), ('duplicate', 'Duplicate'), ('rejected', 'Rejected')], max_length=12)),
                ('reason', models.CharField(max_length=64)),
                ('statement', models.TextField(blank=True)),
                ('quote', models.TextField(blank=True)),
                ('fact', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='facts.fact')),
            ],
            options={
                'ordering': ['outcome', 'ordinal'],
                'constraints': [models.UniqueConstraint(fields=('account', 'outcome', 'ordinal'), name='candidate_ordinal_once'), models.CheckConstraint(condition=models.Q(('result__in', ['fact', 'duplicate', 'rejected'])), name='candidate_result_known')],
            },
        ),
    ]
