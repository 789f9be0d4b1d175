"""Facts that quote an order to whoever reads them, and passages that are withheld for their sake."""

from __future__ import annotations

from django.db import migrations, models

_WITHHELD = models.CharField(
    blank=True,
    choices=[
        ("", "nothing withholds it"),
        ("conflict_open", "an open conflict set"),
        ("source_forgotten", "a fact that cites it was forgotten"),
        ("directive_held", "it gives orders to whoever reads it, and nobody has let it be quoted"),
    ],
    db_default="",
    default="",
    max_length=20,
)


class Migration(migrations.Migration):
    dependencies = [("facts", "0009_refused_texts")]

    operations = [
        migrations.AlterField(model_name="fact", name="withheld", field=_WITHHELD),
        migrations.AlterField(model_name="passage", name="withheld", field=_WITHHELD),
        migrations.AddField(
            model_name="fact",
            name="directive",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="It quotes an order to whoever reads it; the passage is withheld unless a person let it be "
                "quoted.",
            ),
        ),
    ]
