"""The recall gate: what is kept out, and what never is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.context import gate
from retrieval.context.gate import Gate
from retrieval.profiles.shipped import CONTEXT
from retrieval.traces.reasons import Reason


@dataclass(frozen=True)
class Row:
    """What the gate sees of a candidate."""

    similarity: float | None
    text_score: float = 0.0


GATE = Gate(max_distance=0.5, score_share=0.8)
rows = st.lists(
    st.builds(Row, similarity=st.none() | st.floats(-1, 1), text_score=st.floats(0, 1)), min_size=1, max_size=8
)


def refusals(limits: Gate, *found: Row) -> list[Reason | None]:
    best = limits.best(found)
    return [limits.refuses(row, best=best) for row in found]


def test_distance_alone_decides_what_is_too_far() -> None:
    far_with_every_word, near_without_any = Row(0.49, 1.0), Row(0.5, 0.0)
    assert refusals(GATE, far_with_every_word, near_without_any) == [Reason.BELOW_RELEVANCE_FLOOR, None]


def test_what_has_no_vector_cannot_pass() -> None:
    assert refusals(GATE, Row(None, 1.0)) == [Reason.BELOW_RELEVANCE_FLOOR]


def test_what_is_far_behind_the_best_is_out() -> None:
    assert refusals(GATE, Row(0.9, 1.0), Row(0.8, 0.8), Row(0.8, 0.6)) == [None, None, Reason.FAR_BEHIND_BEST]


def test_two_rows_about_the_question_both_pass() -> None:
    assert refusals(GATE, Row(0.80, 0.5), Row(0.78, 0.5)) == [None, None]


def test_what_is_too_far_sets_no_measure() -> None:
    assert refusals(GATE, Row(0.1, 1.0), Row(0.55, 0.0)) == [Reason.BELOW_RELEVANCE_FLOOR, None]


@pytest.mark.parametrize("limits", [gate.OFF, Gate(max_distance=0, score_share=0.9)])
def test_a_gate_that_is_off_lets_everything_pass(limits: Gate) -> None:
    assert refusals(limits, Row(0.9, 1.0), Row(-0.4), Row(None)) == [None, None, None]


@given(rows, st.floats(0.01, 2), st.floats(0, 1))
def test_the_best_near_row_always_passes(found: list[Row], distance: float, share: float) -> None:
    limits = Gate(max_distance=distance, score_share=share)
    near = [row for row in found if not limits.too_far(row)]
    if near and max(map(limits.closeness, near)) >= 0:
        assert limits.refuses(max(near, key=limits.closeness), best=limits.best(found)) is None


@given(rows, st.floats(0.01, 2), st.floats(0, 1), st.floats(0, 1))
def test_a_smaller_share_never_keeps_out_more(found: list[Row], distance: float, one: float, other: float) -> None:
    small, large = sorted((one, other))
    loose = refusals(Gate(max_distance=distance, score_share=small), *found)
    strict = refusals(Gate(max_distance=distance, score_share=large), *found)
    assert all(second is not None for first, second in zip(loose, strict, strict=True) if first is not None)


def test_a_profile_decides_before_the_operator(settings) -> None:
    settings.HAKI_RECALL_MAX_DISTANCE, settings.MEMORY_RECALL_SCORE_SHARE = 0.6, 0.9
    assert gate.of_profile(CONTEXT, has_vector=True).max_distance == 0.6
    assert gate.of_profile(CONTEXT, has_vector=True).score_share == 0.9
    own = replace(CONTEXT, max_distance=0.0, score_share=0.1)
    assert not gate.of_profile(own, has_vector=True).is_on


def test_without_a_vector_nothing_can_be_told(settings) -> None:
    settings.HAKI_RECALL_MAX_DISTANCE = 0.6
    assert gate.of_profile(CONTEXT, has_vector=False) == gate.OFF
