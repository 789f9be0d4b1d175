"""Indexes by which the list of reviews shows those that do not wait, the newest first."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("governance", "0014_rule_changes")]

    operations = [
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["account", "id"], name="review_by_account"),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["account", "status", "id"], name="review_by_status"),
        ),
    ]
