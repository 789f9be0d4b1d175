"""Cards that are compacted at night, edited by people, kept in versions, and embedded."""

import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0009_refused_texts"),
        ("retrieval", "0007_large_scopes"),
    ]

    operations = [
        migrations.CreateModel(
            name="CardEdit",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("reworded", "Reworded"), ("pinned", "Pinned"), ("removed", "Removed")], max_length=8
                    ),
                ),
                ("original", models.JSONField()),
                ("text", models.CharField(blank=True, max_length=400)),
                ("facts", models.JSONField()),
                ("made_at", models.DateTimeField(default=facts.clock.now)),
                ("undone_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="CardVector",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("version", models.PositiveIntegerField()),
                ("h", pgvector.django.halfvec.HalfVectorField()),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="CardVersion",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("lines", models.JSONField()),
                (
                    "change",
                    models.CharField(
                        choices=[
                            ("built", "Built"),
                            ("compacted", "Compacted"),
                            ("edited", "Edited"),
                            ("undone", "undone by a person"),
                        ],
                        max_length=9,
                    ),
                ),
                ("builder", models.CharField(blank=True, max_length=128)),
                ("made_at", models.DateTimeField(default=facts.clock.now)),
            ],
            options={
                "ordering": ["-number"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="card",
            name="card_kind_known",
        ),
        migrations.AddField(
            model_name="card",
            name="compact_due",
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddField(
            model_name="card",
            name="compacted_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="card",
            name="compactions",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="card",
            name="created_at",
            field=models.DateTimeField(default=facts.clock.now),
        ),
        migrations.AddField(
            model_name="card",
            name="offered",
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.AlterField(
            model_name="card",
            name="builder",
            field=models.CharField(blank=True, help_text="What wrote it, and its version.", max_length=128),
        ),
        migrations.AlterField(
            model_name="card",
            name="kind",
            field=models.CharField(
                choices=[
                    ("subject_profile", "Subject Profile"),
                    ("shared_profile", "Shared Profile"),
                    ("scope_card", "Scope Card"),
                    ("entity_card", "Entity Card"),
                    ("session_summary", "Session Summary"),
                ],
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="card",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["subject_profile", "shared_profile", "scope_card", "entity_card", "session_summary"])
                ),
                name="card_kind_known",
            ),
        ),
        migrations.AddField(
            model_name="cardedit",
            name="account",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="facts.account"
            ),
        ),
        migrations.AddField(
            model_name="cardedit",
            name="card",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="edits", to="retrieval.card"
            ),
        ),
        migrations.AddField(
            model_name="cardedit",
            name="made_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="facts.membership",
            ),
        ),
        migrations.AddField(
            model_name="cardedit",
            name="undone_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="facts.membership",
            ),
        ),
        migrations.AddField(
            model_name="cardvector",
            name="account",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="facts.account"
            ),
        ),
        migrations.AddField(
            model_name="cardvector",
            name="card",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="vector", to="retrieval.card"
            ),
        ),
        migrations.AddField(
            model_name="cardvector",
            name="space",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="facts.embeddingspace"
            ),
        ),
        migrations.AddField(
            model_name="cardversion",
            name="account",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="facts.account"
            ),
        ),
        migrations.AddField(
            model_name="cardversion",
            name="card",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="versions",
                to="retrieval.card",
            ),
        ),
        migrations.AddField(
            model_name="cardversion",
            name="made_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="facts.membership",
            ),
        ),
        migrations.AddIndex(
            model_name="cardedit",
            index=models.Index(fields=["account", "card", "id"], name="card_edit_of_card"),
        ),
        migrations.AddConstraint(
            model_name="cardedit",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["reworded", "pinned", "removed"])), name="card_edit_kind_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="cardversion",
            constraint=models.UniqueConstraint(fields=("account", "card", "number"), name="card_version_once"),
        ),
        migrations.AddConstraint(
            model_name="cardversion",
            constraint=models.CheckConstraint(
                condition=models.Q(("change__in", ["built", "compacted", "edited", "undone"])),
                name="card_version_change_known",
            ),
        ),
        rls.protect("retrieval_cardedit"),
        rls.protect("retrieval_cardversion"),
        rls.protect("retrieval_cardvector"),
    ]
