"""Taking a fused score apart again: the parts add up to it, whatever was done to it afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.fusion import Weights, combine
from retrieval.traces import score_parts

WEIGHTS = Weights(vector=0.6, text=0.3, recency=0.1)
SCORES = st.tuples(st.one_of(st.none(), st.floats(0, 1)), st.floats(0, 1), st.floats(0, 1))


def _rows(scores, fused):
    return [
        {"id": str(number), "similarity": near, "text_score": text, "recency": recent, "fusion_score": score}
        for number, ((near, text, recent), score) in enumerate(zip(scores, fused, strict=True))
    ]


@given(st.lists(SCORES, max_size=8))
def test_parts_of_what_was_combined_add_up(scores):
    near, text, recent = ([one[axis] for one in scores] for axis in range(3))
    fused = combine(similarity=near, text=text, recent=recent, weights=WEIGHTS)
    for parts, score in zip(score_parts.of_rows(_rows(scores, fused), WEIGHTS), fused, strict=True):
        assert parts.meaning + parts.text + parts.recency == pytest.approx(score)
        assert (parts.around, parts.lowered) == (0.0, 1.0)


def test_what_was_lowered_or_lifted_afterwards_says_so():
    scores = [(1.0, 1.0, 1.0), (0.5, 0.5, 0.5), (0.0, 0.0, 0.0)]
    lowered, lifted, last = score_parts.of_rows(_rows(scores, [0.75, 0.7, 0.0]), WEIGHTS)
    assert (lowered.lowered, lowered.around) == (pytest.approx(0.75), 0.0)
    assert (lowered.meaning, lowered.text, lowered.recency) == tuple(map(pytest.approx, (0.45, 0.225, 0.075)))
    assert (lifted.around, lifted.lowered) == (pytest.approx(0.2), 1.0)
    assert last.meaning == last.text == last.recency == last.around == 0.0


def test_where_everything_is_old_recency_gets_what_the_others_leave():
    near, text, recent = (1.0, 0.0), (1.0, 0.0), (2e-9, 1e-9)
    fused = combine(similarity=near, text=text, recent=recent, weights=WEIGHTS)
    stored = [(one, other, round(age, 4)) for one, other, age in zip(near, text, recent, strict=True)]
    young, old = score_parts.of_rows(_rows(stored, fused), WEIGHTS)
    assert (young.recency, young.lowered) == (pytest.approx(0.1), 1.0)
    assert (old.recency, old.lowered) == (0.0, 1.0)


def test_what_was_not_scored_has_no_parts():
    row = {"id": "a", "similarity": None, "text_score": None, "recency": None, "fusion_score": None}
    assert score_parts.of_rows([row], WEIGHTS) == [None]
    assert score_parts.of_rows([], WEIGHTS) == []
