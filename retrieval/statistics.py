"""Figures about reading, from what was counted by day and from the traces since."""

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
from facts.figure_names import FigureName
from facts.models import Event, Fact, Scope
from facts.spread import Spread, added
from facts.vocabulary import Status
from retrieval import read_stats
from retrieval.models import ReadStat, TraceKind
from retrieval.read_stats import COUNTERS, TOTAL

#: Days that an overview looks back unless asked otherwise.
WINDOW_DAYS = 30
#: Newest calls whose durations make the percentiles of an overview.
TIMED_CALLS = 1_000


@dataclass(slots=True)
class Figures:
    """Reads added up. ``injection_rate`` is null when there were none, never 0."""

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

    def add(self, numbers: Iterable[int]) -> None:
        """Add numbers in the order of :data:`retrieval.read_stats.COUNTERS`."""
        for name, number in zip(COUNTERS, numbers, strict=True):
            setattr(self, name, getattr(self, name) + number)

    @property
    def injection_rate(self) -> float | None:
        """Share of the calls that served at least one fact."""
        return round(self.calls_with_facts / self.calls, 4) if self.calls else None


@dataclass(slots=True, kw_only=True)
class Reads:
    """The reads of some days. All but ``by_kind`` and ``timings`` are about context calls alone.

    ``until``: up to when reads are in it. ``timings``: milliseconds by (kind, profile, stage). ``totals``: those of
    whole calls by day. ``distances``: cosine distances by what became of the row, in steps of
    :data:`retrieval.read_stats.DISTANCE_STEP`.
    """

    until: datetime
    by_kind: dict[str, Figures] = field(default_factory=lambda: defaultdict(Figures))
    by_day: dict[date, Figures] = field(default_factory=lambda: defaultdict(Figures))
    by_scope: dict[str, Figures] = field(default_factory=lambda: defaultdict(Figures))
    by_purpose: dict[str, Figures] = field(default_factory=lambda: defaultdict(Figures))
    timings: dict[tuple[str, str, str], Spread] = field(default_factory=dict)
    totals: dict[date, Spread] = field(default_factory=dict)
    distances: dict[str, Spread] = field(default_factory=dict)

    @property
    def total(self) -> Figures:
        """The context calls, all together."""
        return self.by_kind[TraceKind.CONTEXT.value]

    def add(self, stat: ReadStat) -> None:
        """Add one row of figures."""
        numbers = [getattr(stat, name) for name in COUNTERS]
        self.by_kind[stat.kind].add(numbers)
        for stage, spread in stat.timings.items():
            _into(self.timings, (stat.kind, stat.profile, stage), spread)
        if stat.kind != TraceKind.CONTEXT:
            return
        for group in (self.by_day[stat.day], self.by_scope[stat.scope_path], self.by_purpose[stat.purpose]):
            group.add(numbers)
        self.total.empty.update(stat.empty)
        self.total.reasons.update(stat.reasons)
        _into(self.totals, stat.day, stat.timings.get(TOTAL, {}))
        for outcome, spread in stat.distances.items():
            _into(self.distances, outcome, spread)


def _into(spreads: dict[Any, Spread], key: Any, spread: Any) -> None:
    spreads[key] = added([spreads.get(key, {}), spread])


_THESE = """
WHERE account_id = %(account)s AND day BETWEEN %(first)s AND %(last)s
  AND (%(paths)s::text[] IS NULL OR scope_path = ANY(%(paths)s))
  AND (%(purpose)s::text IS NULL OR purpose = %(purpose)s)
"""
#: All groups in one walk; ``grouping`` has a bit for each of day, scope and purpose that a row is not about.
_SUMS = f"""
SELECT kind, day, scope_path, purpose, grouping(day, scope_path, purpose),
       {", ".join(f"sum({name})::bigint" for name in COUNTERS)}
FROM retrieval_readstat {_THESE}
GROUP BY GROUPING SETS ((kind), (kind, day), (kind, scope_path), (kind, purpose))
"""
_OF_KIND, _OF_DAY, _OF_SCOPE, _OF_PURPOSE = 0b111, 0b011, 0b101, 0b110
_TALLIES = f"""
SELECT k.what, k.name, sum(k.number::bigint)::bigint
FROM retrieval_readstat, LATERAL (
    SELECT 'reasons', * FROM jsonb_each_text(reasons) UNION ALL SELECT 'empty', * FROM jsonb_each_text(empty)
) AS k(what, name, number)
{_THESE} AND kind = 'context' GROUP BY 1, 2
"""
#: Days of which everything together is counted (:func:`retrieval.read_stats.write_day`), where all is asked for.
_WHOLE = f"""
SELECT day FROM facts_dayfigure WHERE %(all)s AND account_id = %(account)s
  AND name = '{FigureName.READ_TIMINGS}' AND day BETWEEN %(first)s AND %(last)s
"""
#: How long the stages took, and the distances, of the other days.
_SPREADS = f"""
SELECT k.what, kind, profile, k.name, b.bucket::int, sum(b.number::bigint)::bigint
FROM retrieval_readstat, LATERAL (
    SELECT 'timings', * FROM jsonb_each(timings) UNION ALL SELECT 'distances', * FROM jsonb_each(distances)
) AS k(what, name, spread), LATERAL jsonb_each_text(k.spread) AS b(bucket, number)
{_THESE} AND day NOT IN ({_WHOLE}) GROUP BY 1, 2, 3, 4, 5
"""
#: The same of everything together.
_TOGETHER = """
SELECT name, key, b.bucket::int, sum(b.number::bigint)::bigint
FROM facts_dayfigure, LATERAL jsonb_each_text(spread) AS b(bucket, number)
WHERE account_id = %(account)s AND name = ANY(%(names)s) AND day BETWEEN %(first)s AND %(last)s GROUP BY 1, 2, 3
"""
_TOTALS = f"""
SELECT day, b.bucket::int, sum(b.number::bigint)::bigint
FROM retrieval_readstat, LATERAL jsonb_each_text(coalesce(timings -> '{TOTAL}', '{{}}')) AS b(bucket, number)
{_THESE} AND kind = 'context' GROUP BY 1, 2
"""


