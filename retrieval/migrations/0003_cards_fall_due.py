"""Cards fall due at an instant, also by time alone; they know which facts have changed and how many they rest on.

They are found by their whole key: an index by subject alone offered the planner every card that has none.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('retrieval', '0002_search'),
    ]

    operations = [
        migrations.RemoveIndex(model_name='card', name='card_to_build'),
        migrations.RemoveIndex(model_name='card', name='card_by_subject'),
        migrations.RemoveField(model_name='card', name='dirty'),
        migrations.RemoveField(model_name='card', name='watermark'),
        migrations.AddField(
            model_name='card',
            name='sources',
            field=models.PositiveIntegerField(default=0, help_text='Facts it could rest on at the last whole build.'),
        ),
        migrations.AddField(
            model_name='card',
            name='pending',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='card',
            name='due_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AlterField(
            model_name='card',
            name='builder',
            field=models.CharField(blank=True, help_text='What wrote it, and its version.', max_length=64),
        ),
        migrations.AlterField(
            model_name='card',
            name='delta_count',
            field=models.PositiveIntegerField(default=0, help_text='Builds since the last whole one.'),
        ),
        migrations.AlterField(
            model_name='card',
            name='title',
            field=models.CharField(blank=True, max_length=600),
        ),
        migrations.AlterField(
            model_name='card',
            name='version',
            field=models.PositiveIntegerField(default=0, help_text='How often its lines have changed.'),
        ),
        migrations.AddIndex(
            model_name='card',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['account', 'due_at'], name='card_due'),
        ),
    ]
