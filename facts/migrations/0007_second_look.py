"""How many facts that the gates placed by themselves are looked at afterwards."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("facts", "0006_audit_tip_and_raw_text"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="second_look_percent",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="How many of a hundred facts that the gates placed by themselves a person looks at afterwards.",
            ),
        ),
        migrations.AddConstraint(
            model_name="account",
            constraint=models.CheckConstraint(
                condition=models.Q(("second_look_percent__lte", 100)), name="account_second_look_percent"
            ),
        ),
    ]
