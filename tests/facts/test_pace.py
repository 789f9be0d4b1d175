"""How fast work goes and when it will be done."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from facts import pace

START = datetime(2025, 3, 10, 9, 0, tzinfo=UTC)


def steps(*pairs: tuple[float, int]) -> list[list[float]]:
    """Return the pace of steps given as (seconds after the start, done)."""
    made: list[list[float]] = []
    for seconds, done in pairs:
        made = pace.noted(made, at=START + timedelta(seconds=seconds), done=done)
    return made


def test_the_end_follows_from_the_steps_that_were_kept() -> None:
    made = steps((0, 0), (10, 100), (20, 200))
    assert pace.rate(made) == 10.0
    assert pace.end_of(made, total=1_000, at=START + timedelta(seconds=25)) == START + timedelta(seconds=100)


def test_the_latest_steps_count_and_not_those_of_long_ago() -> None:
    slow = [(n * 100.0, n) for n in range(pace.STEPS)]
    fast = [(2_000.0 + n, 100 + n * 50) for n in range(pace.STEPS)]
    assert pace.rate(steps(*slow, *fast)) == 50.0


def test_what_cannot_be_told_is_unknown() -> None:
    at = START + timedelta(seconds=30)
    assert pace.end_of([], total=10, at=at) is None
    assert pace.end_of(steps((0, 0)), total=10, at=at) is None
    assert pace.end_of(steps((0, 5), (20, 5)), total=10, at=at) is None
    assert pace.end_of(steps((0, 0), (20, 5)), total=None, at=at) is None
    assert pace.end_of(steps((0, 0), (20, 5)), total=6, at=at) is None, "the end has passed and work is left"


def test_quick_steps_are_thinned_out_and_none_is_lost() -> None:
    made = steps(*((n / 100, n) for n in range(500)))
    assert made[0] == [START.timestamp(), 0.0]
    assert made[-1] == [START.timestamp() + 4.99, 499.0]
    assert len(made) == 6


def test_a_clock_or_work_that_goes_backwards_begins_anew() -> None:
    assert len(steps((10, 5), (20, 6), (5, 7))) == 1
    assert steps((10, 50), (20, 60), (30, 1)) == [[START.timestamp() + 30, 1.0]]


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 10**12)), max_size=60),
    st.one_of(st.none(), st.integers(0, 10**15)),
)
def test_any_history_gives_an_end_in_the_future_or_none(pairs: list[tuple[float, int]], total: int | None) -> None:
    made = steps(*pairs)
    at = START + timedelta(seconds=1e6)
    end = pace.end_of(made, total=total, at=at)
    assert len(made) <= pace.STEPS
    assert end is None or at <= end <= at + pace.LONGEST
