"""Figures about reading, from daily rollups where a day has one and from traces where it has not.

They are about context calls: searches, and looks at what a read would serve, do not enter them.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate

from facts.audience import Reader, visible_to
from facts.clock import now
from facts.ids import lower_bound
from facts.models import Account, Event, Fact, Scope
from facts.tenancy import account_transaction
from facts.vocabulary import Status
from retrieval.models import ContextStat

#: Days that an overview looks back unless asked otherwise.
WINDOW_DAYS = 30
#: Newest calls whose durations make the percentiles.
TIMED_CALLS = 1_000

_COUNTERS = ("calls", "calls_with_facts", "degraded", "failed", "considered", "served", "withheld", "tokens")

_BY_DAY = """
SELECT (t.created_at AT TIME ZONE 'UTC')::date, t.scope_path, t.purpose,
       count(*), count(*) FILTER (WHERE t.facts_served > 0), count(*) FILTER (WHERE t.status = 'degraded'),
       count(*) FILTER (WHERE t.status = 'failed'), sum(t.considered), sum(t.facts_served +
       t.passages_served), sum(t.withheld), sum(t.tokens), percentile_cont(0.5) WITHIN GROUP (ORDER BY
       t.duration_ms), percentile_cont(0.95) WITHIN GROUP (ORDER BY t.duration_ms)
FROM retrieval_trace t
WHERE t.account_id = %(account)s AND t.kind = 'context' AND t.id >= %(low)s AND t.id < %(high)s
  AND (%(subject)s::uuid IS NULL OR t.subject_id = %(subject)s)
GROUP BY 1, 2, 3
"""
_TALLIES = """
SELECT (t.created_at AT TIME ZONE 'UTC')::date, t.scope_path, t.purpose, k.what, k.name, sum(k.number)::int
FROM retrieval_trace t, LATERAL (
    SELECT 'reasons', key, value::int FROM jsonb_each_text(t.reasons)
    UNION ALL SELECT 'empty', t.empty_reason, 1 WHERE t.empty_reason <> ''
) AS k(what, name, number)
WHERE t.account_id = %(account)s AND t.kind = 'context' AND t.id >= %(low)s AND t.id < %(high)s
  AND (%(subject)s::uuid IS NULL OR t.subject_id = %(subject)s)
GROUP BY 1, 2, 3, 4, 5
"""


@dataclass(slots=True)
class Figures:
    """Context calls added up. ``injection_rate`` is null when there were none, never 0."""

    calls: int = 0
    calls_with_facts: int = 0
    degraded: int = 0
    failed: int = 0
    considered: int = 0
    served: int = 0
    withheld: int = 0
    tokens: int = 0
    empty: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, stat: ContextStat) -> None:
        """Add the figures of one day, scope and purpose."""
        for name in _COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(stat, name))
        self.empty.update(stat.empty)
        self.reasons.update(stat.reasons)

    @property
    def injection_rate(self) -> float | None:
        """Share of the calls that served at least one fact."""
        return round(self.calls_with_facts / self.calls, 4) if self.calls else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The figures of a window: all together, and for each scope, purpose and day. Durations are in milliseconds."""

    window_days: int
    total: Figures
    by_scope: dict[str, Figures]
    by_purpose: dict[str, Figures]
    by_day: dict[date, Figures]
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    active_facts: int
    events_by_day: dict[date, int]


def overview(
    *,
    account_id: uuid.UUID,
    scopes: Sequence[Scope],
    reader: Reader,
    subject_id: uuid.UUID | None = None,
    window_days: int = WINDOW_DAYS,
) -> Overview:
    """Return the figures of the last ``window_days`` days for ``scopes``, counting only facts the reader may see.

    Figures of one subject always come from traces: rollups do not tell subjects apart.
    """
    today = now().date()
    paths = {scope.path for scope in scopes}
    stats = [
        stat
        for stat in _stats(account_id, today - timedelta(days=window_days - 1), today, subject_id)
        if stat.scope_path in paths
    ]
    grouped = [defaultdict(Figures) for _ in range(3)]
    total = Figures()
    for stat in stats:
        for figures in (
            total,
            grouped[0][stat.scope_path],
            grouped[1][stat.purpose],
            grouped[2][stat.day],
        ):
            figures.add(stat)
    p50, p95, p99 = _percentiles(account_id, sorted(paths), subject_id)
    return Overview(
        window_days=window_days,
        total=total,
        by_scope=dict(grouped[0]),
        by_purpose=dict(grouped[1]),
        by_day=dict(grouped[2]),
        p50_ms=p50,
        p95_ms=p95,
        p99_ms=p99,
        active_facts=_about(Fact.objects.filter(status=Status.ACTIVE), account_id, scopes, subject_id)
        .filter(visible_to(reader))
        .count(),
        events_by_day=_events(account_id, scopes, subject_id, today),
    )


