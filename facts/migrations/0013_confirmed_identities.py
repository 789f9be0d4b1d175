"""Whether it is certain whose an identity is; of those that are there already it is not, until the platform says so."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0012_day_figures"),
    ]

    operations = [
        migrations.AddField(
            model_name="identity",
            name="confirmed",
            field=models.BooleanField(default=False),
        ),
    ]
