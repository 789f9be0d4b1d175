"""The history of rules under the account policy, and the way to consents by where they stand."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0017_timezones_and_who_confirmed"),
        ("governance", "0013_consent_unreached"),
    ]

    operations = [
        migrations.CreateModel(
            name="RuleChange",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "sort",
                    models.CharField(
                        choices=[
                            ("gate_rule", "Gate Rule"),
                            ("gate_defaults", "Gate Defaults"),
                            ("action_rule", "Action Rule"),
                        ],
                        max_length=16,
                    ),
                ),
                ("key", models.CharField(max_length=100)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                ("note", models.CharField(blank=True, max_length=500)),
                ("made_by", models.JSONField(default=dict)),
                ("made_at", models.DateTimeField(default=facts.clock.now)),
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
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["account", "sort", "key", "id"], name="rule_change_by_rule")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("sort__in", ["gate_rule", "gate_defaults", "action_rule"])),
                        name="rule_change_sort_known",
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="consent",
            index=models.Index(fields=["account", "status", "id"], name="consent_by_status"),
        ),
        rls.protect("governance_rulechange"),
    ]
