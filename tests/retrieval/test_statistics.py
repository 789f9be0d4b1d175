from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts import day_figures, spread
from facts.audience import Posture, Reader
from facts.clock import now
from facts.ids import lower_bound
from facts.models import Account, CountedUntil, DayFigure
from facts.tenancy import ensure_scope
from retrieval import read_stats, statistics, tasks
from retrieval.models import ReadStat, Trace, TraceKind

READER = Reader(posture=Posture.INTERNAL)


def _trace(account: Account, at: datetime, *, number: int = 0, **fields: object) -> Trace:
    values = {
        "scope_path": "/support",
        "reader_posture": "peer",
        "credential_id": account.id,
        "credential_name": "key",
        "purpose": "test",
        "budget": 900,
        "budget_unit": "tokens",
        "question_time": at,
        "profile": "context-1",
        "ranker": "context-1",
        "considered": 3,
        "facts_served": 1,
        "passages_served": 1,
        "withheld": 1,
        "tokens": 20,
        "status": "ok",
        "reasons": {"top_score": 2, "conflict_open": 1},
        "duration_ms": 10.0,
        **fields,
    }
    trace_id = uuid.UUID(int=lower_bound(at).int + number + 1)
    return Trace.objects.create(id=trace_id, account=account, **{"created_at": at, **values})


def _noon(days_ago: int) -> datetime:
    day = now().date() - timedelta(days=days_ago)
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def _overview(account: Account, **fields: object) -> statistics.Overview:
    scopes = [ensure_scope(account.id, path) for path in ("/support", "/sales")]
    return statistics.overview(account_id=account.id, scopes=scopes, reader=READER, **fields)


def _until(at: datetime) -> datetime:
    return day_figures.midnight(at.date() + timedelta(days=1))


def _rolled(account: Account, at: datetime) -> int:
    return read_stats.write_day(account.id, at.date(), _until(at))


def test_a_day_is_counted_by_kind_scope_purpose_and_profile(account: Account) -> None:
    at = _noon(1)
    _trace(account, at, timings={"lexical": 3.0})
    _trace(account, at, number=1, duration_ms=30.0, facts_served=0, passages_served=0, status="degraded")
    _trace(account, at, number=2, facts_served=0, passages_served=0, empty_reason="no_memory", reasons={})
    _trace(account, at, number=3, scope_path="/sales", status="failed")
    _trace(account, at, number=4, kind=TraceKind.SEARCH, profile="balanced 1")
    _trace(account, at, number=5, kind=TraceKind.REPLAY)
    _trace(account, _noon(2), number=6)
    assert _rolled(account, at) == 3
    stat = ReadStat.objects.get(scope_path="/support", kind=TraceKind.CONTEXT)
    assert (stat.day, stat.purpose, stat.profile, stat.calls) == (at.date(), "test", "context-1", 3)
    assert (stat.calls_with_facts, stat.degraded, stat.failed) == (1, 1, 0)
    assert (stat.considered, stat.served, stat.withheld, stat.tokens) == (9, 2, 3, 60)
    assert (stat.empty, stat.reasons) == ({"no_memory": 1}, {"top_score": 4, "conflict_open": 2})
    ten, thirty, three = (str(spread.bucket(value)) for value in (10.0, 30.0, 3.0))
    assert stat.timings == {"total": {ten: 2, thirty: 1}, "lexical": {three: 1}}
    assert ReadStat.objects.get(scope_path="/sales").failed == 1
    assert ReadStat.objects.get(kind=TraceKind.SEARCH).profile == "balanced 1"


def test_counting_again_replaces(account: Account) -> None:
    _trace(account, _noon(1))
    for _ in range(2):
        assert _rolled(account, _noon(1)) == 1
    assert ReadStat.objects.count() == 1


def test_a_read_at_midnight_is_counted_on_the_day_of_its_id(account: Account) -> None:
    midnight = day_figures.midnight(_noon(0).date())
    last = _trace(account, midnight - timedelta(milliseconds=1), created_at=midnight)
    _trace(account, midnight, number=1)
    for _ in range(2):
        assert (_rolled(account, last.created_at - timedelta(days=1)), _rolled(account, midnight)) == (1, 1)
    assert set(ReadStat.objects.values_list("day", "calls")) == {(_noon(1).date(), 1), (_noon(0).date(), 1)}


