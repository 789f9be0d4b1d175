"""Calls to remote embedders are on the ledger too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0005_answerer_role"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="modelcall", name="model_call_role_known"),
        migrations.AlterField(
            model_name="modelcall",
            name="role",
            field=models.CharField(
                choices=[("extraction", "Extraction"), ("answerer", "Answerer"), ("embedding", "Embedding")],
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["extraction", "answerer", "embedding"])), name="model_call_role_known"
            ),
        ),
    ]