def reads(
    account_id: uuid.UUID,
    *,
    first: date,
    last: date,
    paths: Sequence[str] | None = None,
    purpose: str | None = None,
    stages: bool = True,
) -> Reads:
    """Return the reads of the days ``first`` to ``last`` in scopes ``paths`` (``None``: all), for a purpose or all.

    Without ``stages``, the ``timings`` and ``distances`` of counted days are left out. Costs the same however many
    traces there are: it reads what was counted, and at most :data:`retrieval.read_stats.LIVE_READS` traces that came
    since. Runs in the account's transaction.
    """
    rows, until = read_stats.live(account_id, last=last)
    found = Reads(until=until)
    window = {"account": account_id, "first": first, "last": last, "purpose": purpose}
    _add_stored(found, {**window, "paths": None if paths is None else list(paths)})
    if stages:
        _add_spreads(found, {**window, "paths": None if paths is None else list(paths)})
    for row in rows:
        here = paths is None or row.scope_path in paths
        if first <= row.day <= last and here and purpose in (None, row.purpose):
            found.add(row)
    return found


def _add_stored(found: Reads, window: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, window)
        for kind, day, path, purpose, grouping, *numbers in cursor.fetchall():
            if grouping == _OF_KIND:
                found.by_kind[kind].add(numbers)
            elif kind == TraceKind.CONTEXT:
                groups = {_OF_DAY: (found.by_day, day), _OF_SCOPE: (found.by_scope, path)}
                group, key = groups.get(grouping, (found.by_purpose, purpose))
                group[key].add(numbers)
        cursor.execute(_TALLIES, window)
        for what, name, number in cursor.fetchall():
            getattr(found.total, what)[name] += number
        cursor.execute(_TOTALS, window)
        for day, bucket, number in cursor.fetchall():
            _into(found.totals, day, {bucket: number})


def _add_spreads(found: Reads, window: dict[str, Any]) -> None:
    """Add the timings of stages and the distances: of everything from the days that are counted as a whole."""
    everything = window["paths"] is None and window["purpose"] is None
    with connection.cursor() as cursor:
        if everything:
            cursor.execute(_TOGETHER, {**window, "names": [str(name) for name in read_stats.TOGETHER]})
            for name, key, bucket, number in cursor.fetchall():
                if name == FigureName.READ_TIMINGS:
                    kind, profile, stage = key.split(read_stats.SEPARATOR, 2)
                    _into(found.timings, (kind, profile, stage), {bucket: number})
                else:
                    _into(found.distances, key, {bucket: number})
        cursor.execute(_SPREADS, {**window, "all": everything})
        for what, kind, profile, name, bucket, number in cursor.fetchall():
            if what == "timings":
                _into(found.timings, (kind, profile, name), {bucket: number})
            else:
                _into(found.distances, name, {bucket: number})


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The figures of a window: all together, and for each scope, purpose and day. Durations are in milliseconds."""

    window_days: int
    total: Figures
    by_kind: dict[str, Figures]
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

    Figures of one subject always come from traces: what is counted by day does not tell subjects apart.
    """
    today = now().date()
    first = today - timedelta(days=window_days - 1)
    paths = sorted({scope.path for scope in scopes})
    if subject_id is None:
        found = reads(account_id, first=first, last=today, paths=paths, stages=False)
    else:
        found = Reads(until=now())
        for row in read_stats.from_traces(account_id, _midnight(first), now(), subject_id=subject_id):
            if row.scope_path in paths:
                found.add(row)
    p50, p95, p99 = _percentiles(account_id, paths, subject_id)
    return Overview(
        window_days=window_days,
        total=found.total,
        by_kind=dict(found.by_kind),
        by_scope=dict(found.by_scope),
        by_purpose=dict(found.by_purpose),
        by_day=dict(sorted(found.by_day.items())),
        p50_ms=p50,
        p95_ms=p95,
        p99_ms=p99,
        active_facts=_about(Fact.objects.filter(status=Status.ACTIVE), account_id, scopes, subject_id)
        .filter(visible_to(reader))
        .count(),
        events_by_day=_events(account_id, scopes, subject_id, today),
    )


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
