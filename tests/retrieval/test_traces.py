from __future__ import annotations

import uuid

from facts.models import IndexedUnit
from retrieval.traces.reasons import Reason
from retrieval.traces.writing import FIELDS, Decision, unpack

SOME = uuid.UUID(int=7)


def test_a_decision_of_a_context_call_keeps_its_three_scores() -> None:
    decision = Decision(
        unit=IndexedUnit.FACT, id=SOME, reason=Reason.TOP_SCORE, revision=2, rank=1, similarity=0.123456, tokens=5
    )
    packed = decision.packed()
    assert packed == ["fact", SOME, "top_score", 2, 1, 0.1235, None, None, None, 5]
    (unpacked,) = unpack([packed])
    assert unpacked["action"] == "included"
    assert (unpacked["similarity"], unpacked["scores"]) == (0.1235, None)


def test_a_decision_of_a_search_keeps_the_score_of_each_strategy() -> None:
    scores = {"semantic": 0.81234, "lexical": 12.0}
    decision = Decision(unit=IndexedUnit.PASSAGE, id=SOME, reason=Reason.OVER_BUDGET, scores=scores)
    packed = decision.packed()
    assert len(packed) == len(FIELDS)
    assert unpack([packed])[0]["scores"] == {"semantic": 0.8123, "lexical": 12.0}
