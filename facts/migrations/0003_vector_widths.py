import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

from facts import rls

WIDE = tuple((unit, width) for width in (768, 1024, 1536) for unit in ("fact", "passage"))

#: Vectors stay in their rows: out of line, each would cost a look-up of its own. Statistics and vacuum as for the
#: narrow tables.
TUNING = "".join(
    f"ALTER TABLE facts_{unit}vector{width} ALTER COLUMN h SET STORAGE PLAIN;"
    f"CREATE STATISTICS facts_{unit}vector{width}_as (ndistinct, dependencies, mcv) ON account_id, scope_id"
    f" FROM facts_{unit}vector{width};"
    f"ALTER TABLE facts_{unit}vector{width} SET (autovacuum_vacuum_scale_factor = 0.02,"
    " autovacuum_vacuum_insert_scale_factor = 0.02);"
    for unit, width in WIDE
)
UNDO_TUNING = "".join(f"DROP STATISTICS facts_{unit}vector{width}_as;" for unit, width in WIDE)


def owner(model):
    return models.ForeignKey(
        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to=f"facts.{model}"
    )


def table(unit, width):
    return migrations.CreateModel(
        name=f"{unit.title()}Vector{width}",
        fields=[
            ("active", models.BooleanField()),
            ("audience", models.SmallIntegerField()),
            ("expires_at", models.DateTimeField(null=True)),
            ("valid_from", models.DateTimeField(null=True)),
            ("valid_to", models.DateTimeField(null=True)),
            (
                "pk",
                models.CompositePrimaryKey(
                    f"{unit}_id", "space_id", blank=True, editable=False, primary_key=True, serialize=False
                ),
            ),
            ("h", pgvector.django.halfvec.HalfVectorField(dimensions=width)),
            ("account", owner("account")),
            (unit, owner(unit)),
            ("scope", owner("scope")),
            (
                "space",
                models.ForeignKey(
                    db_index=False,
                    on_delete=django.db.models.deletion.PROTECT,
                    related_name="+",
                    to="facts.embeddingspace",
                ),
            ),
            ("subject", owner("subject")),
        ],
        options={
            "indexes": [
                models.Index(
                    condition=models.Q(("active", True)),
                    fields=["account", "scope", "subject"],
                    include=(unit, "audience", "expires_at", "valid_from", "valid_to", "space"),
                    name=f"{unit}_vector_{width}",
                )
            ],
            "abstract": False,
        },
    )


class Migration(migrations.Migration):
    dependencies = [("facts", "0002_row_level_security")]

    operations = [
        migrations.AddField("embeddingspace", "blueprint", models.JSONField(default=dict)),
        migrations.AddField("embeddingspace", "serving", models.BooleanField(default=False)),
        migrations.AddField("embeddingspace", "serving_since", models.DateTimeField(null=True)),
        migrations.AddField("embeddingspace", "asked_for_at", models.DateTimeField(null=True)),
        migrations.AddField("embeddingspace", "missing", models.PositiveIntegerField(null=True)),
        migrations.AddField("embeddingspace", "counted_at", models.DateTimeField(null=True)),
        migrations.AddConstraint(
            model_name="embeddingspace",
            constraint=models.UniqueConstraint(
                condition=models.Q(("serving", True)), fields=("serving",), name="embedding_space_one_serves"
            ),
        ),
        *[table(unit, width) for unit, width in WIDE],
        *[rls.protect(f"facts_{unit}vector{width}") for unit, width in WIDE],
        migrations.RunSQL(TUNING, UNDO_TUNING),
    ]
