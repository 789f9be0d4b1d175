"""Indexes by which lists of events find what is rare among them, and by which people search facts that are past."""

from django.db import migrations, models

#: As the one of current facts (``0016_text_keys``), which only they are in.
ENDED_KEYS = (
    "CREATE INDEX facts_facttext_ended_keys ON facts_facttext USING gin (keys) WITH (fastupdate = off)"
    " WHERE NOT active;"
)


class Migration(migrations.Migration):
    dependencies = [("facts", "0017_timezones_and_who_confirmed")]

    operations = [
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["account", "source_type", "id"], name="event_by_source"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["account", "origin_trust", "id"], name="event_by_trust"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                fields=["account", "id"], name="event_withdrawn", condition=models.Q(withdrawn_at__isnull=False)
            ),
        ),
        migrations.RunSQL(ENDED_KEYS, "DROP INDEX facts_facttext_ended_keys;"),
    ]
