"""Views of lists that people keep, and the filters they used last, under the account policy."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0011_long_jobs"),
        ("memory_site", "0003_scheduled_run"),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("list_name", models.CharField(max_length=100)),
                ("name", models.CharField(max_length=60)),
                ("query", models.JSONField(default=dict)),
                ("shared", models.BooleanField(default=False)),
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
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="facts.membership"
                    ),
                ),
            ],
            options={
                "ordering": ["name", "id"],
                "indexes": [models.Index(fields=["account", "list_name", "shared"], name="saved_view_by_list")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "owner", "list_name", "name"), name="saved_view_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LastFilters",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("list_name", models.CharField(max_length=100)),
                ("query", models.JSONField(default=dict)),
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
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="facts.membership",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("account", "owner", "list_name"), name="last_filters_once")
                ],
            },
        ),
        rls.protect("memory_site_savedview"),
        rls.protect("memory_site_lastfilters"),
    ]
