"""Texts that an embedder refuses, and their number in each embedding space."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from facts import rls
from facts.ids import new_id


class Migration(migrations.Migration):
    dependencies = [("facts", "0008_forgotten_and_erased")]

    operations = [
        migrations.AddField(model_name="embeddingspace", name="refused", field=models.PositiveIntegerField(null=True)),
        migrations.CreateModel(
            name="RefusedText",
            fields=[
                ("id", models.UUIDField(default=new_id, editable=False, primary_key=True, serialize=False)),
                ("unit", models.CharField(choices=[("fact", "Fact"), ("passage", "Passage")], max_length=8)),
                ("item_id", models.UUIDField()),
                ("times", models.PositiveSmallIntegerField(default=1)),
                ("retry_at", models.DateTimeField()),
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
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="facts.embeddingspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=["account", "space", "unit", "item_id"], name="refused_text_once")
                ],
            },
        ),
        rls.protect("facts_refusedtext"),
    ]
