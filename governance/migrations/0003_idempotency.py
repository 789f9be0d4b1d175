"""The answers kept for repeated requests, under the account policy."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):

    dependencies = [("governance", "0002_row_level_security")]

    operations = [
        migrations.CreateModel(
            name="IdempotencyRecord",
            fields=[
                (
                    "id",
                    models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("credential_id", models.UUIDField(help_text="The key or membership that made the request.")),
                ("key", models.CharField(max_length=200)),
                ("request_hash", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("body", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=facts.clock.now)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="facts.account",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["account", "created_at"], name="idempotency_by_age")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "credential_id", "key"), name="idempotency_key_once"
                    )
                ],
            },
        ),
        rls.protect("governance_idempotencyrecord"),
    ]
