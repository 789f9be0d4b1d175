"""When what runs by the clock was last completed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory_site", "0002_call_count")]

    operations = [
        migrations.CreateModel(
            name="ScheduledRun",
            fields=[
                ("name", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("scheduled_at", models.DateTimeField()),
                ("completed_at", models.DateTimeField(null=True)),
                ("settled", models.PositiveIntegerField(null=True)),
            ],
        ),
    ]
