"""Counting reads by day: from traces into figures that stay when the traces are gone.

A row is one day (UTC), kind of read, scope, purpose and profile. Looks at what a read would serve (replays, previews)
are counted nowhere.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import connection

from facts import day_figures
from facts.day_figures import Counted, Source
from facts.figure_names import FigureName
from facts.ids import lower_bound
from facts.models import DayFigure
from facts.spread import Spread, added, bucket_sql
from retrieval.models import ReadStat, Trace, TraceKind
from retrieval.traces.reasons import MEANING, Action, Reason

SOURCE = "reads"
COUNTED_KINDS = (TraceKind.CONTEXT, TraceKind.SEARCH, TraceKind.ASK, TraceKind.PROFILE)
COUNTERS = ("calls", "calls_with_facts", "degraded", "failed", "considered", "served", "withheld", "tokens")
#: The whole read among the stages of :attr:`ReadStat.timings`.
TOTAL = "total"
#: Figures of everything together, and what stands between the parts of a key.
TOGETHER, SEPARATOR = (FigureName.READ_TIMINGS, FigureName.READ_DISTANCES), "|"
#: Reads that readers count by themselves, when the worker is behind: the oldest after those that are written.
LIVE_READS = 20_000
#: The latest context calls of a day whose distances are counted: a call looks at one or two hundred rows.
DISTANCES_OF = 500
#: Width of a bucket of cosine distances.
DISTANCE_STEP = 0.05
#: What became of something whose distance was known.
SERVED, GATED, OTHERWISE = "served", "gated", "otherwise"
GATE_REASONS = (Reason.BELOW_RELEVANCE_FLOOR, Reason.FAR_BEHIND_BEST)

_THESE = """
WHERE t.account_id = %(account)s AND t.kind = ANY(%(kinds)s) AND t.id >= %(low)s AND t.id < %(high)s
  AND (%(subject)s::uuid IS NULL OR t.subject_id = %(subject)s)
"""
#: A read of the last instant of a day may bear the date of the next one: it is counted with its id, or the next day
#: would be counted twice.
_DAY = "least(greatest((t.created_at AT TIME ZONE 'UTC')::date, %(first)s), %(last)s)"
_PLACE = f"{_DAY}, t.kind, t.scope_path, t.purpose, t.profile"
_COUNT = f"""
SELECT {_PLACE}, count(*), count(*) FILTER (WHERE t.facts_served > 0), count(*) FILTER (WHERE t.status = 'degraded'),
       count(*) FILTER (WHERE t.status = 'failed'), sum(t.considered)::bigint,
       sum(t.facts_served + t.passages_served)::bigint, sum(t.withheld)::bigint, sum(t.tokens)::bigint
FROM retrieval_trace t
{_THESE} GROUP BY 1, 2, 3, 4, 5
"""
#: Decisions by reason, empty packets by theirs, and how long each stage took, by bucket.
_TALLIES = f"""
SELECT {_PLACE}, k.what, k.name, k.bucket, sum(k.number)::int
FROM retrieval_trace t, LATERAL (
    SELECT 'reasons', key, NULL::int, value::int FROM jsonb_each_text(t.reasons)
    UNION ALL SELECT 'empty', t.empty_reason, NULL, 1 WHERE t.empty_reason <> ''
    UNION ALL SELECT 'timings', '{TOTAL}', {bucket_sql("t.duration_ms")}, 1
    UNION ALL SELECT 'timings', key, {bucket_sql("value")}, 1 FROM jsonb_each_text(t.timings)
) AS k(what, name, bucket, number)
{_THESE} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
"""
#: A packed decision holds its reason at the third place, and 1 - distance at the sixth.
_DISTANCES = f"""
SELECT {_PLACE}, 'distances',
       CASE WHEN d.decision ->> 2 = ANY(%(included)s) THEN '{SERVED}' WHEN d.decision ->> 2 = ANY(%(gate)s)
       THEN '{GATED}' ELSE '{OTHERWISE}' END,
       floor(round((1 - (d.decision ->> 5)::numeric), 4) / {DISTANCE_STEP})::int, count(*)::int