def roll_up_day(account_id: uuid.UUID, day: date) -> int:
    """Write the figures of one day, replacing earlier ones; return the number of rows."""
    with account_transaction(account_id):
        stats = _from_traces(account_id, day, day)
        ContextStat.objects.filter(account_id=account_id, day=day).delete()
        ContextStat.objects.bulk_create(stats)
    return len(stats)


def roll_up_recent(*, days: int = 2) -> int:
    """Write the figures of the last finished days of every account; safe to run again. Return the number of rows."""
    yesterday = now().date() - timedelta(days=1)
    return sum(
        roll_up_day(account_id, yesterday - timedelta(days=back))
        for account_id in Account.objects.values_list("id", flat=True)
        for back in range(days)
    )


def _stats(account_id: uuid.UUID, first: date, last: date, subject_id: uuid.UUID | None) -> list[ContextStat]:
    """Return the rows of the window: rolled up as far as there are rollups, the rest from traces."""
    if subject_id is not None:
        return _from_traces(account_id, first, last, subject_id)
    rolled = list(ContextStat.objects.filter(account_id=account_id, day__gte=first, day__lt=last))
    fresh = max((stat.day for stat in rolled), default=first - timedelta(days=1)) + timedelta(days=1)
    return rolled + _from_traces(account_id, fresh, last)


def _from_traces(
    account_id: uuid.UUID, first: date, last: date, subject_id: uuid.UUID | None = None
) -> list[ContextStat]:
    """Return unsaved rows for the days ``first`` to ``last``."""
    window = {
        "account": account_id,
        "subject": subject_id,
        "low": lower_bound(_midnight(first)),
        "high": lower_bound(_midnight(last + timedelta(days=1))),
    }
    with connection.cursor() as cursor:
        cursor.execute(_BY_DAY, window)
        rows = cursor.fetchall()
        cursor.execute(_TALLIES, window)
        tallies: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
        for day, path, purpose, what, name, number in cursor.fetchall():
            tallies[day, path, purpose, what][name] = number
    return [
        ContextStat(
            account_id=account_id,
            day=day,
            scope_path=path,
            purpose=purpose,
            **dict(zip(_COUNTERS, counters, strict=True)),
            p50_ms=p50,
            p95_ms=p95,
            reasons=tallies[day, path, purpose, "reasons"],
            empty=tallies[day, path, purpose, "empty"],
        )
        for day, path, purpose, *counters, p50, p95 in rows
    ]


def _percentiles(
    account_id: uuid.UUID, paths: list[str], subject_id: uuid.UUID | None
) -> tuple[float | None, float | None, float | None]:
    """Return p50, p95 and p99 of the newest calls, in milliseconds; ``None`` when there were none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY duration_ms) FROM ("
            "SELECT duration_ms FROM retrieval_trace"
            " WHERE account_id = %(account)s AND kind = 'context' AND scope_path = ANY(%(paths)s)"
            " AND (%(subject)s::uuid IS NULL OR subject_id = %(subject)s) ORDER BY id DESC LIMIT %(limit)s) newest",
            {"account": account_id, "paths": paths, "subject": subject_id, "limit": TIMED_CALLS},
        )
        found = cursor.fetchone()[0]
    return tuple(found) if found and found[0] is not None else (None, None, None)


def _events(
    account_id: uuid.UUID, scopes: Sequence[Scope], subject_id: uuid.UUID | None, today: date
) -> dict[date, int]:
    """Return the number of events recorded on each of the last seven days, oldest first."""
    days = [today - timedelta(days=back) for back in range(6, -1, -1)]
    found = dict(
        _about(Event.objects.filter(recorded_at__gte=_midnight(days[0])), account_id, scopes, subject_id)
        .order_by()
        .values_list(TruncDate("recorded_at", tzinfo=UTC))
        .annotate(number=Count("id"))
    )
    return {day: found.get(day, 0) for day in days}


def _about(
    rows: QuerySet[Any], account_id: uuid.UUID, scopes: Iterable[Scope], subject_id: uuid.UUID | None
) -> QuerySet[Any]:
    about = Q(account_id=account_id, scope__in=list(scopes))
    return rows.filter(about & Q(subject_id=subject_id) if subject_id else about)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)
