"""What reading messages came to and what models cost, by day."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import connection

from facts import day_figures
from facts.figure_names import FigureName
from facts.models import DayFigure
from facts.spread import bucket_sql
from facts.tenancy import ROOT

NAMES = (
    FigureName.EVENTS_READ,
    FigureName.CANDIDATES,
    FigureName.REJECTIONS,
    FigureName.MODEL_CALLS,
    FigureName.MODEL_FAILED,
    FigureName.MODEL_UNPRICED,
    FigureName.MODEL_INPUT_TOKENS,
    FigureName.MODEL_OUTPUT_TOKENS,
    FigureName.MODEL_COST,
)

_READ = """
FROM ingest_eventoutcome o JOIN facts_scope s ON s.id = o.scope_id
{candidates}
WHERE o.account_id = %(account)s AND o.finished_at >= %(start)s AND o.finished_at < %(end)s
"""
_EVENTS = _READ.format(candidates="")
_CANDIDATES = _READ.format(
    candidates="JOIN ingest_candidateoutcome c ON c.account_id = o.account_id AND c.outcome_id = o.id"
)
_COUNT = f"""
SELECT (o.finished_at AT TIME ZONE 'UTC')::date, s.path, 'events_read', o.result, NULL::int, count(*)
{_EVENTS} GROUP BY 1, 2, 4
UNION ALL
SELECT (o.finished_at AT TIME ZONE 'UTC')::date, s.path, 'candidates', c.result, NULL::int, count(*)
{_CANDIDATES} GROUP BY 1, 2, 4
UNION ALL
SELECT (o.finished_at AT TIME ZONE 'UTC')::date, s.path, 'rejections', c.reason, NULL::int, count(*)
{_CANDIDATES} AND c.result = 'rejected' GROUP BY 1, 2, 4
UNION ALL
SELECT (o.finished_at AT TIME ZONE 'UTC')::date, s.path, 'rejections', o.reason, NULL::int, count(*)
{_EVENTS} AND o.result = 'rejected' AND o.reason <> '' GROUP BY 1, 2, 4
"""
#: Calls belong to the account, not to a scope. What could not be priced is counted apart and adds no cost.
_MODELS = f"""
WITH called AS (
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, role || '|' || provider || '|' || model AS who,
           {bucket_sql("latency_ms")} AS bucket, error_class, cost_usd, input_tokens, output_tokens
    FROM ingest_modelcall
    WHERE account_id = %(account)s AND created_at >= %(start)s AND created_at < %(end)s
)
SELECT day, %(root)s, 'model_calls', who, bucket, count(*) FROM called GROUP BY 1, 4, 5
UNION ALL
SELECT day, %(root)s, f.name, who, NULL::int, sum(f.number)::bigint
FROM called, LATERAL (VALUES
    ('model_failed', (error_class <> '')::int::bigint),
    ('model_unpriced', (cost_usd IS NULL AND (error_class = '' OR output_tokens > 0))::int::bigint),
    ('model_input_tokens', coalesce(input_tokens, 0)::bigint),
    ('model_output_tokens', coalesce(output_tokens, 0)::bigint),
    ('model_cost', round(coalesce(cost_usd, 0) * 100000000)::bigint)
) AS f(name, number)
GROUP BY 1, 3, 4
"""


def count(account_id: uuid.UUID, start: datetime, end: datetime) -> list[DayFigure]:
    """Return the unsaved figures of what happened from ``start`` until ``end``. Runs in the account's transaction."""
    window = {"account": account_id, "start": start, "end": end, "root": ROOT}
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, window)
        rows = cursor.fetchall()
        cursor.execute(_MODELS, window)
        return day_figures.gathered(account_id, [*rows, *cursor.fetchall()])


def register() -> None:
    """Have them counted."""
    day_figures.register(day_figures.Counted(name="intake", names=NAMES, count=count))
