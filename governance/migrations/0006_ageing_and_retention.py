"""When a review was escalated, and how long accounts keep what was said word for word."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls

SOURCE_TYPES = [
    ("channel_message", "Channel Message"),
    ("conversation", "Conversation"),
    ("url_fetch", "Url Fetch"),
    ("web_search", "Web Search"),
    ("backfill", "Backfill"),
    ("admin_input", "Admin Input"),
]


class Migration(migrations.Migration):
    dependencies = [("facts", "0006_audit_tip_and_raw_text"), ("governance", "0005_consents")]

    operations = [
        migrations.AddField(
            model_name="review",
            name="escalated_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When it had been due and nobody had decided; its due date was moved then.",
                null=True,
            ),
        ),
        migrations.CreateModel(
            name="RetentionRule",
            fields=[
                (
                    "id",
                    models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("source_type", models.CharField(choices=SOURCE_TYPES, max_length=20)),
                (
                    "channel_id",
                    models.CharField(
                        blank=True, help_text="Empty: every channel without its own rule.", max_length=128
                    ),
                ),
                ("days", models.PositiveIntegerField(blank=True, help_text="Empty: for ever.", null=True)),
                ("set_by", models.JSONField(default=dict)),
                ("set_at", models.DateTimeField(default=facts.clock.now)),
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
                "ordering": ["source_type", "channel_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "source_type", "channel_id"), name="retention_rule_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source_type__in", [value for value, _ in SOURCE_TYPES])),
                        name="retention_source_type_known",
                    ),
                ],
            },
        ),
        rls.protect("governance_retentionrule"),
    ]
