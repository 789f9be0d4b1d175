"""Scopes that have indexes of their own."""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0003_vector_widths"),
        ("retrieval", "0006_profile_traces"),
    ]

    operations = [
        migrations.CreateModel(
            name="LargeScope",
            fields=[
                (
                    "id",
                    models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("rows", models.PositiveIntegerField()),
                ("built_at", models.DateTimeField(default=facts.clock.now)),
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
                    "scope",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="facts.scope",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="facts.embeddingspace",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("account", "scope"), name="large_scope_once")],
            },
        ),
        rls.protect("retrieval_largescope"),
    ]
