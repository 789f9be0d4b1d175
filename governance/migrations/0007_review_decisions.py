"""What was decided about reviews, for undo; reviews that are put off; which change of a gate rule holds."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0007_second_look"),
        ("governance", "0006_ageing_and_retention"),
    ]

    operations = [
        migrations.AddField(
            model_name="gaterule",
            name="change_id",
            field=models.UUIDField(
                default=facts.ids.new_id,
                help_text="Names the last change, here and in the audit: a change says which one it knows.",
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="deferred_until",
            field=models.DateTimeField(
                blank=True, help_text="Put off: it is in no queue until then, and waits as before.", null=True
            ),
        ),
        migrations.CreateModel(
            name="ReviewDecision",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "verb",
                    models.CharField(
                        choices=[
                            ("approve", "Approve"),
                            ("reject", "Reject"),
                            ("end", "End"),
                            ("edit", "Edit"),
                            ("merge", "Merge"),
                            ("name_subject", "Name Subject"),
                            ("defer", "Defer"),
                        ],
                        max_length=16,
                    ),
                ),
                ("detail", models.JSONField(default=dict)),
                ("changes", models.JSONField(default=list)),
                ("actor", models.JSONField(default=dict)),
                ("decided_at", models.DateTimeField(default=facts.clock.now)),
                ("group", models.UUIDField()),
                ("undone_at", models.DateTimeField(blank=True, null=True)),
                ("undone_by", models.JSONField(blank=True, null=True)),
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
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="decisions", to="governance.review"
                    ),
                ),
            ],
            options={
                "ordering": ["-decided_at", "-id"],
                "indexes": [models.Index(fields=["account", "review"], name="review_decision_by_review")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verb__in", ["approve", "reject", "end", "edit", "merge", "name_subject", "defer"])
                        ),
                        name="review_decision_verb_known",
                    )
                ],
            },
        ),
        rls.protect("governance_reviewdecision"),
    ]
