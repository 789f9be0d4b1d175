"""Merged subjects: which one a subject is now, and the record that takes it back, with its account policy."""

import django.db.models.deletion
import facts.clock
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):

    dependencies = [
        ("facts", "0014_list_indexes"),
    ]

    operations = [
        migrations.CreateModel(
            name='SubjectMerge',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('facts', models.JSONField(default=list)),
                ('rows', models.JSONField(default=dict)),
                ('detail', models.JSONField(default=dict)),
                ('rationale', models.TextField(blank=True)),
                ('actor', models.JSONField(default=dict)),
                ('merged_at', models.DateTimeField(default=facts.clock.now)),
                ('group', models.UUIDField()),
                ('undone_at', models.DateTimeField(blank=True, null=True)),
                ('undone_by', models.JSONField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddField(
            model_name='subject',
            name='merged_into',
            field=models.ForeignKey(blank=True, db_index=False, help_text='A person said that it is this one: whoever names it means that one (facts.models.SubjectMerge).', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='merged', to='facts.subject'),
        ),
        migrations.AddIndex(
            model_name='subject',
            index=models.Index(condition=models.Q(('merged_into__isnull', False)), fields=['account', 'merged_into'], name='subject_merged'),
        ),
        migrations.AddConstraint(
            model_name='subject',
            constraint=models.CheckConstraint(condition=models.Q(('merged_into', models.F('id')), _negated=True), name='subject_not_merged_into_itself'),
        ),
        migrations.AddField(
            model_name='subjectmerge',
            name='account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account'),
        ),
        migrations.AddField(
            model_name='subjectmerge',
            name='source',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.subject'),
        ),
        migrations.AddField(
            model_name='subjectmerge',
            name='target',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.subject'),
        ),
        migrations.AddIndex(
            model_name='subjectmerge',
            index=models.Index(fields=['account', 'target'], name='merge_by_target'),
        ),
        migrations.AddConstraint(
            model_name='subjectmerge',
            constraint=models.UniqueConstraint(condition=models.Q(('undone_at__isnull', True)), fields=('account', 'source'), name='subject_merged_once'),
        ),
        rls.protect("facts_subjectmerge"),
    ]
