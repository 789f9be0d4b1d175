from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.calibration.report import Measured, percentiles, report, share_beyond

distances = st.lists(st.floats(0, 2), min_size=1, max_size=50)


def advice(measured: Measured, *, made: bool = False, max_refusals: float = 0.05) -> dict[str, object]:
    return report(measured, max_refusals=max_refusals, made=made)["recommendation"]


def test_percentiles_are_values_that_occur() -> None:
    assert percentiles([0.4, 0.1, 0.3, 0.2]) == {
        "p1": 0.1, "p5": 0.1, "p25": 0.1, "p50": 0.2, "p75": 0.3, "p95": 0.4, "p99": 0.4,
    }  # fmt: skip
    assert percentiles([]) == {}


def test_rates_are_told_for_each_limit() -> None:
    found = report(Measured(right=[0.1, 0.6], shares=[1, 1], off_topic=[0.4, 0.9]), max_refusals=0.05, made=False)
    rows = {row["max_distance"]: row for row in found["limits"]}
    assert len(rows) == 24
    assert rows[0.5] == {
        "max_distance": 0.5,
        "false_refusals": 0.5,
        "served_strangers": None,
        "served_off_topic": 0.5,
    }
    assert found["right_answer"]["questions"] == 2


def test_real_questions_ask_for_the_tightest_limit_that_lets_them_through() -> None:
    measured = Measured(
        right=[*[0.2] * 95, *[0.7] * 5], shares=[*[1.0] * 90, *[0.6] * 5, *[0.1] * 5], off_topic=[0.9] * 8 + [0.1] * 2
    )
    found = advice(measured)
    assert (found["HAKI_RECALL_MAX_DISTANCE"], found["MEMORY_RECALL_SCORE_SHARE"]) == (0.2, 0.6)
    assert "keeps out 80% of the questions about nothing" in found["why"]
    assert advice(measured, max_refusals=0)["HAKI_RECALL_MAX_DISTANCE"] == 0.7


def test_made_questions_ask_for_the_loosest_limit_that_keeps_nothing_out() -> None:
    measured = Measured(right=[0.1] * 20, shares=[1.0] * 20, off_topic=[*[0.8] * 19, 0.5])
    found = advice(measured, made=True)
    assert (found["HAKI_RECALL_MAX_DISTANCE"], found["MEMORY_RECALL_SCORE_SHARE"]) == (0.79, None)
    # Answers that lie farther away than what is about nothing speak against any limit.
    measured.right[:2] = [0.9, 0.9]
    assert advice(measured, made=True)["HAKI_RECALL_MAX_DISTANCE"] == 0.0


@pytest.mark.parametrize(
    ("measured", "why"),
    [
        (Measured(), "right answers are missing"),
        (Measured(right=[1.9], shares=[1.0], off_topic=[0.1]), "lie too far away"),
        (Measured(right=[0.1], shares=[1.0]), "no questions that the store knows nothing about"),
        (Measured(right=[0.5], shares=[1.0], off_topic=[0.4, 0.4, 0.6]), "does not tell them apart"),
    ],
)
def test_where_no_limit_tells_them_apart_the_gate_stays_off(measured: Measured, why: str) -> None:
    found = advice(measured)
    assert found["HAKI_RECALL_MAX_DISTANCE"] == 0.0
    assert why in found["why"]


@given(right=distances, off_topic=distances, made=st.booleans(), max_refusals=st.floats(0, 0.5))
def test_no_recommendation_refuses_more_than_it_may(
    right: list[float], off_topic: list[float], made: bool, max_refusals: float
) -> None:
    measured = Measured(right=right, shares=[1.0] * len(right), off_topic=off_topic)
    limit = advice(measured, made=made, max_refusals=max_refusals)["HAKI_RECALL_MAX_DISTANCE"]
    assert limit == 0 or share_beyond(right, limit) <= max_refusals
    assert limit == 0 or share_beyond(off_topic, limit) >= (0.95 if made else 0.5)
