"""Figures by day, with their account policy, and the way to conflict sets by when they opened and closed."""

import django.db.models.deletion
import facts.ids
from django.db import migrations, models

from facts import rls


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0011_long_jobs"),
    ]

    operations = [
        migrations.CreateModel(
            name="CountedUntil",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("source", models.CharField(max_length=32)),
                ("until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="DayFigure",
            fields=[
                ("id", models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("day", models.DateField()),
                ("scope_path", models.CharField(max_length=512)),
                ("name", models.CharField(max_length=32)),
                ("key", models.CharField(blank=True, max_length=220)),
                ("number", models.BigIntegerField()),
                ("spread", models.JSONField(default=dict)),
            ],
            options={
                "ordering": ["-day", "scope_path", "name", "key"],
            },
        ),
        migrations.AddIndex(
            model_name="conflictset",
            index=models.Index(fields=["account", "opened_at"], name="conflict_by_opening"),
        ),
        migrations.AddIndex(
            model_name="conflictset",
            index=models.Index(fields=["account", "closed_at"], name="conflict_by_close"),
        ),
        migrations.AddField(
            model_name="counteduntil",
            name="account",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="facts.account"
            ),
        ),
        migrations.AddField(
            model_name="dayfigure",
            name="account",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="facts.account"
            ),
        ),
        migrations.AddConstraint(
            model_name="counteduntil",
            constraint=models.UniqueConstraint(fields=("account", "source"), name="counted_until_once"),
        ),
        migrations.AddConstraint(
            model_name="dayfigure",
            constraint=models.UniqueConstraint(
                fields=("account", "name", "day", "scope_path", "key"), name="day_figure_once"
            ),
        ),
        *[rls.protect(table) for table in ("facts_dayfigure", "facts_counteduntil")],
    ]
