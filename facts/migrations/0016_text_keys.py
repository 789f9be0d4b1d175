"""One number for each lexeme of a text row in its scope, and an inverted index of them.

A lexeme is looked up in one scope only: an inverted index of lexemes alone would go through every scope that uses the
word. The column is generated, so that nothing that changes lexemes or scope can forget it.
"""

from __future__ import annotations

from django.db import migrations

from facts import text_views

TABLES = ("facts_facttext", "facts_passagetext")

#: Immutable: both hashes are the ones that partitioned tables rely on, and they look at bytes alone.
KEYS = """
CREATE FUNCTION facts_text_keys(scope uuid, lexemes text[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT coalesce(array_agg(hashtextextended(lexeme COLLATE "C", uuid_hash_extended(scope, 0))), '{}')
    FROM unnest(lexemes) AS lexeme
$$;
"""

#: Without a list of pending entries, which every search would read from end to end.
COLUMNS = "".join(
    f"ALTER TABLE {table} ADD COLUMN keys bigint[] NOT NULL"
    " GENERATED ALWAYS AS (facts_text_keys(scope_id, tsvector_to_array(tsv))) STORED;"
    f"CREATE INDEX {table}_keys ON {table} USING gin (keys) WITH (fastupdate = off) WHERE active;"
    for table in TABLES
)


class Migration(migrations.Migration):
    dependencies = [("facts", "0015_subject_merges")]

    operations = [
        migrations.RunSQL(KEYS, "DROP FUNCTION facts_text_keys(uuid, text[]);"),
        migrations.RunSQL(
            COLUMNS,
            "".join(f"ALTER TABLE {table} DROP COLUMN keys;" for table in TABLES),
        ),
        migrations.RunPython(migrations.RunPython.noop, lambda apps, editor: text_views.hide(editor.connection)),
    ]
