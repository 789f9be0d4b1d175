"""Backfill of channels, faults and uploads of imports, with their account policy."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0011_long_jobs"),
        ("ingest", "0008_slack"),
    ]

    operations = [
        migrations.CreateModel(
            name="ImportUpload",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("content", models.BinaryField()),
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
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="upload", to="ingest.importrun"
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="BackfillChannel",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("team", models.CharField(max_length=64)),
                ("channel_id", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("reading", "Reading"),
                            ("done", "Done"),
                            ("skipped", "Skipped"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=64)),
                ("newest", models.CharField(blank=True, max_length=32)),
                ("floor", models.CharField(blank=True, max_length=32)),
                ("top", models.CharField(blank=True, max_length=32)),
                ("oldest", models.CharField(blank=True, max_length=32)),
                ("threads", models.JSONField(blank=True, default=list)),
                ("thread_cursor", models.CharField(blank=True, max_length=500)),
                ("more_to_read", models.BooleanField(default=True)),
                ("messages", models.PositiveIntegerField(default=0)),
                ("replies", models.PositiveIntegerField(default=0)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
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
                    "work",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="facts.longjob",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "reading", "done", "skipped"])),
                        name="backfill_state_known",
                    ),
                    models.UniqueConstraint(fields=("account", "team", "channel_id"), name="backfill_channel_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportFault",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("line", models.PositiveIntegerField()),
                ("field", models.CharField(blank=True, max_length=100)),
                ("code", models.CharField(max_length=64)),
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
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="import_faults", to="ingest.importrun"
                    ),
                ),
            ],
            options={
                "ordering": ["line"],
                "constraints": [models.UniqueConstraint(fields=("account", "run", "line"), name="import_fault_once")],
            },
        ),
        rls.protect("ingest_backfillchannel"),
        rls.protect("ingest_importfault"),
        rls.protect("ingest_importupload"),
    ]
