"""Remarks, presence and what was chosen in lists, under the account policy."""

import django.db.models.deletion
import facts.clock
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0011_long_jobs"),
        ("governance", "0010_consent_by_message"),
    ]

    operations = [
        migrations.CreateModel(
            name="Presence",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "about",
                    models.CharField(choices=[("review", "Review"), ("conflict_set", "Conflict Set")], max_length=12),
                ),
                ("object_id", models.UUIDField()),
                ("seen_at", models.DateTimeField(default=facts.clock.now)),
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
                    "membership",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="facts.membership"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["account", "membership", "seen_at"], name="presence_by_person")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("about__in", ["review", "conflict_set"])), name="presence_about_known"
                    ),
                    models.UniqueConstraint(fields=("account", "object_id", "membership"), name="presence_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Remark",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("text", models.TextField(blank=True)),
                ("actor", models.JSONField(default=dict)),
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
                (
                    "conflict_set",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="remarks",
                        to="facts.conflictset",
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="remarks",
                        to="governance.review",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["account", "review"], name="remark_by_review"),
                    models.Index(fields=["account", "conflict_set"], name="remark_by_conflict"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("review__isnull", True), ("conflict_set__isnull", True), _connector="XOR"),
                        name="remark_about_one_thing",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Selection",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(help_text="The list.", max_length=40)),
                ("items", models.JSONField(default=dict)),
                ("outcome", models.JSONField(default=dict)),
                ("changed_at", models.DateTimeField(default=facts.clock.now)),
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
                    "membership",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="facts.membership"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("account", "membership", "name"), name="selection_once")
                ],
            },
        ),
        rls.protect("governance_presence"),
        rls.protect("governance_remark"),
        rls.protect("governance_selection"),
    ]
