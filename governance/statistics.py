"""What people decided and what waited for them, by day: conflicts and reviews, opened and closed."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import connection

from facts import day_figures
from facts.figure_names import FigureName
from facts.models import DayFigure
from facts.spread import bucket_sql

NAMES = (
    FigureName.CONFLICTS_OPENED,
    FigureName.CONFLICTS_CLOSED,
    FigureName.REVIEWS_OPENED,
    FigureName.REVIEWS_DECIDED,
    FigureName.REVIEW_OUTCOMES,
)

_OPEN_FOR = bucket_sql("extract(epoch FROM c.closed_at - c.opened_at)")
_WAITED = bucket_sql("extract(epoch FROM r.decided_at - r.created_at)")
#: A review lies in the scope of what it asks about. What was decided and then taken back waits again, and counts as
#: decided only on days that were counted before.
_REVIEWS = """
FROM governance_review r
LEFT JOIN facts_fact f ON f.id = r.fact_id LEFT JOIN facts_event e ON e.id = r.event_id
LEFT JOIN facts_conflictset c ON c.id = r.conflict_set_id
JOIN facts_scope s ON s.id = coalesce(f.scope_id, e.scope_id, c.scope_id)
WHERE r.account_id = %(account)s
"""
_COUNT = f"""
SELECT (c.opened_at AT TIME ZONE 'UTC')::date, s.path, 'conflicts_opened', c.kind, NULL::int, count(*)
FROM facts_conflictset c JOIN facts_scope s ON s.id = c.scope_id
WHERE c.account_id = %(account)s AND c.opened_at >= %(start)s AND c.opened_at < %(end)s
GROUP BY 1, 2, 4
UNION ALL
SELECT (c.closed_at AT TIME ZONE 'UTC')::date, s.path, 'conflicts_closed', c.status, {_OPEN_FOR}, count(*)
FROM facts_conflictset c JOIN facts_scope s ON s.id = c.scope_id
WHERE c.account_id = %(account)s AND c.closed_at >= %(start)s AND c.closed_at < %(end)s
GROUP BY 1, 2, 4, 5
UNION ALL
SELECT (r.created_at AT TIME ZONE 'UTC')::date, s.path, 'reviews_opened', r.kind, NULL::int, count(*)
{_REVIEWS} AND r.created_at >= %(start)s AND r.created_at < %(end)s
GROUP BY 1, 2, 4
UNION ALL
SELECT (r.decided_at AT TIME ZONE 'UTC')::date, s.path, 'reviews_decided', r.kind, {_WAITED}, count(*)
{_REVIEWS} AND r.decided_at >= %(start)s AND r.decided_at < %(end)s
GROUP BY 1, 2, 4, 5
UNION ALL
SELECT (r.decided_at AT TIME ZONE 'UTC')::date, s.path, 'review_outcomes', r.status, NULL::int, count(*)
{_REVIEWS} AND r.decided_at >= %(start)s AND r.decided_at < %(end)s
GROUP BY 1, 2, 4
"""


def count(account_id: uuid.UUID, start: datetime, end: datetime) -> list[DayFigure]:
    """Return the unsaved figures of what happened from ``start`` until ``end``. Runs in the account's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"account": account_id, "start": start, "end": end})
        return day_figures.gathered(account_id, cursor.fetchall())


def register() -> None:
    """Have them counted."""
    day_figures.register(day_figures.Counted(name="decisions", names=NAMES, count=count))
