from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from facts import index, lifecycle
from facts.actors import pipeline
from facts.clock import now
from facts.errors import DomainError, Refused
from facts.models import Account, Event, Fact, Passage, ScopeLink, Subject
from facts.models.evidence import Withheld
from facts.tenancy import ensure_scope
from facts.vocabulary import Sensitivity, Status
from governance.access import Right
from retrieval.ask import verdict
from retrieval.ask.answering import AnswerFailed, Worded
from retrieval.ask.asking import AskAnswer
from retrieval.ask.evidence import Evidence
from retrieval.ask.request import AskRequest
from retrieval.models import Trace
from retrieval.search.request import SearchRequest
from retrieval.traces.writing import unpack
from tests.factories import (
    JANUARY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    SubjectFactory,
    entered,
    key_principal,
    submit,
)
from tests.retrieval.ask.conftest import texts, worded

Question = Callable[..., AskAnswer]


def decisions(answer: AskAnswer) -> dict[str, tuple[str, int | None]]:
    """Return reason and rank of each thing the call's trace decided about."""
    trace = Trace.objects.get(pk=answer.trace_id)
    return {decision["id"]: (decision["reason"], decision["rank"]) for decision in unpack(trace.decisions)}


def disabled(fact: Fact) -> None:
    lifecycle.transition(
        fact.id, account_id=fact.account_id, to=Status.DISABLED, actor=pipeline(), action="fact.disabled"
    )


def test_a_supported_answer(ana: Subject, question: Question, model: Any) -> None:
    home = FactFactory(subject=ana, statement="Ana lives in Lyon.", valid_to=None)
    other = FactFactory(subject=ana, statement="Ana likes tea.")
    asked = model(lambda evidence: worded(texts(evidence).index("Ana lives in Lyon.") + 1))
    before = now()
    answer = question()
    assert (answer.verdict.answer, texts(answer.verdict.cited)) == ("In Lyon.", ["Ana lives in Lyon."])
    assert (answer.verdict.abstained, answer.verdict.confidence, answer.verdict.degraded) == (False, 90, None)
    assert answer.verdict.prompt_tokens == 321
    ((words, evidence, reference_time),) = asked.asked
    assert words == "Where does Ana live?"
    assert {item.key.id for item in evidence} == {home.id, other.id}
    assert before <= reference_time <= now()
    assert answer.reference_time == reference_time
    assert (evidence[0].valid_from, evidence[0].valid_to) == (MARCH, None)


def test_a_weak_lead_keeps_its_citation_and_abstains(ana: Subject, question: Question, model: Any) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    model(worded(1, confidence=49))
    result = question().verdict
    assert (texts(result.cited), result.abstained, result.confidence, result.degraded, result.answer) == (
        ["Ana lives in Lyon."],
        True,
        49,
        None,
        "In Lyon.",
    )
    model(worded(1, confidence=50))
    assert question().verdict.abstained is False


@pytest.mark.parametrize("numbers", [(), (2,), (0,), (-1,), (99, 7)])
def test_without_an_offered_citation_there_is_no_answer(
    ana: Subject, question: Question, model: Any, numbers: tuple[int, ...]
) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    model(worded(*numbers, confidence=100))
    answer = question()
    assert (answer.verdict.answer, answer.verdict.cited) == (verdict.NOTHING_GROUNDED, ())
    assert (answer.verdict.abstained, answer.verdict.confidence, answer.verdict.degraded) == (True, 0, None)
    assert answer.verdict.prompt_tokens == 321
    assert len(answer.offered) == 1


def test_a_citation_that_was_not_offered_is_dropped_beside_one_that_was(
    ana: Subject, question: Question, model: Any
) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    model(worded(7, 1, 1))
    result = question().verdict
    assert (texts(result.cited), result.abstained) == (["Ana lives in Lyon."], False)


def test_nothing_stored_asks_no_model(ana: Subject, question: Question, model: Any) -> None:
    asked = model(worded(1))
    answer = question()
    assert (answer.verdict.answer, answer.verdict.cited) == (verdict.NOTHING_GROUNDED, ())
    assert (answer.verdict.abstained, answer.verdict.confidence, answer.verdict.degraded) == (True, 0, None)
    assert (answer.verdict.prompt_tokens, asked.asked) == (0, [])


def test_without_a_model_the_first_four_statements_stand(ana: Subject, question: Question) -> None:
    for number in range(6):
        FactFactory(subject=ana, statement=f"Ana lives in town {number}.")
    answer = question()
    first = texts(answer.offered)[:4]
    assert len(answer.offered) == 6
    assert (answer.verdict.answer, texts(answer.verdict.cited)) == (" ".join(first), first)
    assert (answer.verdict.abstained, answer.verdict.confidence, answer.verdict.degraded) == (False, 40, None)
    assert answer.verdict.prompt_tokens == 0


