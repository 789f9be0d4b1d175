"""The heartbeat table, and the index that the queue's poll lacks."""

from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [("django_q", "0019_alter_task_options_alter_ormq_key_alter_ormq_lock_and_more")]

    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("name", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("beat_at", models.DateTimeField()),
            ],
        ),
        migrations.RunSQL(
            sql="CREATE INDEX memory_site_queue_poll ON django_q_ormq (key, lock, id);",
            reverse_sql="DROP INDEX memory_site_queue_poll;",
        ),
    ]
