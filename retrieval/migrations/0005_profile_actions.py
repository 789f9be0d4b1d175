"""A version of an override says how it came about; looks at what a read would serve leave traces of their own kinds."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0004_entities_by_their_aliases"),
    ]

    operations = [
        migrations.AddField(
            model_name="retrievalprofile",
            name="action",
            field=models.CharField(
                choices=[("saved", "Saved"), ("reverted", "went back"), ("switched_off", "switched off")],
                default="saved",
                max_length=12,
            ),
        ),
        migrations.AddConstraint(
            model_name="retrievalprofile",
            constraint=models.CheckConstraint(
                condition=models.Q(("action__in", ["saved", "reverted", "switched_off"])),
                name="retrieval_profile_action_known",
            ),
        ),
        migrations.AlterField(
            model_name="trace",
            name="kind",
            field=models.CharField(
                choices=[
                    ("context", "Context"),
                    ("search", "Search"),
                    ("ask", "Ask"),
                    ("replay", "Replay"),
                    ("preview", "Preview"),
                ],
                default="context",
                max_length=16,
            ),
        ),
    ]
