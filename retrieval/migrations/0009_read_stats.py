"""Figures of all reads by kind and profile, with durations and distances that can be added up."""

from django.db import migrations, models

KINDS = [
    ("context", "Context"),
    ("search", "Search"),
    ("ask", "Ask"),
    ("profile", "Profile"),
    ("replay", "Replay"),
    ("preview", "Preview"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0012_day_figures"),
        ("retrieval", "0008_nightly_cards"),
    ]

    operations = [
        migrations.RenameModel("ContextStat", "ReadStat"),
        migrations.RemoveConstraint("ReadStat", "context_stat_once"),
        migrations.AlterModelOptions(
            "ReadStat", options={"ordering": ["-day", "kind", "scope_path", "purpose", "profile"]}
        ),
        migrations.AddField("ReadStat", "kind", models.CharField(choices=KINDS, default="context", max_length=16)),
        migrations.AddField("ReadStat", "profile", models.CharField(blank=True, default="", max_length=64), False),
        migrations.AddField("ReadStat", "timings", models.JSONField(default=dict)),
        migrations.AddField("ReadStat", "distances", models.JSONField(default=dict)),
        # Percentiles of days cannot be added up; what was counted before is "not measured" from now on.
        migrations.RemoveField("ReadStat", "p50_ms"),
        migrations.RemoveField("ReadStat", "p95_ms"),
        migrations.AddConstraint(
            "ReadStat",
            models.UniqueConstraint(
                fields=["account", "day", "kind", "scope_path", "purpose", "profile"], name="read_stat_once"
            ),
        ),
    ]
