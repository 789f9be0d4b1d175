"""Indexes by which lists of facts, events and jobs find an account's newest, and what is rare among them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("facts", "0013_confirmed_identities")]

    operations = [
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["account", "id"], name="event_by_account"),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(fields=["account", "id"], name="fact_by_account"),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(
                condition=models.Q(("sensitivity__in", ["public", "restricted"])),
                fields=["account", "sensitivity", "id"],
                name="fact_by_sensitivity",
            ),
        ),
        migrations.AddIndex(
            model_name="fact",
            index=models.Index(
                condition=models.Q(("category", "general"), _negated=True),
                fields=["account", "category", "id"],
                name="fact_by_category",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["account", "status", "id"], name="job_by_status"),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["account", "id"], name="job_by_account"),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["account", "input_key"], name="job_by_input"),
        ),
    ]
