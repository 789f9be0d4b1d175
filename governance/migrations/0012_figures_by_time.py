"""The way to reviews and ratings by when they came, for the figures of a day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("governance", "0011_workbench"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["account", "created_at"], name="review_by_opening"),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["account", "decided_at"], name="review_by_decision"),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(fields=["account", "created_at"], name="feedback_by_time"),
        ),
    ]
