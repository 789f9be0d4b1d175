"""The way to outcomes by when they were there, for the figures of a day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0012_message_batches"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="eventoutcome",
            index=models.Index(fields=["account", "finished_at"], name="outcome_by_finish"),
        ),
    ]
