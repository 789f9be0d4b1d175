"""Channel messages that a model reads together, and which message waits for that."""

import django.db.models.deletion
import facts.clock
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):

    dependencies = [
        ('facts', '0011_long_jobs'),
        ('ingest', '0011_summary_role'),
    ]

    operations = [
        migrations.AddField(
            model_name='eventoutcome',
            name='waits_for_batch',
            field=models.BooleanField(default=False),
        ),
        migrations.CreateModel(
            name='MessageBatch',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('size', models.PositiveIntegerField(default=0)),
                ('opened_at', models.DateTimeField(default=facts.clock.now)),
                ('last_at', models.DateTimeField(default=facts.clock.now)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='facts.job')),
            ],
            options={
                'verbose_name_plural': 'message batches',
                'ordering': ['-id'],
            },
        ),
        migrations.AddField(
            model_name='eventoutcome',
            name='batch',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='outcomes', to='ingest.messagebatch'),
        ),
        migrations.AddIndex(
            model_name='eventoutcome',
            index=models.Index(condition=models.Q(('batch__isnull', False)), fields=['account', 'batch'], name='outcome_by_batch'),
        ),
        migrations.AddConstraint(
            model_name='messagebatch',
            constraint=models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True)), fields=('account',), name='batch_one_open'),
        ),
        migrations.AddConstraint(
            model_name='messagebatch',
            constraint=models.CheckConstraint(condition=models.Q(('done_at__isnull', True), ('closed_at__isnull', False), _connector='OR'), name='batch_done_only_when_closed'),
        ),
        rls.protect('ingest_messagebatch'),
    ]
