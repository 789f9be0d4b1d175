"""When something that runs by the clock failed last, and with which error."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory_site", "0004_saved_views"),
    ]

    operations = [
        migrations.AddField(
            model_name="scheduledrun",
            name="failed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="scheduledrun",
            name="error_class",
            field=models.CharField(blank=True, default="", max_length=128),
        ),
    ]
