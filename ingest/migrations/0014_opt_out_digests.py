"""Digests by which somebody who does not want to be remembered is recognised after an erasure."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0013_figures_by_time"),
        ("facts", "0013_confirmed_identities"),
    ]

    operations = [
        migrations.AddField(
            model_name="optout",
            name="known_as",
            field=models.JSONField(default=list),
        ),
    ]
