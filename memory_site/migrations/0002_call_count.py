"""The counter of calls, in a table whose changes are not logged."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("memory_site", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="CallCount",
            fields=[
                ("client", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("starts_at", models.DateTimeField(db_index=True)),
                ("calls", models.PositiveIntegerField()),
            ],
        ),
        migrations.RunSQL(
            sql="ALTER TABLE memory_site_callcount SET UNLOGGED;",
            reverse_sql="ALTER TABLE memory_site_callcount SET LOGGED;",
        ),
    ]
