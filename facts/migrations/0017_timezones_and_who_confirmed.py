"""Time zones that are names, and who confirmed an identity.

What is no name at all could never be read, and was gone by as UTC where it stopped nothing: it says so from here on.
"""

from django.db import migrations, models

REPAIR = r"""
UPDATE facts_account SET timezone = 'UTC' WHERE timezone !~ '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$'
"""


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0016_text_keys"),
    ]

    operations = [
        migrations.RunSQL(REPAIR, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="account",
            constraint=models.CheckConstraint(
                condition=models.Q(("timezone__regex", "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$")),
                name="account_timezone_is_a_name",
            ),
        ),
        migrations.AddField(
            model_name="identity",
            name="confirmed_by",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
