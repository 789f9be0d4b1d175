from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from facts.models import IndexedUnit
from retrieval.ask import verdict
from retrieval.ask.answering import AnswerFailed, Worded
from retrieval.ask.evidence import Evidence, EvidenceKey
from retrieval.ask.planner import admit

evidence = st.builds(
    Evidence,
    key=st.builds(EvidenceKey, st.sampled_from(IndexedUnit), st.uuids()),
    text=st.text(min_size=1, max_size=200),
    origin=st.sampled_from(["base", "knowledge"]),
)
offered = st.lists(evidence, max_size=12, unique_by=lambda item: item.key)
worded = st.builds(
    Worded,
    text=st.text(min_size=1),
    citations=st.lists(st.integers(-3, 20)),
    confidence=st.integers(0, 100),
    input_tokens=st.none() | st.integers(0),
)


@given(offered=offered, worded=worded)
def test_a_model_cites_what_was_offered_and_abstains_below_fifty(offered: list[Evidence], worded: Worded) -> None:
    result = verdict.of_model(worded, offered)
    assert set(result.cited) <= set(offered)
    assert len(result.cited) == len(set(result.cited))
    assert result.degraded is None
    assert result.prompt_tokens == worded.input_tokens
    if result.cited:
        assert (result.answer, result.confidence) == (worded.text, worded.confidence)
        assert result.abstained == (worded.confidence < 50)
    else:
        assert (result.answer, result.confidence, result.abstained) == (verdict.NOTHING_GROUNDED, 0, True)


@given(offered=offered)
def test_without_a_model_and_after_a_failure(offered: list[Evidence]) -> None:
    plain = verdict.without_model(offered)
    assert list(plain.cited) == offered[:4]
    assert (plain.confidence, plain.abstained) == ((40, False) if offered else (0, True))
    failed = verdict.of_failure(AnswerFailed("provider_error"), offered)
    assert (list(failed.cited), failed.statements) == (offered, [item.text for item in offered])
    assert (failed.confidence, failed.abstained, failed.degraded, failed.prompt_tokens) == (
        0,
        True,
        "provider_error",
        None,
    )


@given(offered=offered, worded=worded)
def test_what_changed_leaves_no_word_of_the_answer(offered: list[Evidence], worded: Worded) -> None:
    before = verdict.of_model(worded, offered)
    after = verdict.evidence_changed(before)
    assert (after.answer, after.cited, after.confidence, after.abstained) == (verdict.CHANGED, (), 0, True)
    assert (after.degraded, after.prompt_tokens) == ("evidence_changed", before.prompt_tokens)


@given(
    base=offered,
    new=offered,
    limit=st.integers(1, 12),
    head=st.integers(0, 12),
    tokens=st.integers(1, 400),
)
def test_what_is_offered_keeps_to_every_bound(
    base: list[Evidence], new: list[Evidence], limit: int, head: int, tokens: int
) -> None:
    new = [item for item in new if item.key not in {known.key for known in base}]
    admission = admit(base, new, limit=limit, head=head, tokens=tokens)
    assert len(admission.offered) <= limit
    assert admission.tokens == sum(item.tokens for item in admission.offered) <= tokens
    assert sorted(item.key.id for item in (*admission.offered, *admission.left_out)) == sorted(
        item.key.id for item in (*base, *new)
    )
    order = [*base[:head], *new, *base[head:]]
    assert list(admission.offered) == [item for item in order if item in admission.offered]
    if not admission.over_tokens:
        assert list(admission.offered) == order[:limit]


def test_evidence_says_the_same_by_its_words_and_its_unit() -> None:
    def made(unit: IndexedUnit, text: str) -> Evidence:
        return Evidence(key=EvidenceKey(unit, uuid.uuid4()), text=text, origin="base")

    assert (
        made(IndexedUnit.FACT, "Ana  LIVES\nin Lyon.").same_text
        == made(IndexedUnit.FACT, "ana lives in lyon.").same_text
    )
    assert made(IndexedUnit.FACT, "a").same_text != made(IndexedUnit.PASSAGE, "a").same_text
