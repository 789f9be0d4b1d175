"""Reads of a stable profile leave traces too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0005_profile_actions"),
    ]

    operations = [
        migrations.AlterField(
            model_name="trace",
            name="kind",
            field=models.CharField(
                choices=[
                    ("context", "Context"),
                    ("search", "Search"),
                    ("ask", "Ask"),
                    ("profile", "Profile"),
                    ("replay", "Replay"),
                    ("preview", "Preview"),
                ],
                default="context",
                max_length=16,
            ),
        ),
    ]
