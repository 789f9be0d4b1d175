"""An entity is its aliases: it has no name of its own, and a mention is of one alias. The old rows were never written."""

import django.db.models.deletion
import facts.ids
import pgvector.django.halfvec
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):

    dependencies = [
        ('facts', '0002_row_level_security'),
        ('retrieval', '0003_cards_fall_due'),
    ]

    operations = [
        migrations.DeleteModel(name='Mention'),
        migrations.RemoveField(model_name='entity', name='name'),
        migrations.RemoveField(model_name='entityalias', name='shown'),
        migrations.AddField(
            model_name='entityalias',
            name='claimed',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='entityalias',
            name='space',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.embeddingspace'),
        ),
        migrations.AddField(
            model_name='entityalias',
            name='h',
            field=pgvector.django.halfvec.HalfVectorField(null=True),
        ),
        migrations.CreateModel(
            name='Mention',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('surface', models.CharField(blank=True, max_length=200)),
                ('confidence', models.FloatField(default=1.0)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('alias', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='retrieval.entityalias')),
                ('fact', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.fact')),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.scope')),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'alias', 'scope'], include=('fact', 'confidence'), name='mention_cover'), models.Index(fields=['account', 'scope'], name='mention_by_scope')],
                'constraints': [models.UniqueConstraint(fields=('account', 'fact', 'alias'), name='mention_once')],
            },
        ),
        migrations.CreateModel(
            name='NamesRead',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('recipe', models.CharField(max_length=16)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('fact', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.fact')),
                ('scope', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='facts.scope')),
            ],
            options={
                'verbose_name_plural': 'names read',
                'indexes': [models.Index(fields=['account', 'scope'], name='names_read_by_scope')],
            },
        ),
        rls.protect('retrieval_mention'),
        rls.protect('retrieval_namesread'),
    ]
