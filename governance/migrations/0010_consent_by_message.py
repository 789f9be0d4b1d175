"""A no may be told to the bot of a chat."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('governance', '0009_leavings'),
    ]

    operations = [
        migrations.AlterField(
            model_name='consent',
            name='channel',
            field=models.CharField(blank=True, choices=[('session', 'Session'), ('link', 'Link'), ('message', 'Message'), ('auto', 'Auto')], max_length=12),
        ),
    ]
