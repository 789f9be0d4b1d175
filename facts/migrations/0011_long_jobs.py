"""Long work: how far it has come and who stopped it, with its account policy."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0010_directives"),
    ]

    operations = [
        migrations.CreateModel(
            name="LongJob",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=64)),
                ("input_key", models.CharField(blank=True, max_length=200)),
                ("title", models.CharField(blank=True, max_length=200)),
                ("unit", models.CharField(max_length=32)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("cancelling", "Cancelling"),
                            ("cancelled", "Cancelled"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("done", models.PositiveBigIntegerField(default=0)),
                ("total", models.PositiveBigIntegerField(blank=True, null=True)),
                ("options", models.JSONField(blank=True, default=dict)),
                ("position", models.JSONField(blank=True, default=dict)),
                ("counts", models.JSONField(blank=True, default=dict)),
                ("pace", models.JSONField(blank=True, default=list)),
                ("token", models.UUIDField(blank=True, null=True)),
                ("runs", models.PositiveIntegerField(default=0)),
                ("started_by", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=facts.clock.now)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("updated_at", models.DateTimeField(default=facts.clock.now)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("resume_at", models.DateTimeField(blank=True, null=True)),
                ("error_class", models.CharField(blank=True, max_length=128)),
                ("cancelled_by", models.JSONField(blank=True, default=dict)),
                ("cancelled_at", models.DateTimeField(blank=True, null=True)),
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
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["waiting", "running", "paused", "cancelling", "cancelled", "done", "failed"])
                        ),
                        name="long_job_state_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("waiting", "running", "paused", "cancelling"))),
                        fields=("account", "kind", "input_key"),
                        name="long_job_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("finished_at__isnull", True),
                                ("state__in", ("waiting", "running", "paused", "cancelling")),
                            ),
                            models.Q(
                                models.Q(("state__in", ("waiting", "running", "paused", "cancelling")), _negated=True),
                                ("finished_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="long_job_finished_iff_closed",
                    ),
                ],
            },
        ),
        rls.protect("facts_longjob"),
    ]
