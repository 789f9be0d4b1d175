"""Imports: bindings of channels to scopes, runs and their files, with their account policy."""

import django.db.models.deletion
import facts.clock
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):

    dependencies = [
        ('facts', '0002_row_level_security'),
        ('ingest', '0003_model_calls'),
    ]

    operations = [
        migrations.CreateModel(
            name='ImportRun',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=32)),
                ('source', models.CharField(max_length=1000)),
                ('options', models.JSONField(default=dict)),
                ('status', models.CharField(choices=[('running', 'Running'), ('done', 'Done'), ('faulty', 'done, but for files that could not be read')], default='running', max_length=8)),
                ('files', models.PositiveIntegerField(default=0)),
                ('messages', models.PositiveIntegerField(default=0)),
                ('messages_done', models.PositiveIntegerField(default=0)),
                ('counts', models.JSONField(blank=True, default=dict)),
                ('started_at', models.DateTimeField(default=facts.clock.now)),
                ('updated_at', models.DateTimeField(default=facts.clock.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ImportedFile',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=500)),
                ('digest', models.CharField(max_length=64)),
                ('position', models.PositiveIntegerField(default=0)),
                ('fault', models.CharField(blank=True, max_length=200)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imported_files', to='ingest.importrun')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='ChannelBinding',
            fields=[
                ('id', models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=64)),
                ('channel_id', models.CharField(max_length=128)),
                ('name', models.CharField(max_length=200)),
                ('is_private', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=facts.clock.now)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.account')),
                ('scope', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.scope')),
                ('subject', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='facts.subject')),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('account', 'team', 'channel_id'), name='channel_bound_once')],
            },
        ),
        migrations.AddConstraint(
            model_name='importrun',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['running', 'done', 'faulty'])), name='import_status_known'),
        ),
        migrations.AddConstraint(
            model_name='importrun',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', True), ('status', 'running')), models.Q(models.Q(('status', 'running'), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='import_finished_iff_not_running'),
        ),
        migrations.AddConstraint(
            model_name='importedfile',
            constraint=models.UniqueConstraint(fields=('account', 'run', 'name'), name='imported_file_once'),
        ),
        rls.protect("ingest_importrun"),
        rls.protect("ingest_importedfile"),
        rls.protect("ingest_channelbinding"),
    ]
