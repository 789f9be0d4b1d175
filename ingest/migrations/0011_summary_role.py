"""Models may be asked to word summaries."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0010_page_summaries"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="modelcall", name="model_call_role_known"),
        migrations.AlterField(
            model_name="modelcall",
            name="role",
            field=models.CharField(
                choices=[
                    ("extraction", "Extraction"),
                    ("answerer", "Answerer"),
                    ("embedding", "Embedding"),
                    ("mood", "Mood"),
                    ("page_summary", "Page Summary"),
                    ("summary", "Summary"),
                ],
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["extraction", "answerer", "embedding", "mood", "page_summary", "summary"])),
                name="model_call_role_known",
            ),
        ),
    ]
