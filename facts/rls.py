"""Row-level security: the second, database-side guard around an account.

Every owned table gets the same policy: a row is visible and writable only where its account equals the
transaction-local setting ``app.account``. Unset or empty means no rows. The policy binds the table owner too
(``FORCE``). It stops forgotten filters, not SQL injection: the application role can set the variable itself.

Three tables have further policies, because they are asked before the account is known: API keys by the digest of the
presented key, memberships by the signed-in user, logins of terminals by the digest of one of their codes
(``governance`` and ``facts`` migrations).
"""

from __future__ import annotations

from django.db import migrations

#: ``nullif``: after a transaction ends, a once-set local variable reads as '' and not as NULL.
CURRENT_ACCOUNT = "nullif(current_setting('app.account', true), '')::uuid"


def protect(table: str, *, column: str = "account_id") -> migrations.RunSQL:
    """Return a migration operation that enables and forces the account policy on ``table``."""
    condition = f"{column} = {CURRENT_ACCOUNT}"
    return migrations.RunSQL(
        sql=(
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
            f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY;"
            f"CREATE POLICY account_only ON {table} USING ({condition}) WITH CHECK ({condition});"
        ),
        reverse_sql=(
            f"DROP POLICY account_only ON {table};"
            f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;"
            f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;"
        ),
    )


def allow_lookup(table: str, *, column: str, setting: str) -> migrations.RunSQL:
    """Return an operation that lets exactly the rows whose ``column`` equals a local setting be read."""
    condition = f"{column}::text = nullif(current_setting('{setting}', true), '')"
    return migrations.RunSQL(
        sql=f"CREATE POLICY lookup ON {table} FOR SELECT USING ({condition});",
        reverse_sql=f"DROP POLICY lookup ON {table};",
    )


def append_only(table: str, *, may_close: str = "") -> migrations.RunSQL:
    """Return an operation whose triggers refuse UPDATE, DELETE and TRUNCATE on ``table``.

    ``may_close`` names the one timestamp column that may go from NULL to a value. A role that bypasses triggers
    (the migrating owner with ``session_replication_role = replica``) is needed for anything else.
    """
    allowed = (
        # Nested, because OLD exists for row triggers only and both sides of an AND may be evaluated.
        f"IF TG_OP = 'UPDATE' THEN"
        f" IF OLD.{may_close} IS NULL AND NEW.{may_close} IS NOT NULL"
        f" AND to_jsonb(NEW) - '{may_close}' = to_jsonb(OLD) - '{may_close}' THEN RETURN NEW; END IF; END IF;"
        if may_close
        else ""
    )
    return migrations.RunSQL(
        sql=(
            f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql"
            f" SET search_path = pg_catalog AS $$ BEGIN {allowed}"
            f" RAISE EXCEPTION '{table} is append-only' USING ERRCODE = 'restrict_violation'; END $$;"
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}"
            f" FOR EACH ROW EXECUTE FUNCTION {table}_append_only();"
            f"CREATE TRIGGER append_only_as_a_whole BEFORE TRUNCATE ON {table}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only();"
        ),
        reverse_sql=(
            f"DROP TRIGGER append_only_as_a_whole ON {table}; DROP TRIGGER append_only ON {table};"
            f"DROP FUNCTION {table}_append_only();"
        ),
    )
