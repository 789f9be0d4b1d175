"""Account policies of the governance tables, and the look-up of a key before its account is known."""

from __future__ import annotations

from django.db import migrations

from facts import rls

OWNED = ("grant", "apikey", "gaterule", "gatedecision", "review", "feedback", "forgetreceipt")


class Migration(migrations.Migration):
    dependencies = [("governance", "0001_governance"), ("facts", "0002_row_level_security")]

    operations = [
        *[rls.protect(f"governance_{table}") for table in OWNED],
        rls.allow_lookup("governance_apikey", column="digest", setting="app.key_digest"),
        rls.append_only("governance_gatedecision"),
    ]
