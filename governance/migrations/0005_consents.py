"""What subjects said about sharing, and requests to let a fact be known higher up, under the account policy."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0005_text_version"),
        ("governance", "0004_device_login"),
    ]

    operations = [
        migrations.CreateModel(
            name="Consent",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("granted", "Granted"),
                            ("denied", "Denied"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        blank=True, choices=[("session", "Session"), ("link", "Link"), ("auto", "Auto")], max_length=12
                    ),
                ),
                ("verified", models.BooleanField(default=False)),
                ("requested_by", models.JSONField(default=dict)),
                ("requested_at", models.DateTimeField(default=facts.clock.now)),
                ("decided_by", models.JSONField(blank=True, null=True)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
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
                    "fact",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="consents", to="facts.fact"
                    ),
                ),
                (
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="facts.subject"
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="facts.scope"),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["account", "subject", "status"], name="consent_by_subject")],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "fact", "subject", "target"), name="consent_once"),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "granted", "denied", "withdrawn"])),
                        name="consent_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "granted"), _negated=True),
                            ("verified", True),
                            ("channel", "auto"),
                            _connector="OR",
                        ),
                        name="consent_yes_is_verified",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Promotion",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("fact_version", models.PositiveIntegerField()),
                ("reason", models.CharField(max_length=500)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("requested", "Requested"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                            ("cancelled", "Cancelled"),
                            ("refused", "Refused"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="requested",
                        max_length=12,
                    ),
                ),
                ("requested_by", models.JSONField(default=dict)),
                ("requested_at", models.DateTimeField(default=facts.clock.now)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
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
                    "copy",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="facts.fact",
                    ),
                ),
                (
                    "fact",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="promotions", to="facts.fact"
                    ),
                ),
                (
                    "review",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="promotion", to="governance.review"
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="facts.scope"),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["account", "fact"], name="promotion_by_fact"),
                    models.Index(fields=["account", "target", "status"], name="promotion_by_target"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["requested", "approved", "rejected", "cancelled", "refused", "withdrawn"])
                        ),
                        name="promotion_status_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "requested")),
                        fields=("account", "fact"),
                        name="promotion_one_open",
                    ),
                ],
            },
        ),
        rls.protect("governance_consent"),
        rls.protect("governance_promotion"),
    ]