def test_a_failed_call_is_said_and_what_was_found_is_given(ana: Subject, question: Question, model: Any) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    FactFactory(subject=ana, statement="Ana lives with Bob.")
    model(AnswerFailed("provider_timeout"))
    answer = question()
    assert answer.verdict.answer == verdict.CALL_FAILED
    assert answer.verdict.cited == answer.offered
    assert answer.verdict.statements == texts(answer.offered)
    assert (answer.verdict.abstained, answer.verdict.confidence) == (True, 0)
    assert (answer.verdict.degraded, answer.verdict.prompt_tokens) == ("provider_timeout", None)
    trace = Trace.objects.get(pk=answer.trace_id)
    assert (trace.status, trace.warnings[-1]) == ("degraded", "answer_degraded: provider_timeout")


def test_the_trace_says_what_was_offered_and_cited(ana: Subject, question: Question, model: Any) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    FactFactory(subject=ana, statement="Ana lives with Bob.")
    model(worded(2, confidence=30))
    answer = question()
    first, second = answer.offered
    trace = Trace.objects.get()
    assert trace.id == answer.trace_id
    assert decisions(answer) == {str(first.key.id): ("offered", 1), str(second.key.id): ("cited", 2)}
    assert (trace.kind, trace.query, trace.purpose) == ("ask", "Where does Ana live?", "test")
    assert trace.reasons == {"offered": 1, "cited": 1}
    assert (trace.facts_served, trace.passages_served, trace.considered, trace.withheld) == (2, 0, 2, 0)
    assert trace.tokens == first.tokens + second.tokens
    assert trace.request["answer"] == {"abstained": True, "confidence": 30, "degraded": None, "cited": 1}
    assert (trace.request["effort"], trace.request["recall"]) == (None, None)
    assert trace.profile.startswith("thorough-")
    assert "Lyon" not in str(trace.request)


def test_what_a_conflict_withholds_is_neither_offered_nor_cited(ana: Subject, question: Question, model: Any) -> None:
    submit(ana, {"value": "Lyon"}, predicate="home_city", statement="Ana lives in Lyon.")
    submit(ana, {"value": "Nice"}, predicate="home_city", statement="Ana lives in Nice.", at=MAY)
    asked = model(worded(1))
    answer = question()
    assert (answer.offered, asked.asked) == ((), [])
    assert "open_conflict: 2 fact(s) hidden pending conflict resolution" in answer.base.warnings
    assert Counter(reason for reason, _ in decisions(answer).values()) == {"conflict_open": 2}
    assert Trace.objects.get().withheld == 2


def test_what_is_forgotten_while_the_model_works_is_not_told(ana: Subject, question: Question, model: Any) -> None:
    kept = FactFactory(subject=ana, statement="Ana lives with Bob.")
    gone = FactFactory(subject=ana, statement="Ana lives in Lyon.")

    def answering(evidence: Sequence[Evidence]) -> Worded:
        disabled(gone)
        return worded(texts(evidence).index("Ana lives with Bob.") + 1, text="With Bob, in Lyon.")

    model(answering)
    answer = question()
    assert (answer.verdict.answer, answer.verdict.cited) == (verdict.CHANGED, ())
    assert (answer.verdict.abstained, answer.verdict.confidence) == (True, 0)
    assert (answer.verdict.degraded, answer.verdict.prompt_tokens) == ("evidence_changed", 321)
    assert texts(answer.offered) == ["Ana lives with Bob."]
    assert [found.text for found in answer.base.results] == ["Ana lives with Bob."]
    assert decisions(answer) == {str(kept.id): ("offered", 1)}


def test_what_is_forgotten_while_a_call_fails_is_not_listed(ana: Subject, question: Question, model: Any) -> None:
    FactFactory(subject=ana, statement="Ana lives with Bob.")
    gone = FactFactory(subject=ana, statement="Ana lives in Lyon.")

    def failing(evidence: Sequence[Evidence]) -> Worded:
        Fact.objects.filter(pk=gone.pk).update(expires_at=now())
        index.sync_facts(gone.account_id, [gone.id])
        raise AnswerFailed("provider_error")

    model(failing)
    result = question(effort="low")
    assert (result.verdict.statements, result.verdict.degraded) == (["Ana lives with Bob."], "provider_error")
    assert (result.recall["admitted_count"], texts(result.offered)) == (1, ["Ana lives with Bob."])


def test_the_past_is_answered_as_of_then(ana: Subject, question: Question, model: Any) -> None:
    FactFactory(subject=ana, statement="Ana lives in Nice.", valid_from=JANUARY, valid_to=MAY, status=Status.SUPERSEDED)
    FactFactory(subject=ana, statement="Ana lives in Lyon.", valid_from=MAY)
    asked = model(worded(1))
    answer = question(as_of=MARCH)
    assert texts(answer.offered) == ["Ana lives in Nice."]
    assert (answer.offered[0].valid_from, answer.offered[0].valid_to) == (JANUARY, MAY)
    assert (asked.asked[0][2], answer.reference_time) == (MARCH, MARCH)
    assert texts(question(known_at=MARCH).offered) == []
    assert texts(question().offered) == ["Ana lives in Lyon."]