FROM (
    SELECT * FROM retrieval_trace t
    {_THESE} AND t.kind = 'context' AND t.embedder <> '' ORDER BY t.id DESC LIMIT {DISTANCES_OF}
) AS t, LATERAL jsonb_array_elements(t.decisions) AS d(decision)
WHERE d.decision ->> 5 IS NOT NULL
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
"""


def write_day(account_id: uuid.UUID, day: date, until: datetime) -> int:
    """Write the figures of what was read on a day before ``until``, replacing earlier ones; return the number of rows.

    How long it all took is written once more for everything together: the spreads of every scope and purpose would have
    to be taken apart for each look at the whole. Runs in the account's transaction.
    """
    rows = from_traces(account_id, day_figures.midnight(day), until)
    ReadStat.objects.filter(account_id=account_id, day=day).delete()
    ReadStat.objects.bulk_create(rows)
    DayFigure.objects.filter(account_id=account_id, name__in=TOGETHER, day=day).delete()
    DayFigure.objects.bulk_create(_together(account_id, day, rows))
    return len(rows)


def _together(account_id: uuid.UUID, day: date, rows: list[ReadStat]) -> list[DayFigure]:
    """Return the unsaved spreads of a day over all of its rows."""
    found: dict[tuple[str, str], list[Spread]] = defaultdict(list)
    for row in rows:
        for stage, spread in row.timings.items():
            found[FigureName.READ_TIMINGS.value, SEPARATOR.join((row.kind, row.profile, stage))].append(spread)
        for outcome, spread in row.distances.items():
            found[FigureName.READ_DISTANCES.value, outcome].append(spread)
    whole = {place: added(spreads) for place, spreads in found.items()}
    return [
        DayFigure(account_id=account_id, day=day, name=name, key=key, number=sum(spread.values()), spread=spread)
        for (name, key), spread in whole.items()
    ]


def live(account_id: uuid.UUID, *, last: date) -> tuple[list[ReadStat], datetime]:
    """Return unsaved rows of the reads since the figures were written, at most :data:`LIVE_READS`, and until when they
    reach; none where the day ``last`` was over by then."""
    start, end = day_figures.live_span(day_figures.counted_until(account_id, SOURCE))
    if start.date() > last:
        return [], start
    found = Trace.objects.filter(account_id=account_id, id__gte=lower_bound(start), id__lt=lower_bound(end))
    beyond = found.order_by("id").values_list("id", flat=True)[LIVE_READS : LIVE_READS + 1]
    last = next(iter(beyond), None)
    end = end if last is None else _made_at(last)
    return from_traces(account_id, start, end), end


def from_traces(
    account_id: uuid.UUID, start: datetime, end: datetime, *, subject_id: uuid.UUID | None = None
) -> list[ReadStat]:
    """Return unsaved rows of what was read from ``start`` until ``end``, about everybody or one subject."""
    window = {
        "account": account_id,
        "subject": subject_id,
        "kinds": [kind.value for kind in COUNTED_KINDS],
        "low": lower_bound(start),
        "high": lower_bound(end),
        "first": start.date(),
        "last": (end - timedelta(microseconds=1)).date(),
        "included": [reason.value for reason, (action, _) in MEANING.items() if action is Action.INCLUDED],
        "gate": [reason.value for reason in GATE_REASONS],
    }
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, window)
        counts = cursor.fetchall()
        cursor.execute(_TALLIES, window)
        tallies = _nested(cursor.fetchall())
        cursor.execute(_DISTANCES, window)
        distances = _nested(cursor.fetchall())
    return [
        ReadStat(
            account_id=account_id,
            day=place[0],
            kind=place[1],
            scope_path=place[2],
            purpose=place[3],
            profile=place[4],
            **dict(zip(COUNTERS, numbers, strict=True)),
            reasons=tallies[(*place, "reasons")],
            empty=tallies[(*place, "empty")],
            timings=tallies[(*place, "timings")],
            distances=distances[(*place, "distances")],
        )
        for *place, numbers in ((*row[:5], row[5:]) for row in counts)
    ]


def _nested(rows: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return {(place, what): {name: number, or {bucket: number} where there are buckets}}."""
    found: dict[tuple[Any, ...], dict[str, Any]] = defaultdict(dict)
    for *place, name, bucket, number in rows:
        if bucket is None:
            found[tuple(place)][name] = number
        else:
            found[tuple(place)].setdefault(name, {})[bucket] = number
    return found


def _first_day(account_id: uuid.UUID) -> date | None:
    oldest = Trace.objects.filter(account_id=account_id).order_by("id").values_list("id", flat=True).first()
    return None if oldest is None else _made_at(oldest).date()


def _made_at(trace_id: uuid.UUID) -> datetime:
    """Return the instant in an id, which the ids of all that came before have in front of it."""
    return datetime.fromtimestamp((trace_id.int >> 80) / 1000, tz=UTC)


#: A rating lies where the fact that it is about lies, or where the read was made.
_RATINGS = f"""
SELECT (b.created_at AT TIME ZONE 'UTC')::date, coalesce(s.path, t.scope_path), '{FigureName.RATINGS}', b.rating,
       NULL::int, count(*)
FROM governance_feedback b
LEFT JOIN facts_fact f ON f.id = b.fact_id LEFT JOIN facts_scope s ON s.id = f.scope_id
LEFT JOIN retrieval_trace t ON t.id = b.trace_id AND t.account_id = b.account_id
WHERE b.account_id = %(account)s AND b.created_at >= %(start)s AND b.created_at < %(end)s
  AND coalesce(s.path, t.scope_path) IS NOT NULL
GROUP BY 1, 2, 4
"""


def count_ratings(account_id: uuid.UUID, start: datetime, end: datetime) -> list[DayFigure]:
    """Return the unsaved figures of what readers said of what they were served."""
    with connection.cursor() as cursor:
        cursor.execute(_RATINGS, {"account": account_id, "start": start, "end": end})
        return day_figures.gathered(account_id, cursor.fetchall())


READS = Source(name=SOURCE, write=write_day, first=_first_day)


def register() -> None:
    """Have ratings counted."""
    day_figures.register(Counted(name="ratings", names=(FigureName.RATINGS,), count=count_ratings))


def roll_up_everywhere() -> int:
    """Bring all figures of every account up to date; return the number of rows written."""
    return day_figures.roll_up_everywhere([READS, *day_figures.registered()])