def test_distances_are_told_by_what_became_of_the_row(account: Account) -> None:
    served = ["fact", str(account.id), "top_score", 1, 1, 0.9, 0.1, 0.2, 0.8, 9]
    gated = ["fact", str(account.id), "below_relevance_floor", 1, 2, 0.31, None, None, None, None]
    unknown = ["fact", str(account.id), "over_budget", 1, 3, None, None, None, None, None]
    _trace(account, _noon(0), decisions=[served, gated, unknown], embedder="minilm")
    _trace(account, _noon(0), number=1, decisions=[served], embedder="")
    found = statistics.reads(account.id, first=_noon(0).date(), last=_noon(0).date())
    assert found.distances == {"served": {2: 1}, "gated": {13: 1}}


def test_an_overview_takes_counted_days_and_the_traces_since_once(account: Account) -> None:
    for days_ago in (0, 1, 2):
        _trace(account, _noon(days_ago))
    before = _overview(account)
    read_stats.roll_up_everywhere()
    after = _overview(account)
    assert before.total == after.total
    assert (after.total.calls, after.total.injection_rate) == (3, 1.0)
    assert after.total.reasons == {"top_score": 6, "conflict_open": 3}
    assert sorted(after.by_day) == [_noon(days_ago).date() for days_ago in (2, 1, 0)]


def test_an_overview_looks_back_as_far_as_asked_and_no_further(account: Account) -> None:
    _trace(account, _noon(0))
    _trace(account, _noon(3))
    assert _overview(account, window_days=3).total.calls == 1
    assert _overview(account, window_days=4).total.calls == 2


def test_an_overview_leaves_other_scopes_out(account: Account) -> None:
    _trace(account, _noon(0), scope_path="/secret")
    assert _overview(account).total.calls == 0
    assert _overview(account).total.injection_rate is None


def test_percentiles_are_those_of_the_newest_calls(account: Account) -> None:
    for number in range(100):
        _trace(account, _noon(0), number=number, duration_ms=float(number + 1))
    overview = _overview(account)
    assert (overview.p50_ms, overview.p95_ms) == (50.5, pytest.approx(95.05))
    assert overview.p99_ms == pytest.approx(99.01)


def test_the_worker_catches_up_on_all_days_since_the_first_trace(account: Account) -> None:
    for days_ago in (40, 3, 1):
        _trace(account, _noon(days_ago))
    tasks.keep_statistics()
    days = [_noon(days_ago).date() for days_ago in (1, 3, 40)]
    assert list(ReadStat.objects.values_list("day", flat=True)) == days
    Trace.objects.filter(created_at__lt=_noon(2)).delete()
    tasks.keep_statistics()
    assert list(ReadStat.objects.values_list("day", flat=True)) == days


def test_a_run_of_long_ago_is_caught_up_from_there(account: Account) -> None:
    CountedUntil.objects.create(account=account, source=read_stats.SOURCE, until=_noon(5))
    _trace(account, _noon(9))
    _trace(account, _noon(4))
    tasks.keep_statistics()
    assert list(ReadStat.objects.values_list("day", flat=True)) == [_noon(4).date()]


