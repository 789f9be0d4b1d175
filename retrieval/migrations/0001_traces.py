"""Traces, partitioned by month on their time-ordered ids, and the daily figures made of them."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls
from facts.clock import now
from retrieval.traces import partitions

#: The foreign key and the indexes follow at the end of the migration, on the partitioned table.
PARTITION = """
ALTER TABLE retrieval_trace RENAME TO retrieval_trace_plain;
CREATE TABLE retrieval_trace (LIKE retrieval_trace_plain INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
    PARTITION BY RANGE (id);
DROP TABLE retrieval_trace_plain;
ALTER TABLE retrieval_trace ADD PRIMARY KEY (id);
CREATE TABLE retrieval_trace_default PARTITION OF retrieval_trace DEFAULT;
"""


def make_partitions(apps, schema_editor) -> None:
    with schema_editor.connection.cursor() as cursor:
        partitions.create_partitions(cursor, first=now().date())


class Migration(migrations.Migration):
    initial = True

    dependencies = [("facts", "0002_row_level_security")]

    operations = [
        migrations.CreateModel(
            name='ContextStat',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('scope_path', models.CharField(max_length=512)),
                ('purpose', models.CharField(blank=True, max_length=128)),
                ('calls', models.PositiveIntegerField()),
                ('calls_with_facts', models.PositiveIntegerField()),
                ('degraded', models.PositiveIntegerField()),
                ('failed', models.PositiveIntegerField()),
                ('considered', models.PositiveBigIntegerField()),
                ('served', models.PositiveBigIntegerField()),
                ('withheld', models.PositiveBigIntegerField()),
                ('tokens', models.PositiveBigIntegerField()),
                ('empty', models.JSONField(default=dict)),
                ('reasons', models.JSONField(default=dict)),
                ('p50_ms', models.FloatField()),
                ('p95_ms', models.FloatField()),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
            ],
            options={
                'ordering': ['-day', 'scope_path', 'purpose'],
                'constraints': [models.UniqueConstraint(fields=('account', 'day', 'scope_path', 'purpose'), name='context_stat_once')],
            },
        ),
        migrations.CreateModel(
            name='Trace',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('context', 'Context')], default='context', max_length=16)),
                ('scope_path', models.CharField(max_length=512)),
                ('subject_key', models.CharField(blank=True, max_length=200)),
                ('reader_posture', models.CharField(max_length=16)),
                ('credential_id', models.UUIDField(help_text='The API key, or the membership of the person.')),
                ('credential_name', models.CharField(max_length=200)),
                ('query', models.TextField(blank=True)),
                ('purpose', models.CharField(blank=True, max_length=128)),
                ('budget', models.PositiveIntegerField()),
                ('budget_unit', models.CharField(max_length=10)),
                ('question_time', models.DateTimeField()),
                ('as_of', models.DateTimeField(null=True)),
                ('known_at', models.DateTimeField(null=True)),
                ('profile', models.CharField(help_text='Name and version.', max_length=64)),
                ('ranker', models.CharField(max_length=64)),
                ('embedder', models.CharField(blank=True, max_length=300)),
                ('strategies', models.JSONField(default=dict)),
                ('timings', models.JSONField(default=dict, help_text='Milliseconds of each stage.')),
                ('decisions', models.JSONField(default=list)),
                ('reasons', models.JSONField(default=dict, help_text='Number of decisions for each reason code.')),
                ('considered', models.PositiveIntegerField()),
                ('facts_served', models.PositiveIntegerField()),
                ('passages_served', models.PositiveIntegerField()),
                ('withheld', models.PositiveIntegerField()),
                ('tokens', models.PositiveIntegerField()),
                ('status', models.CharField(max_length=10)),
                ('empty_reason', models.CharField(blank=True, max_length=24)),
                ('warnings', models.JSONField(default=list)),
                ('duration_ms', models.FloatField()),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('reader', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='facts.subject')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='facts.scope')),
                ('subject', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='facts.subject')),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['account', 'id'], name='trace_by_account'), models.Index(fields=['account', 'subject', 'id'], name='trace_by_subject')],
            },
        ),
        migrations.RunSQL(PARTITION, migrations.RunSQL.noop),
        *[rls.protect(table) for table in ("retrieval_trace", "retrieval_trace_default", "retrieval_contextstat")],
        migrations.RunPython(make_partitions, migrations.RunPython.noop),
    ]
