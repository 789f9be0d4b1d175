"""Who left an account, under the account policy."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0010_directives"),
        ("governance", "0008_consent_links"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Leaving",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "facts",
                    models.CharField(
                        choices=[
                            ("keep", "stay with the account, as governed as before"),
                            ("forget", "are forgotten, and can be brought back"),
                            ("erase", "are erased for good, with what they said themselves"),
                        ],
                        max_length=8,
                    ),
                ),
                ("detail", models.JSONField(default=dict)),
                ("actor", models.JSONField(default=dict)),
                ("left_at", models.DateTimeField(default=facts.clock.now)),
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
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="facts.subject"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["account", "subject"], name="leaving_by_subject")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("facts__in", ["keep", "forget", "erase"])), name="leaving_facts_known"
                    )
                ],
            },
        ),
        rls.protect("governance_leaving"),
    ]
