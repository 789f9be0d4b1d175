"""The last entry of each audit chain, for the chains that are there as well; and when raw text was removed."""

import django.db.models.deletion
from django.db import migrations, models

from facts import rls

#: Row-level security binds the owner too, so each account is entered in turn.
FILL = """
DO $$ DECLARE one uuid; BEGIN
    FOR one IN SELECT id FROM facts_account LOOP
        PERFORM set_config('app.account', one::text, true);
        INSERT INTO facts_audittip (account_id, seq, hash)
            SELECT account_id, seq, hash FROM facts_auditentry WHERE account_id = one ORDER BY seq DESC LIMIT 1;
    END LOOP;
    PERFORM set_config('app.account', '', true);
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("facts", "0005_text_version")]

    operations = [
        migrations.CreateModel(
            name="AuditTip",
            fields=[
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="facts.account",
                    ),
                ),
                ("seq", models.PositiveBigIntegerField()),
                ("hash", models.CharField(max_length=64)),
            ],
        ),
        rls.protect("facts_audittip"),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddField(
            model_name="event",
            name="text_removed_at",
            field=models.DateTimeField(
                blank=True, help_text="When retention removed what was said; quotes in facts stay.", null=True
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                fields=["account", "source_type", "recorded_at"],
                name="event_with_raw_text",
                condition=models.Q(text_removed_at__isnull=True),
            ),
        ),
    ]
