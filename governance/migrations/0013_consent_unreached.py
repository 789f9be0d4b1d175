"""A question of consent says when no way is left to bring it to its subject."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('governance', '0012_figures_by_time'),
    ]

    operations = [
        migrations.AddField(
            model_name='consent',
            name='unreached_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
