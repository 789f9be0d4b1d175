"""Guards the database itself keeps: account policies, append-only records, and what the narrow index tables need."""

from __future__ import annotations

from django.db import migrations

from facts import rls

OWNED = (
    "accountsecret",
    "auditentry",
    "conflictdecision",
    "conflictmember",
    "conflictset",
    "event",
    "evidence",
    "fact",
    "factrevision",
    "facttext",
    "factvector",
    "identity",
    "job",
    "membership",
    "outboxentry",
    "passage",
    "passagetext",
    "passagevector",
    "predicatealias",
    "relation",
    "scope",
    "scopelink",
    "separation",
    "subject",
    "suppression",
    "commonlexemes",
)

#: A b-tree tuple holds at most 2,704 bytes; the fixed columns take about 100.
FITS = """
CREATE FUNCTION facts_text_fits() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS
$$ BEGIN NEW.fits := pg_column_size(NEW.tsv) <= 2400; RETURN NEW; END $$;
CREATE TRIGGER fits BEFORE INSERT OR UPDATE OF tsv ON facts_facttext
    FOR EACH ROW EXECUTE FUNCTION facts_text_fits();
CREATE TRIGGER fits BEFORE INSERT OR UPDATE OF tsv ON facts_passagetext
    FOR EACH ROW EXECUTE FUNCTION facts_text_fits();
"""

#: Account and scope go together: without this the planner expects a fiftieth of the rows.
#: Eager vacuum keeps the visibility map, and with it index-only scans.
TUNING = "".join(
    f"CREATE STATISTICS {table}_as (ndistinct, dependencies, mcv) ON account_id, scope_id FROM {table};"
    f"ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0.02,"
    " autovacuum_vacuum_insert_scale_factor = 0.02);"
    for table in ("facts_facttext", "facts_factvector", "facts_passagetext", "facts_passagevector")
)

UNDO_TUNING = "".join(
    f"DROP STATISTICS {table}_as;"
    for table in ("facts_facttext", "facts_factvector", "facts_passagetext", "facts_passagevector")
)


class Migration(migrations.Migration):
    dependencies = [("facts", "0001_ledger")]

    operations = [
        *[rls.protect(f"facts_{table}") for table in OWNED],
        rls.allow_lookup("facts_membership", column="user_id", setting="app.user"),
        rls.append_only("facts_auditentry"),
        rls.append_only("facts_factrevision", may_close="recorded_to"),
        migrations.RunSQL(
            FITS,
            "DROP TRIGGER fits ON facts_facttext; DROP TRIGGER fits ON facts_passagetext;"
            "DROP FUNCTION facts_text_fits();",
        ),
        migrations.RunSQL(TUNING, UNDO_TUNING),
    ]