def test_what_the_worker_has_not_counted_is_counted_by_the_reader_up_to_a_bound(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_stats, "LIVE_READS", 2)
    at = now() - timedelta(hours=1)
    for minute in range(3):
        _trace(account, at + timedelta(minutes=minute))
    found = statistics.reads(account.id, first=at.date(), last=now().date())
    assert found.total.calls == 2
    assert found.until == (at + timedelta(minutes=2)).replace(microsecond=(at.microsecond // 1000) * 1000)


def test_days_are_days_in_utc(account: Account) -> None:
    at = datetime(2025, 3, 10, 23, 59, 59, tzinfo=UTC)
    _trace(account, at)
    assert _rolled(account, at) == 1
    assert _rolled(account, at + timedelta(days=1)) == 0
    assert ReadStat.objects.get().day == date(2025, 3, 10)


_ANY_TRACE = st.fixed_dictionaries(
    {
        "scope_path": st.sampled_from(["/support", "/sales"]),
        "purpose": st.sampled_from(["", "reply"]),
        "kind": st.sampled_from([TraceKind.CONTEXT, TraceKind.SEARCH, TraceKind.PREVIEW]),
        "facts_served": st.integers(0, 3),
        "withheld": st.integers(0, 3),
        "duration_ms": st.floats(0.01, 5_000),
        "reasons": st.dictionaries(st.sampled_from(["top_score", "over_budget"]), st.integers(1, 9)),
        "empty_reason": st.sampled_from(["", "no_memory"]),
        "timings": st.dictionaries(st.sampled_from(["lexical", "semantic"]), st.floats(0.01, 900)),
    }
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 5), _ANY_TRACE), max_size=8))
def test_what_was_counted_by_day_is_what_the_traces_say(account: Account, made: list) -> None:
    Trace.objects.all().delete()
    ReadStat.objects.all().delete()
    CountedUntil.objects.all().delete()
    for number, (days_ago, fields) in enumerate(made):
        _trace(account, _noon(days_ago) - timedelta(hours=12), number=number, **fields)
    read_stats.roll_up_everywhere()
    window = {"first": _noon(4).date(), "last": _noon(0).date()}
    found = statistics.reads(account.id, **window, paths=["/support"], purpose="reply")
    chosen = [
        fields | {"days_ago": days_ago}
        for days_ago, fields in made
        if days_ago <= 4 and fields["scope_path"] == "/support" and fields["purpose"] == "reply"
    ]
    context = [fields for fields in chosen if fields["kind"] == TraceKind.CONTEXT]
    assert found.total.calls == len(context)
    assert found.total.calls_with_facts == sum(fields["facts_served"] > 0 for fields in context)
    assert found.total.withheld == sum(fields["withheld"] for fields in context)
    assert found.total.empty["no_memory"] == sum(fields["empty_reason"] == "no_memory" for fields in context)
    for reason in ("top_score", "over_budget"):
        assert found.total.reasons[reason] == sum(fields["reasons"].get(reason, 0) for fields in context)
    assert {day: figures.calls for day, figures in found.by_day.items()} == {
        _noon(days_ago).date(): sum(fields["days_ago"] == days_ago for fields in context)
        for days_ago in {fields["days_ago"] for fields in context}
    }
    assert found.by_kind["search"].calls == sum(fields["kind"] == TraceKind.SEARCH for fields in chosen)
    assert "preview" not in found.by_kind
    durations = sorted(fields["duration_ms"] for fields in context)
    told = spread.quantile(found.timings.get(("context", "context-1", "total"), {}), 0.5)
    assert told == (pytest.approx(durations[(len(durations) - 1) // 2], rel=spread.ERROR + 1e-9) if durations else None)
    everything = statistics.reads(account.id, **window)
    DayFigure.objects.all().delete()
    by_row = statistics.reads(account.id, **window)
    assert (everything.timings, everything.distances) == (by_row.timings, by_row.distances)
    without = statistics.reads(account.id, **window, stages=False)
    assert (without.totals, without.total) == (by_row.totals, by_row.total)
    stages = sum(sum(spread_.values()) for (_, _, stage), spread_ in found.timings.items() if stage == "lexical")
    assert stages == sum("lexical" in fields["timings"] for fields in chosen if fields["kind"] != TraceKind.PREVIEW)


def test_reading_figures_costs_the_same_for_a_few_days_and_for_many(account: Account) -> None:
    row = {"kind": "context", "scope_path": "/support", "purpose": "", "profile": "context-1"}
    row |= dict.fromkeys(read_stats.COUNTERS, 1) | {"timings": {"total": {"26": 1}}}
    today = now().date()
    ReadStat.objects.bulk_create(
        ReadStat(account=account, day=today - timedelta(days=back), **row) for back in range(400)
    )
    CountedUntil.objects.create(account=account, source=read_stats.SOURCE, until=now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE retrieval_readstat")
    calls = []
    for days in (10, 400):
        with CaptureQueriesContext(connection) as queries:
            found = statistics.reads(account.id, first=today - timedelta(days=days - 1), last=today)
        calls.append((len(queries), found.total.calls))
    assert calls == [(calls[0][0], 10), (calls[0][0], 400)]
    assert calls[0][0] <= 10
