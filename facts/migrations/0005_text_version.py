"""In which form the text rows of an account are: those that are there now are in the first one."""

from django.db import migrations, models

import facts.textindex


class Migration(migrations.Migration):
    dependencies = [("facts", "0004_passages_by_time")]

    operations = [
        migrations.AddField(
            model_name="account",
            name="text_version",
            field=models.CharField(default="1", editable=False, max_length=8),
        ),
        migrations.AlterField(
            model_name="account",
            name="text_version",
            field=models.CharField(
                default=facts.textindex.ANALYZER_VERSION,
                editable=False,
                help_text="The form in which all text rows of the account are indexed (facts.textindex).",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="text_progress",
            field=models.JSONField(
                default=dict,
                editable=False,
                help_text="How far they are in the form that comes next (facts.reindexing).",
            ),
        ),
    ]
