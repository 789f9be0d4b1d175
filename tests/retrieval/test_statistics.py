from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta

import pytest

from facts.audience import Posture, Reader
from facts.clock import now
from facts.ids import lower_bound
from facts.models import Account
from facts.tenancy import ensure_scope
from retrieval import statistics, tasks
from retrieval.models import ContextStat, Trace

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
    return Trace.objects.create(id=trace_id, account=account, created_at=at, **values)


def _noon(days_ago: int) -> datetime:
    day = now().date() - timedelta(days=days_ago)
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def _overview(account: Account, **fields: object) -> statistics.Overview:
    scopes = [ensure_scope(account.id, path) for path in ("/support", "/sales")]
    return statistics.overview(account_id=account.id, scopes=scopes, reader=READER, **fields)


def test_a_day_is_rolled_up_by_scope_and_purpose(account: Account) -> None:
    at = _noon(1)
    _trace(account, at)
    _trace(account, at, number=1, duration_ms=30.0, facts_served=0, passages_served=0, status="degraded")
    _trace(account, at, number=2, facts_served=0, passages_served=0, empty_reason="no_memory", reasons={})
    _trace(account, at, number=3, scope_path="/sales", status="failed")
    _trace(account, _noon(2), number=4)
    assert statistics.roll_up_day(account.id, at.date()) == 2
    stat = ContextStat.objects.get(scope_path="/support")
    assert (stat.day, stat.purpose, stat.calls, stat.calls_with_facts) == (at.date(), "test", 3, 1)
    assert (stat.degraded, stat.failed, stat.considered, stat.served, stat.withheld) == (1, 0, 9, 2, 3)
    assert (stat.tokens, stat.empty, stat.reasons) == (60, {"no_memory": 1}, {"top_score": 4, "conflict_open": 2})
    assert (stat.p50_ms, stat.p95_ms) == (10.0, pytest.approx(28.0))
    assert ContextStat.objects.get(scope_path="/sales").failed == 1


def test_rolling_up_again_replaces(account: Account) -> None:
    _trace(account, _noon(1))
    for _ in range(2):
        assert statistics.roll_up_day(account.id, _noon(1).date()) == 1
    assert ContextStat.objects.count() == 1


def test_an_overview_takes_rolled_up_days_and_todays_traces_once(account: Account) -> None:
    for days_ago in (0, 1, 2):
        _trace(account, _noon(days_ago))
    before = _overview(account)
    statistics.roll_up_recent()
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


def test_the_worker_rolls_up_every_account_and_makes_partitions(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(tasks.partitions, "ensure_trace_partitions", lambda: made.append("made"))
    _trace(account, _noon(1))
    tasks.keep_statistics()
    assert list(ContextStat.objects.values_list("day", flat=True)) == [_noon(1).date()]
    assert made == ["made"]


def test_days_are_days_in_utc(account: Account) -> None:
    _trace(account, datetime(2025, 3, 10, 23, 59, 59, tzinfo=UTC))
    assert statistics.roll_up_day(account.id, date(2025, 3, 10)) == 1
    assert statistics.roll_up_day(account.id, date(2025, 3, 11)) == 0
