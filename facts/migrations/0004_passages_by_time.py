"""What was said right before and after a passage is found by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("facts", "0003_vector_widths")]

    operations = [
        migrations.AddIndex(
            model_name="passage",
            index=models.Index(
                fields=["account", "scope", "subject", "occurred_at", "ordinal"], name="passage_by_time"
            ),
        )
    ]
