"""Logins of terminals, which belong to no account until somebody decides about them.

Beyond the account policy: anybody may begin one; one is found by the digest of either of its codes; whoever has the
user code may take an undecided one into their account; undecided ones whose time is over may be deleted.
"""

import django.db.models.deletion
from django.db import migrations, models

import facts.clock
import facts.ids
from facts import rls

TABLE = "governance_devicelogin"
SHOWN_CODE = "user_code_digest = nullif(current_setting('app.user_code', true), '')"
LAPSED = "account_id IS NULL AND expires_at < now()"


class Migration(migrations.Migration):

    dependencies = [("facts", "0002_row_level_security"), ("governance", "0003_idempotency")]

    operations = [
        migrations.CreateModel(
            name="DeviceLogin",
            fields=[
                (
                    "id",
                    models.UUIDField(default=facts.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("device_digest", models.CharField(max_length=64, unique=True)),
                ("user_code_digest", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(default=facts.clock.now)),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "status",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("approved", "Approved"), ("refused", "Refused")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("label", models.CharField(blank=True, max_length=128)),
                (
                    "project",
                    models.CharField(
                        blank=True, help_text="Path of the scope that the client works in.", max_length=512
                    ),
                ),
                (
                    "is_confined",
                    models.BooleanField(default=False, help_text="Whether the key is confined to the project."),
                ),
                ("rights", models.JSONField(blank=True, default=list)),
                ("delegated", models.JSONField(blank=True, default=list)),
                (
                    "account",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="facts.account",
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="facts.membership",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["waiting", "approved", "refused"])),
                        name="device_login_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("account__isnull", True), ("decided_by__isnull", True), ("status", "waiting")
                            ),
                            models.Q(
                                models.Q(("status", "waiting"), _negated=True),
                                ("account__isnull", False),
                                ("decided_by__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="device_login_decided_in_an_account",
                    ),
                ],
            },
        ),
        rls.protect(TABLE),
        rls.allow_lookup(TABLE, column="device_digest", setting="app.device_code"),
        migrations.RunSQL(
            sql=(
                f"CREATE POLICY begun ON {TABLE} FOR INSERT WITH CHECK (account_id IS NULL);"
                f"CREATE POLICY shown ON {TABLE} FOR SELECT USING ({SHOWN_CODE});"
                f"CREATE POLICY decided ON {TABLE} FOR UPDATE USING (account_id IS NULL AND {SHOWN_CODE})"
                f" WITH CHECK (account_id = {rls.CURRENT_ACCOUNT});"
                f"CREATE POLICY lapsed_seen ON {TABLE} FOR SELECT USING ({LAPSED});"
                f"CREATE POLICY lapsed_deleted ON {TABLE} FOR DELETE USING ({LAPSED});"
            ),
            reverse_sql="".join(
                f"DROP POLICY {name} ON {TABLE};" for name in ("begun", "shown", "decided", "lapsed_seen", "lapsed_deleted")
            ),
        ),
    ]
