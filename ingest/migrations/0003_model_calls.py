"""The usage ledger of model calls, with its account policy."""

import django.db.models.deletion
import facts.clock
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):

    dependencies = [
        ('facts', '0002_row_level_security'),
        ('ingest', '0002_row_level_security'),
    ]

    operations = [
        migrations.CreateModel(
            name='ModelCall',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('role', models.CharField(choices=[('extraction', 'Extraction')], max_length=16)),
                ('provider', models.CharField(max_length=64)),
                ('model', models.CharField(max_length=128)),
                ('prompt_version', models.CharField(max_length=64)),
                ('request_digest', models.CharField(max_length=64)),
                ('input_tokens', models.PositiveIntegerField(null=True)),
                ('output_tokens', models.PositiveIntegerField(null=True)),
                ('cost_usd', models.DecimalField(decimal_places=8, max_digits=14, null=True)),
                ('latency_ms', models.PositiveIntegerField()),
                ('error_class', models.CharField(blank=True, max_length=128)),
                ('notes', models.JSONField(blank=True, default=list)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('event', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='facts.event')),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['account', 'created_at'], name='model_call_by_time'), models.Index(fields=['account', 'event'], name='model_call_by_event')],
                'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['extraction'])), name='model_call_role_known')],
            },
        ),
        rls.protect("ingest_modelcall"),
    ]
