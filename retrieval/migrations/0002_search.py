"""What search needs: profiles and stored queries, cards, entities and mentions, and traces of every read."""

import django.db.models.deletion
import facts.clock
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):

    dependencies = [
        ('facts', '0002_row_level_security'),
        ('retrieval', '0001_traces'),
    ]

    operations = [
        migrations.AddField(
            model_name='trace',
            name='request',
            field=models.JSONField(default=dict, help_text='Whatever else the call asked for.'),
        ),
        migrations.AlterField(
            model_name='trace',
            name='budget',
            field=models.PositiveIntegerField(help_text='Tokens, characters or, of a search, results.'),
        ),
        migrations.AlterField(
            model_name='trace',
            name='kind',
            field=models.CharField(choices=[('context', 'Context'), ('search', 'Search'), ('ask', 'Ask')], default='context', max_length=16),
        ),
        migrations.CreateModel(
            name='Entity',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
            ],
            options={
                'verbose_name_plural': 'entities',
            },
        ),
        migrations.CreateModel(
            name='AliasPair',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('first', models.CharField(help_text='Folded; the smaller of the two.', max_length=200)),
                ('second', models.CharField(max_length=200)),
                ('similarity', models.FloatField(help_text='Cosine similarity of the two names.', null=True)),
                ('state', models.CharField(choices=[('proposed', 'Proposed'), ('same', 'Same'), ('different', 'Different')], default='proposed', max_length=10)),
                ('decided_by', models.CharField(blank=True, max_length=200)),
                ('decided_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'first', 'second'), name='alias_pair_once'), models.CheckConstraint(condition=models.Q(('state__in', ['proposed', 'same', 'different'])), name='alias_pair_state_known')],
            },
        ),
        migrations.CreateModel(
            name='Card',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('subject_profile', 'Subject Profile'), ('scope_card', 'Scope Card'), ('entity_card', 'Entity Card'), ('session_summary', 'Session Summary')], max_length=16)),
                ('key', models.CharField(blank=True, max_length=200)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('lines', models.JSONField(default=list)),
                ('sensitivity', models.CharField(help_text='The strictest of its sources.', max_length=10)),
                ('builder', models.CharField(help_text='What wrote it, and its version.', max_length=64)),
                ('version', models.PositiveIntegerField(default=1)),
                ('delta_count', models.PositiveIntegerField(default=0, help_text='Changes taken in since the last whole build.')),
                ('watermark', models.DateTimeField(null=True)),
                ('dirty', models.BooleanField(default=False)),
                ('built_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.scope')),
                ('subject', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.subject')),
            ],
            options={
                'ordering': ['kind', 'key'],
                'indexes': [models.Index(fields=['account', 'subject'], name='card_by_subject'), models.Index(condition=models.Q(('dirty', True)), fields=['account', 'built_at'], name='card_to_build')],
                'constraints': [models.UniqueConstraint(fields=('account', 'scope', 'subject', 'kind', 'key'), name='card_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('kind__in', ['subject_profile', 'scope_card', 'entity_card', 'session_summary'])), name='card_kind_known')],
            },
        ),
        migrations.CreateModel(
            name='EntityAlias',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('folded', models.CharField(max_length=200)),
                ('shown', models.CharField(max_length=200)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('entity', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='aliases', to='retrieval.entity')),
            ],
            options={
                'verbose_name_plural': 'entity aliases',
                'indexes': [models.Index(fields=['account', 'entity'], name='entity_alias_by_entity')],
                'constraints': [models.UniqueConstraint(fields=('account', 'folded'), name='entity_alias_once')],
            },
        ),
        migrations.CreateModel(
            name='Mention',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('surface', models.CharField(max_length=200)),
                ('confidence', models.FloatField(default=1.0)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('entity', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='retrieval.entity')),
                ('fact', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.fact')),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.scope')),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'entity', 'scope'], include=('fact', 'confidence'), name='mention_cover'), models.Index(fields=['account', 'scope'], name='mention_by_scope')],
                'constraints': [models.UniqueConstraint(fields=('account', 'fact', 'entity'), name='mention_once')],
            },
        ),
        migrations.CreateModel(
            name='RetrievalProfile',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(choices=[('context', 'Context'), ('fast', 'Fast'), ('balanced', 'Balanced'), ('thorough', 'Thorough'), ('minimal', 'Minimal')], max_length=16)),
                ('version', models.PositiveIntegerField()),
                ('settings', models.JSONField(default=dict)),
                ('active', models.BooleanField(default=True)),
                ('note', models.CharField(blank=True, help_text='Why it was changed.', max_length=500)),
                ('created_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('scope', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.scope')),
            ],
            options={
                'ordering': ['name', '-version'],
                'constraints': [models.UniqueConstraint(fields=('account', 'scope', 'name', 'version'), name='retrieval_profile_once', nulls_distinct=False), models.UniqueConstraint(condition=models.Q(('active', True)), fields=('account', 'scope', 'name'), name='retrieval_profile_one_active', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('name__in', ['context', 'fast', 'balanced', 'thorough', 'minimal'])), name='retrieval_profile_name_known')],
            },
        ),
        migrations.CreateModel(
            name='StoredQuery',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('subject_key', models.CharField(blank=True, help_text='On whose behalf it is asked.', max_length=200)),
                ('query', models.TextField()),
                ('created_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.scope')),
            ],
            options={
                'verbose_name_plural': 'stored queries',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['account', 'scope', 'id'], name='stored_query_by_scope')],
            },
        ),
        *[
            rls.protect(f"retrieval_{table}")
            for table in ("entity", "entityalias", "mention", "aliaspair", "card", "retrievalprofile", "storedquery")
        ],
    ]
