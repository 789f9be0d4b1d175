"""How far the reasoning pass has come, with its account policy, and its name in the ledger of model calls."""

import django.db.models.deletion
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):

    dependencies = [
        ("facts", "0015_subject_merges"),
        ("ingest", "0014_opt_out_digests"),
    ]

    operations = [
        migrations.CreateModel(
            name='ReasoningMark',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('reached_at', models.DateTimeField()),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='modelcall',
            name='model_call_role_known',
        ),
        migrations.AlterField(
            model_name='modelcall',
            name='role',
            field=models.CharField(choices=[('extraction', 'Extraction'), ('answerer', 'Answerer'), ('embedding', 'Embedding'), ('mood', 'Mood'), ('page_summary', 'Page Summary'), ('summary', 'Summary'), ('reasoning', 'Reasoning')], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='modelcall',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['extraction', 'answerer', 'embedding', 'mood', 'page_summary', 'summary', 'reasoning'])), name='model_call_role_known'),
        ),
        migrations.AddField(
            model_name='reasoningmark',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account'),
        ),
        migrations.AddField(
            model_name='reasoningmark',
            name='scope',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.scope'),
        ),
        migrations.AddConstraint(
            model_name='reasoningmark',
            constraint=models.UniqueConstraint(fields=('account', 'scope'), name='reasoning_mark_once'),
        ),
        rls.protect("ingest_reasoningmark"),
    ]
