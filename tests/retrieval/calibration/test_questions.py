from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.models import Account, Evidence, IndexedUnit, Passage, Subject
from retrieval.calibration.questions import Labelled, read, sample, thinned, without_value
from tests.factories import FactFactory


def test_a_question_leaves_out_what_it_asks_for() -> None:
    assert without_value("Ana Silva lives in Porto.", "Porto") == "ana silva lives in"
    # Too little is left: every other word that means something.
    assert without_value("Ana lives in Porto near the sea", "Ana lives Porto near") == "ana porto sea"


def test_other_texts_are_thinned() -> None:
    assert thinned("Rollback finished after the second deploy failed on payments") == "rollback second failed"
    assert thinned("tea") == ""
    assert thinned("") == ""


@given(st.text())
def test_no_made_question_is_long(text: str) -> None:
    assert len(thinned(text).split()) in {0, *range(2, 9)}


def test_the_sample_knows_what_could_answer_as_well(account: Account, ana: Subject) -> None:
    city = FactFactory(subject=ana, statement="Ana lives in Porto.", predicate="home_city", value={"city": "Porto"})
    other = FactFactory(subject=ana, statement="Ana drinks green tea in the morning.")
    items = {
        item.id: item
        for item in sample(account.id, scope_ids=[city.scope_id], limit=10)
        if item.unit == IndexedUnit.FACT
    }
    assert items.keys() == {city.id, other.id}
    assert items[city.id].question == "ana lives in"
    events = Evidence.objects.filter(fact=city).values("event_id")
    own = set(Passage.objects.filter(event_id__in=events).values_list("id", flat=True))
    assert len(own) == 1
    assert own <= items[city.id].kin
    assert other.id not in items[city.id].kin


def test_a_file_is_read_line_by_line() -> None:
    assert read(
        ['{"question": "Who?", "answer": "Ana", "subject_id": "ana", "scope": "/a"}', "", '{"question": "Why?"}']
    ) == [
        Labelled(question="Who?", answer="Ana", subject_key="ana", scope_path="/a"),
        Labelled(question="Why?"),
    ]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"answer": "x"}', '"text"', '{"question": 1}', '{"question": "a", "answer": 1}']
)
def test_a_line_that_is_no_question_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        read(['{"question": "Who?"}', line])
