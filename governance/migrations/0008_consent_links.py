"""The links by which subjects are asked, under the account policy."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [("governance", "0007_review_decisions")]

    operations = [
        migrations.CreateModel(
            name="ConsentLink",
            fields=[
                (
                    "id",
                    models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("created_at", models.DateTimeField(default=facts.clock.now)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="facts.account",
                    ),
                ),
                (
                    "consent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links",
                        to="governance.consent",
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["account", "consent"], name="consent_link_by_consent")]},
        ),
        rls.protect("governance_consentlink"),
    ]
