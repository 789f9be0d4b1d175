"""Messages of a forgotten subject, and the one change that revisions allow: losing content with an erased fact."""

from __future__ import annotations

from django.db import migrations, models

_FUNCTION = """
CREATE OR REPLACE FUNCTION facts_factrevision_append_only() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
{declared}BEGIN
IF TG_OP = 'UPDATE' THEN
  IF OLD.recorded_to IS NULL AND NEW.recorded_to IS NOT NULL
     AND to_jsonb(NEW) - 'recorded_to' = to_jsonb(OLD) - 'recorded_to' THEN RETURN NEW; END IF;
{also}END IF;
RAISE EXCEPTION 'facts_factrevision is append-only' USING ERRCODE = 'restrict_violation'; END $$;
"""

_ERASED = """  IF NEW.value IS NULL AND NEW.qualifiers = '{}'::jsonb
     AND NEW.value_key = '' AND NEW.identity_key = '' AND NEW.reason = ''
     AND to_jsonb(NEW) - blank = to_jsonb(OLD) - blank
     AND EXISTS (SELECT FROM public.facts_fact f WHERE f.id = OLD.fact_id AND f.status = 'deleted')
  THEN RETURN NEW; END IF;
"""
_BLANK = "DECLARE blank text[] := ARRAY['value', 'qualifiers', 'value_key', 'identity_key', 'reason'];\n"


class Migration(migrations.Migration):
    dependencies = [("facts", "0007_second_look")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="forgotten_at",
            field=models.DateTimeField(
                blank=True,
                help_text="Its subject is forgotten: no passage is served, cited by a fact or not.",
                null=True,
            ),
        ),
        migrations.RunSQL(
            _FUNCTION.format(declared=_BLANK, also=_ERASED),
            _FUNCTION.format(declared="", also=""),
        ),
    ]