@pytest.mark.parametrize("effort", ["", "high"])
def test_nobody_is_answered_from_what_is_not_theirs(
    account: Account, ana: Subject, question: Question, effort: str
) -> None:
    bob = SubjectFactory(account=account, key="bob", name="Bob")
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    FactFactory(subject=ana, statement="Ana lives near Bob.", status=Status.PROVISIONAL, sensitivity="public")
    FactFactory(subject=ana, statement="Ana lives for tea.", sensitivity=Sensitivity.PUBLIC)
    FactFactory(subject=ana, statement="Ana lives elsewhere.", scope=ensure_scope(account.id, "/sales"))
    FactFactory(subject=ana, statement="Ana lives no more.", expires_at=MAY, sensitivity="public")
    wide = {"exact": False, "effort": effort, "include_source_recall": bool(effort)}
    as_bob = question(**wide, principal=key_principal(account, rights=[Right.READ], peer=bob))
    as_nobody = question(**wide, principal=key_principal(account, rights=[Right.READ]))
    for answer in (as_bob, as_nobody):
        assert {item.text for item in answer.offered} <= {"Ana lives for tea."}
        assert "Ana lives for tea." in texts(answer.offered)
    assert (as_bob.base.reader_posture, as_nobody.base.reader_posture) == ("peer", "public_only")
    other = AccountFactory()
    with entered(other):
        ensure_scope(other.id, "/support")
        stranger = key_principal(other)
        assert question(**wide, principal=stranger).offered == ()


def test_a_key_confined_elsewhere_or_without_the_right_is_refused(
    account: Account, ana: Subject, question: Question
) -> None:
    confined = key_principal(account, scope_limit=ensure_scope(account.id, "/sales"))
    with pytest.raises(Refused, match="confined"):
        question(principal=confined)
    with pytest.raises(Refused, match="right"):
        question(principal=key_principal(account, rights=[Right.CAPTURE]))


def test_the_limit_bounds_the_evidence(ana: Subject, question: Question) -> None:
    for number in range(4):
        FactFactory(subject=ana, statement=f"Ana lives in town {number}.")
    answer = question(limit=3)
    assert (len(answer.offered), len(answer.base.results)) == (3, 3)


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"query": " \n"}, "empty_query", "query"),
        ({"limit": 51}, "invalid_payload", "limit"),
        ({"effort": "extreme"}, "unknown_effort", "effort"),
        ({"include_source_recall": True}, "effort_required", "include_source_recall"),
        ({"profile": "nothing"}, "unknown_profile", "profile"),
    ],
)
def test_what_cannot_be_asked_names_the_field(
    question: Question, changes: dict[str, Any], code: str, field: str
) -> None:
    with pytest.raises(DomainError) as refused:
        question(**changes)
    assert (refused.value.code, refused.value.field) == (code, field)


def test_only_facts_are_evidence_unless_allowed(ana: Subject, question: Question) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    for effort in ("", "low", "medium", "high"):
        assert {item.key.unit for item in question(effort=effort).offered} == {"fact"}
    with_sources = question(effort="low", include_source_recall=True)
    assert [(item.key.unit, item.origin) for item in with_sources.offered] == [
        ("fact", "base"),
        ("passage", "source_exact"),
    ]


def test_withheld_and_withdrawn_words_are_no_evidence(ana: Subject, question: Question) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    recall = {"effort": "low", "include_source_recall": True}
    passages = list(Passage.objects.values_list("id", flat=True))
    for withheld in (Withheld.CONFLICT, Withheld.FORGOTTEN):
        Passage.objects.update(withheld=withheld)
        index.sync_passages(ana.account_id, passages)
        assert {item.key.unit for item in question(**recall).offered} == {"fact"}
    Passage.objects.update(withheld=Withheld.NOTHING)
    Event.objects.update(withdrawn_at=now())
    index.sync_passages(ana.account_id, passages)
    assert {item.key.unit for item in question(**recall).offered} == {"fact"}


def test_linked_scopes_answer_where_links_are_asked_for(account: Account, ana: Subject, question: Question) -> None:
    here, there = ensure_scope(account.id, "/support"), ensure_scope(account.id, "/sales")
    ScopeLink.objects.create(account=account, source=here, target=there)
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    FactFactory(subject=ana, statement="Ana lives near a lake.", scope=there)
    # The expansion follows links from what the scope itself holds.
    for effort in ("", "medium"):
        linked = question(exact=False, include_cross_links=True, effort=effort)
        alone = question(exact=False, effort=effort)
        assert texts(alone.offered) == ["Ana lives in Lyon."]
        assert set(texts(linked.offered)) == {"Ana lives in Lyon.", "Ana lives near a lake."}


def test_a_question_of_one_endless_word_is_asked_once(ana: Subject, question: Question) -> None:
    FactFactory(subject=ana, statement="Ana lives in Lyon.")
    answer = question("y" * 8_000, effort="high")
    outcomes = {(call["tool"], call["outcome"]) for call in answer.recall["calls"]}
    # With the words of its kind before it, it is longer than a search reads.
    assert ("knowledge", "failed") in outcomes


def test_a_request_needs_no_more_than_a_question() -> None:
    asked = AskRequest(search=SearchRequest(scope_path="/", exact=False, query="Who?"))
    assert (asked.effort, asked.include_source_recall) == ("", False)
