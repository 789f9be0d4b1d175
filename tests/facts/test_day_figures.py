"""Figures by day: what was counted and what came since add up to what happened, however often a day is counted."""

from __future__ import annotations

import random
import uuid
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import day_figures, spread
from facts.clock import now
from facts.day_figures import Counted
from facts.models import Account, CountedUntil, DayFigure

NAME = "conflicts_opened"


@pytest.fixture
def happened(account: Account, monkeypatch: pytest.MonkeyPatch) -> list[tuple[datetime, str]]:
    """What happened, as (when, in which scope); the only thing that is counted."""
    moments: list[tuple[datetime, str]] = []

    def count(account_id: uuid.UUID, start: datetime, end: datetime) -> list[DayFigure]:
        found = [(at.date(), path, NAME, "k", spread.bucket(60.0), 1) for at, path in moments if start <= at < end]
        return day_figures.gathered(account_id, found)

    monkeypatch.setattr(day_figures, "_counted", {})
    day_figures.register(Counted(name="test", names=(NAME,), count=count))
    Account.objects.filter(pk=account.pk).update(created_at=now() - timedelta(days=20))
    return moments


def _total(account: Account, *, first: date, last: date, paths: list[str] | None = None) -> int:
    return day_figures.sums(account.id, names=[NAME], first=first, last=last, paths=paths).total(NAME)


def _roll(account: Account) -> int:
    (source,) = day_figures.registered()
    return day_figures.roll_up(account.id, source)


def test_what_was_counted_and_what_came_since_add_up(account: Account, happened: list) -> None:
    at, chance = now(), random.Random(7)
    happened += [(at - timedelta(minutes=chance.randrange(19 * 24 * 60)), chance.choice("ab")) for _ in range(80)]
    _roll(account)
    happened += [(at - timedelta(seconds=5), "a")]
    for first, last in ((19, 0), (12, 3), (0, 0)):
        window = {"first": at.date() - timedelta(days=first), "last": at.date() - timedelta(days=last)}
        inside = [path for moment, path in happened if window["first"] <= moment.date() <= window["last"]]
        assert _total(account, **window) == len(inside)
        assert _total(account, **window, paths=["a"]) == inside.count("a")
        assert _total(account, **window, paths=[]) == 0
    found = day_figures.sums(account.id, names=[NAME], first=at.date() - timedelta(days=19), last=at.date())
    assert found.spread_of(NAME, "k") == {spread.bucket(60.0): 81}
    assert sum(found.by_day.values()) == 81


def test_counting_twice_late_or_from_further_back_changes_nothing(account: Account, happened: list) -> None:
    at = now()
    happened += [(at - timedelta(days=days), "a") for days in (1, 3, 9)]
    _roll(account)
    told = list(DayFigure.objects.values_list("day", "scope_path", "number"))
    _roll(account)
    CountedUntil.objects.update(until=at - timedelta(days=15))
    _roll(account)
    assert list(DayFigure.objects.values_list("day", "scope_path", "number")) == told
    assert len(told) == 3
    assert CountedUntil.objects.get().until > at - timedelta(minutes=2)


def test_a_long_pause_is_caught_up_in_several_runs(
    account: Account, happened: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(day_figures, "DAYS_AT_ONCE", 8)
    happened += [(now() - timedelta(days=days), "a") for days in (18, 10, 1)]
    counted = []
    for _ in range(4):
        _roll(account)
        counted.append(DayFigure.objects.count())
    assert counted == [1, 2, 3, 3]


def test_what_another_process_counts_is_left_to_it(
    account: Account, happened: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened += [(now() - timedelta(days=1), "a")]
    monkeypatch.setattr(day_figures, "try_lock_account", lambda lock, account_id: False)
    assert _roll(account) == 0
    assert DayFigure.objects.count() == 0


def test_a_slower_process_does_not_set_the_clock_back(account: Account, happened: list) -> None:
    _roll(account)
    until = CountedUntil.objects.get().until
    day_figures._note(account.id, "test", until - timedelta(days=3))
    assert CountedUntil.objects.get().until == until


def test_readers_count_for_seven_days_at_most(account: Account, happened: list) -> None:
    at = now()
    happened += [(at - timedelta(days=days), "a") for days in (1, 5, 12)]
    CountedUntil.objects.create(account=account, source="test", until=at - timedelta(days=13))
    assert _total(account, first=at.date() - timedelta(days=19), last=at.date()) == 1


@given(st.lists(st.floats(0.001, 1e6), min_size=1), st.sampled_from([0.5, 0.95]), st.integers(1, 9))
def test_percentiles_of_parts_added_up_are_those_of_the_whole(values: list[float], share: float, parts: int) -> None:
    spreads = [{} for _ in range(parts)]
    for place, value in enumerate(values):
        one = spreads[place % parts]
        one[spread.bucket(value)] = one.get(spread.bucket(value), 0) + 1
    exact = sorted(values)[max(1, -(-int(share * 100) * len(values) // 100)) - 1]
    assert spread.quantile(spread.added(spreads), share) == pytest.approx(exact, rel=spread.ERROR + 1e-9)


def test_of_nothing_there_is_no_percentile() -> None:
    assert spread.quantile({}, 0.5) is None
