from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts import embedding, lifecycle, withholding
from facts.actors import pipeline
from facts.clock import now
from facts.errors import DomainError, NotFound, Refused
from facts.models import Account, Fact, IndexedUnit, Passage, Subject
from facts.tenancy import account_transaction
from facts.vocabulary import EvidenceLevel, Level, Sensitivity, Status, Volatility
from governance.access import Principal, Right
from retrieval.context import assembly
from retrieval.context.assembly import ContextAnswer, ContextRequest
from retrieval.context.packet import EmptyReason, PacketStatus
from retrieval.embedders.base import EmbeddingUnavailable
from retrieval.models import Trace
from retrieval.profiles import shipped
from retrieval.text import known_names
from retrieval.traces.writing import unpack
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    AccountFactory,
    FactFactory,
    IdentityFactory,
    SubjectFactory,
    entered,
    key_principal,
    person_in,
    say,
    submit,
)
from tests.retrieval.conftest import WordEmbedder, reasons, statements

Ask = Callable[..., ContextAnswer]


def _fact(subject: Subject, statement: str, **fields: object) -> Fact:
    """A fact whose evidence is not searchable, so that only facts are served."""
    made = FactFactory(subject=subject, statement=statement, **fields)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE facts_passagetext SET active = false WHERE account_id = %s", [made.account_id])
    return made


def test_a_fact_is_found_by_its_words_and_comes_before_others(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana lives in Porto.")
    _fact(ana, "Ana drinks green tea.")
    answer = ask("which tea does she drink?")
    assert statements(answer) == ["Ana drinks green tea.", "Ana lives in Porto."]
    assert answer.packet.status is PacketStatus.OK
    assert answer.packet.empty_reason is None
    assert answer.packet.warnings == []
    assert answer.token_count == 17
    assert answer.strategies == {"semantic": "contributed", "lexical": "contributed"}


def test_the_trace_tells_everything(ana: Subject, app: Principal, ask: Ask) -> None:
    first = _fact(ana, "Ana drinks green tea.")
    second = _fact(ana, "Ana lives in Porto, at the far end of the long street behind the old harbour.")
    answer = ask("green tea", budget=12)
    trace = Trace.objects.get(pk=answer.trace_id)
    assert (trace.query, trace.purpose, trace.budget, trace.budget_unit) == ("green tea", "test", 12, "tokens")
    assert (trace.scope_path, trace.subject_key, trace.reader_id) == ("/support", "ana", ana.id)
    assert (trace.credential_id, trace.profile, trace.ranker) == (app.pk, "context-2", "context-2")
    assert trace.embedder == "test:words@1/384/hash"
    assert (trace.considered, trace.facts_served, trace.passages_served, trace.withheld) == (2, 1, 0, 0)
    assert (trace.status, trace.empty_reason, trace.tokens) == ("ok", "", 9)
    assert set(trace.timings) >= {"embed", "resolve", "lexemes", "facts_vector", "facts_text", "facts_fetch", "pack"}
    served, left = unpack(trace.decisions)
    assert (served["id"], served["action"], served["reason"]) == (str(first.id), "included", "top_score")
    assert (served["revision"], served["rank"], served["tokens"]) == (1, 1, 9)
    assert served["fusion_score"] == 1.0
    assert served["text_score"] == 1.0
    assert (left["id"], left["action"], left["reason"]) == (str(second.id), "excluded", "over_budget")
    assert (left["rank"], left["text_score"], left["tokens"]) == (2, 0.0, 23)


def test_an_item_that_does_not_fit_is_skipped_and_a_smaller_one_follows(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Tea is what Ana drinks at every hour of the day, and at night as well, green or black.")
    _fact(ana, "Ana likes tea.")
    assert statements(ask("tea", budget=10)) == ["Ana likes tea."]


def test_a_budget_in_characters(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana likes tea.")
    assert statements(ask("tea", budget=29, budget_unit="chars")) == []
    assert statements(ask("tea", budget=30, budget_unit="chars")) == ["Ana likes tea."]


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_is_positive(budget: int) -> None:
    with pytest.raises(DomainError) as refused:
        ContextRequest(scope_path="/", exact=True, budget=budget)
    assert (refused.value.code, refused.value.field) == ("budget_exceeded", "budget_tokens")


def test_a_question_is_bounded() -> None:
    ContextRequest(scope_path="/", exact=True, query="x" * 8_000)
    with pytest.raises(DomainError) as refused:
        ContextRequest(scope_path="/", exact=True, query="x" * 8_001)
    assert (refused.value.code, refused.value.field) == ("query_too_long", "query")


def test_nothing_of_another_account_is_seen(ana: Subject, ask: Ask) -> None:
    other = AccountFactory()
    with entered(other):
        _fact(SubjectFactory(account=other, key="ana"), "Ana drinks secret tea.")
    answer = ask("secret tea")
    assert statements(answer) == []
    assert answer.packet.empty_reason is EmptyReason.NO_MEMORY


def test_only_the_subjects_facts_of_exactly_that_scope(account: Account, ana: Subject, ask: Ask) -> None:
    bob = SubjectFactory(account=account, key="bob")
    _fact(bob, "Bob likes tea.", sensitivity=Sensitivity.PUBLIC)
    _fact(ana, "Ana likes root tea.", scope__path="/")
    _fact(ana, "Ana likes tea.")
    _fact(ana, "Ana likes deep tea.", scope__path="/support/emea")
    assert statements(ask("tea")) == ["Ana likes tea."]


def test_a_scope_is_read_with_its_ancestors_about_everybody(account: Account, ana: Subject, ask: Ask) -> None:
    bob = SubjectFactory(account=account, key="bob")
    _fact(bob, "Bob likes tea.", sensitivity=Sensitivity.PUBLIC)
    _fact(bob, "Bob hides tea.")
    _fact(ana, "Ana likes root tea.", scope__path="/")
    _fact(ana, "Ana likes deep tea.", scope__path="/support/emea")
    answer = ask("tea", exact=False)
    assert sorted(statements(answer)) == ["Ana likes root tea.", "Bob likes tea."]
    assert {(fact.scope, fact.subject) for fact in answer.packet.facts} == {("/", "ana"), ("/support", "bob")}


@pytest.mark.parametrize(
    ("sensitivity", "level", "seen"),
    [
        (Sensitivity.PUBLIC, Level.PEER, True),
        (Sensitivity.INTERNAL, Level.PEER, True),
        (Sensitivity.PERSONAL, Level.PEER, False),
        (Sensitivity.PERSONAL, Level.SCOPE, True),
        (Sensitivity.RESTRICTED, Level.SCOPE, False),
    ],
)
def test_what_is_seen_of_somebody_else(
    account: Account, ana: Subject, ask: Ask, sensitivity: str, level: str, seen: bool
) -> None:
    bob = SubjectFactory(account=account, key="bob")
    _fact(bob, "Bob likes tea.", sensitivity=sensitivity, level=level)
    assert statements(ask("tea", exact=False)) == (["Bob likes tea."] if seen else [])


def test_without_a_reader_only_public_facts_are_seen(account: Account, ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana likes tea.")
    _fact(ana, "Ana sells tea.", sensitivity=Sensitivity.PUBLIC)
    answer = ask("tea", principal=key_principal(account, rights=(Right.READ,)))
    assert statements(answer) == ["Ana sells tea."]
    assert answer.reader_posture == "public_only"


def test_a_provisional_fact_is_for_its_subject_only(account: Account, ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana likes tea.", status=Status.PROVISIONAL, level=Level.SCOPE, sensitivity=Sensitivity.PUBLIC)
    assert statements(ask("tea")) == ["Ana likes tea."]
    assert statements(ask("tea", principal=key_principal(account, rights=(Right.READ,)))) == []


def test_reading_needs_its_right(account: Account, ask: Ask) -> None:
    with pytest.raises(Refused) as refused:
        ask("tea", principal=key_principal(account, rights=(Right.CAPTURE,)))
    assert refused.value.code == "missing_right"


def test_naming_a_reader_needs_its_right(ask: Ask) -> None:
    with pytest.raises(Refused) as refused:
        ask("tea", peer_key="ana")
    assert refused.value.code == "peer_not_allowed"


def test_a_person_reads_as_themselves(account: Account, ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana likes tea.")
    _fact(ana, "Ana sells tea.", sensitivity=Sensitivity.INTERNAL)
    assert statements(ask("tea", principal=person_in(account))) == ["Ana sells tea."]


def test_an_unknown_scope_or_subject_reads_as_nothing_stored(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana likes tea.")
    for changes in ({"scope_path": "/nowhere"}, {"subject_key": "nobody"}):
        answer = ask("tea", **changes)
        assert statements(answer) == []
        assert answer.packet.empty_reason is EmptyReason.NO_MEMORY
        assert answer.packet.status is PacketStatus.OK


def test_a_subject_is_known_by_its_alias(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana likes tea.")
    IdentityFactory(subject=ana, platform="slack", value="U1")
    assert statements(ask("tea", subject_key="", subject_alias=("slack", "U1"))) == ["Ana likes tea."]
    with pytest.raises(NotFound) as unknown:
        ask("tea", subject_key="", subject_alias=("slack", "U2"))
    assert unknown.value.code == "alias_not_found"


@pytest.mark.parametrize(
    "status",
    [
        Status.CANDIDATE,
        Status.HELD,
        Status.NEEDS_REVALIDATION,
        Status.DISPUTED,
        Status.SUPERSEDED,
        Status.EXPIRED,
        Status.REJECTED,
        Status.DISABLED,
    ],
)
def test_only_active_facts_are_served(ana: Subject, ask: Ask, status: str) -> None:
    _fact(ana, "Ana likes tea.", status=status)
    answer = ask("tea")
    assert statements(answer) == []
    assert answer.packet.empty_reason is EmptyReason.NO_MEMORY


def test_validity_and_expiry_bound_what_is_current(ana: Subject, ask: Ask) -> None:
    tomorrow = now() + timedelta(days=1)
    _fact(ana, "Ana liked tea.", valid_from=JANUARY, valid_to=MAY)
    _fact(ana, "Ana will like tea.", valid_from=tomorrow)
    _fact(ana, "Ana bought tea.", expires_at=MAY)
    _fact(ana, "Ana likes tea.", valid_to=tomorrow, expires_at=tomorrow)
    assert statements(ask("tea")) == ["Ana likes tea."]


def test_both_sides_of_an_open_conflict_are_hidden_and_counted(ana: Subject, ask: Ask) -> None:
    submit(ana, {"value": "tea"}, predicate="favourite_drink", statement="Ana's favourite drink is tea.", at=JANUARY)
    submit(ana, {"value": "coffee"}, predicate="favourite_drink", statement="Ana's favourite drink is coffee.")
    _fact(ana, "Ana's favourite dish is pho.")
    answer = ask("favourite drink")
    assert statements(answer) == ["Ana's favourite dish is pho."]
    assert answer.packet.warnings == ["open_conflict: 2 fact(s) hidden pending conflict resolution"]
    assert answer.packet.status is PacketStatus.DEGRADED
    assert sorted(reasons(answer).values()) == ["conflict_open", "conflict_open", "top_score"]
    assert Trace.objects.get(pk=answer.trace_id).withheld == 2


def test_a_packet_emptied_by_a_conflict_says_that_something_is_withheld(ana: Subject, ask: Ask) -> None:
    submit(ana, {"value": "tea"}, predicate="favourite_drink", at=JANUARY)
    submit(ana, {"value": "coffee"}, predicate="favourite_drink")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE facts_passagetext SET active = false")
        cursor.execute("UPDATE facts_passagevector SET active = false")
    answer = ask("favourite drink")
    assert answer.packet.empty_reason is EmptyReason.WITHHELD


@pytest.mark.parametrize(
    ("volatility", "days", "freshness"),
    [
        (Volatility.STABLE, 4000, "current"),
        (Volatility.SLOW, 364, "current"),
        (Volatility.SLOW, 366, "unconfirmed"),
        (Volatility.VOLATILE, 59, "current"),
        (Volatility.EPHEMERAL, 6, "current"),
    ],
)
def test_a_served_fact_says_how_fresh_it_is(ana: Subject, ask: Ask, volatility: str, days: int, freshness: str) -> None:
    _fact(ana, "Ana likes tea.", volatility=volatility, valid_from=now() - timedelta(days=days))
    assert [fact.freshness for fact in ask("tea").packet.facts] == [freshness]


@pytest.mark.parametrize(("volatility", "days"), [(Volatility.VOLATILE, 61), (Volatility.EPHEMERAL, 8)])
def test_a_quickly_changing_fact_is_withheld_past_its_horizon(
    ana: Subject, ask: Ask, settings: object, volatility: str, days: int
) -> None:
    _fact(ana, "Ana likes tea.", volatility=volatility, valid_from=now() - timedelta(days=days))
    answer = ask("tea")
    assert statements(answer) == []
    assert answer.packet.warnings == ["volatility_expired: 1 fact(s) withheld, not confirmed for too long"]
    assert list(reasons(answer).values()) == ["volatility_expired"]
    settings.SERVE_STALE_FACTS = True
    assert [fact.freshness for fact in ask("tea").packet.facts] == ["stale"]


def test_what_somebody_else_said_counts_less(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana likes black tea.", evidence_level=EvidenceLevel.INDIRECT, confidence=0.8)
    _fact(ana, "Ana likes cold tea.", confidence=0.8)
    answer = ask("black tea")
    assert [(fact.statement, fact.confidence) for fact in answer.packet.facts] == [
        ("Ana likes black tea.", 0.6),
        ("Ana likes cold tea.", 0.8),
    ]
    assert answer.packet.facts[0].score == 0.75


def test_the_recall_gate_empties_a_packet_silently(ana: Subject, ask: Ask, settings: object) -> None:
    _fact(ana, "Ana likes tea.")
    settings.HAKI_RECALL_MAX_DISTANCE = 0.7
    answer = ask("submarine engines")
    assert statements(answer) == []
    assert answer.packet.status is PacketStatus.OK
    assert answer.packet.warnings == []
    assert answer.packet.empty_reason is EmptyReason.NO_RELEVANT_MEMORY
    assert list(reasons(answer).values()) == ["below_relevance_floor"]
    assert statements(ask("likes tea")) == ["Ana likes tea."]


def test_with_the_gate_on_what_is_far_behind_the_best_is_left_out(ana: Subject, ask: Ask, settings: object) -> None:
    _fact(ana, "Ana likes green tea.")
    _fact(ana, "Ana likes long walks.")
    assert len(statements(ask("Does Ana like green tea?"))) == 2
    settings.HAKI_RECALL_MAX_DISTANCE = 0.9
    answer = ask("Does Ana like green tea?")
    assert statements(answer) == ["Ana likes green tea."]
    assert sorted(reasons(answer).values()) == ["far_behind_best", "top_score"]
    settings.MEMORY_RECALL_SCORE_SHARE = 0.0
    assert len(statements(ask("Does Ana like green tea?"))) == 2


def test_an_alias_in_the_question_finds_what_is_said_of_the_name(ana: Subject, ask: Ask) -> None:
    other = SubjectFactory(account=ana.account, key="okoval", name="Oleksandr Koval")
    IdentityFactory(subject=other, account=ana.account, platform="alias", value="Olek")
    known_names.forget()
    _fact(ana, "Ana likes tea.")
    _fact(other, "Oleksandr Koval has a parrot.")
    assert statements(ask("Who is Olek?", exact=False, subject_key="okoval"))[0] == "Oleksandr Koval has a parrot."


def test_equal_statements_are_served_once(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana likes tea.", scope__path="/")
    copy = _fact(ana, "Ana likes tea.")
    answer = ask("tea", exact=False)
    assert statements(answer) == ["Ana likes tea."]
    assert sorted(reasons(answer).values()) == ["duplicate_of_served", "top_score"]
    assert str(copy.id) in reasons(answer)


def test_a_duplicate_of_what_did_not_fit_is_over_budget(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana likes tea.", scope__path="/")
    _fact(ana, "Ana likes tea.")
    answer = ask("tea", exact=False, budget=1)
    assert list(reasons(answer).values()) == ["over_budget", "over_budget"]
    assert answer.packet.empty_reason is EmptyReason.OVER_BUDGET


def test_a_name_in_what_was_served_leads_to_more(account: Account, ana: Subject, ask: Ask) -> None:
    atlas = _fact(ana, "The engine room of Atlas is noisy.")
    for number in range(70):
        _fact(ana, f"Ana met client number {number}.")
    _fact(ana, "Ana works on Atlas.")
    answer = ask("what works for Ana", budget=900)
    assert statements(answer)[-1] == "The engine room of Atlas is noisy."
    assert reasons(answer)[str(atlas.id)] == "multi_hop_expansion"
    assert answer.packet.facts[-1].score is None


def test_passages_are_served_word_for_word_after_facts(ana: Subject, ask: Ask) -> None:
    FactFactory(subject=ana, statement="Ana likes tea.")
    say(ana, "I had tea\nwith Bob today")
    answer = ask("tea")
    assert statements(answer) == ["Ana likes tea."]
    assert {passage.text for passage in answer.packet.passages} == {"Ana likes tea.", "I had tea\nwith Bob today"}
    assert answer.packet.facts[0].source_event_ids == (Passage.objects.get(text="Ana likes tea.").event_id,)


def test_no_more_passages_are_served_than_the_profile_says(ana: Subject, ask: Ask) -> None:
    for number in range(10):
        say(ana, f"I had tea number {number}")
    answer = ask("tea", budget=5000, profile=dataclasses.replace(shipped.CONTEXT, passages=8))
    assert len(answer.packet.passages) == 8
    assert sorted(reasons(answer).values()) == ["over_passage_limit"] * 2 + ["top_score"] * 8


def test_what_a_served_fact_was_taken_from_comes_after_other_passages(ana: Subject, ask: Ask) -> None:
    FactFactory(subject=ana, statement="Ana likes green tea.", event=say(ana, "I like green tea"))
    say(ana, "Coffee is what I had before tea")
    few = ask("green tea", budget=20)
    assert statements(few) == ["Ana likes green tea."]
    assert [passage.text for passage in few.packet.passages] == ["Coffee is what I had before tea"]
    many = ask("green tea", budget=100)
    assert [passage.text for passage in many.packet.passages] == [
        "I like green tea",
        "Coffee is what I had before tea",
    ]


def test_a_passage_is_found_by_its_date(ana: Subject, ask: Ask) -> None:
    at = now()
    for days in (0, 1, 2, 40):
        say(ana, f"Tea {days}", occurred_at=at - timedelta(days=days))
    assert ask("What did we talk of yesterday?").packet.passages[0].text == "Tea 1"
    assert ask("What did we talk of two days ago?").packet.passages[0].text == "Tea 2"


def test_the_answer_to_a_matching_turn_is_served_as_well(ana: Subject, ask: Ask) -> None:
    at = now() - timedelta(days=1)
    for number in range(10):
        say(ana, f"Coffee {number}", occurred_at=at - timedelta(days=number))
    say(ana, "Which green tea do you like?", occurred_at=at + timedelta(seconds=1))
    say(ana, "Sencha", occurred_at=at + timedelta(seconds=2))
    answer = ask("green tea", budget=60, profile=dataclasses.replace(shipped.CONTEXT, top=4))
    assert [passage.text for passage in answer.packet.passages][:2] == ["Which green tea do you like?", "Sencha"]


def test_facts_leave_room_for_passages_and_then_fill_up(ana: Subject, ask: Ask) -> None:
    for number in range(20):
        _fact(ana, f"Ana likes tea number {number}.")
    say(ana, "I like tea best in the morning")
    answer = ask("tea", budget=100)
    assert len(answer.packet.passages) == 1
    assert len(answer.packet.facts) == 9
    assert answer.token_count == 92


@pytest.mark.parametrize(("status", "served"), [(Status.DISABLED, 0), (Status.ACTIVE, 1)])
def test_a_passage_is_hidden_with_the_forgotten_fact_that_cites_it(
    ana: Subject, ask: Ask, status: str, served: int
) -> None:
    FactFactory(subject=ana, statement="Ana likes tea.", status=status)
    assert len(ask("tea").packet.passages) == served


def test_a_passage_that_a_conflict_withholds_is_blocked(ana: Subject, ask: Ask) -> None:
    for value, at in (("tea", JANUARY), ("coffee", MARCH)):
        submit(ana, {"value": value}, predicate="favourite_drink", at=at)
    answer = ask("tea or coffee")
    assert answer.packet.passages == []
    assert sorted(reasons(answer).values()) == ["conflict_open"] * 4
    assert answer.packet.warnings == ["open_conflict: 2 fact(s) hidden pending conflict resolution"]


@pytest.mark.parametrize(
    ("status", "for_itself", "for_another"),
    [
        (Status.ACTIVE, 1, 1),
        (Status.SUPERSEDED, 1, 1),
        (Status.EXPIRED, 1, 1),
        (Status.NEEDS_REVALIDATION, 1, 1),
        (Status.REJECTED, 1, 0),
        (Status.DISPUTED, 0, 0),
        (Status.HELD, 0, 0),
        (Status.DISABLED, 0, 0),
        (Status.RETRACTED, 0, 0),
    ],
)
def test_what_was_believed_then_is_read_under_what_is_known_of_it_now(
    ana: Subject, app: Principal, status: str, for_itself: int, for_another: int
) -> None:
    fact = _fact(ana, "Ana drinks tea.", level=Level.SCOPE, sensitivity=Sensitivity.INTERNAL)
    Fact.objects.filter(pk=fact.pk).update(status=status)
    SubjectFactory(account=ana.account, key="ben")
    served = []
    for key in ("ana", "ben"):
        request = ContextRequest(scope_path="/support", exact=False, subject_key=key, query="tea", known_at=now())
        served.append(len(assembly.assemble(principal=app, request=request).packet.facts))
    assert served == [for_itself, for_another]


def test_a_blank_question_about_the_past_serves_the_past(ana: Subject, ask: Ask) -> None:
    old = _fact(ana, "Ana liked tea.", valid_from=JANUARY, valid_to=MAY, status=Status.SUPERSEDED)
    _fact(ana, "Ana likes coffee.", valid_from=MAY)
    assert statements(ask("", as_of=MARCH)) == ["Ana liked tea."]
    assert statements(ask("", as_of=JULY)) == ["Ana likes coffee."]
    assert statements(ask("", known_at=old.recorded_from - timedelta(seconds=1))) == []


@pytest.mark.parametrize("end", [datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), None])
def test_no_stored_instant_breaks_a_read(ana: Subject, ask: Ask, end: datetime | None) -> None:
    fact = _fact(ana, "Ana likes tea.", valid_from=JANUARY, valid_to=end)
    if end is None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE facts_fact SET valid_to = 'infinity' WHERE id = %s", [fact.id])
    assert statements(ask("tea")) == ["Ana likes tea."]


def test_a_blank_question_serves_standing_context(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana liked tea.", valid_from=JANUARY)
    _fact(ana, "Ana doubts tea.", valid_from=now(), confidence=0.5)
    _fact(ana, "Ana likes tea.", valid_from=now())
    answer = ask("  ")
    assert statements(answer) == ["Ana likes tea.", "Ana doubts tea.", "Ana liked tea."]
    assert set(reasons(answer).values()) == {"standing_context"}
    assert answer.fast_fallback is True
    assert answer.strategies == {"salience_recency": "contributed"}


@pytest.mark.parametrize("query", ["???", "of the and"])
def test_a_question_without_words_matches_no_text(ana: Subject, ask: Ask, query: str) -> None:
    _fact(ana, "Ana likes the tea of Porto.")
    embedding.register(None)
    request = ContextRequest(scope_path="/support", exact=True, subject_key="ana", query=query, purpose="test")
    answer = assembly.assemble(principal=_app_of(ana), request=request)
    assert statements(answer) == []
    assert answer.packet.empty_reason is EmptyReason.NO_RELEVANT_MEMORY


def _app_of(subject: Subject) -> Principal:
    return key_principal(subject.account)


def test_without_an_embedder_text_alone_answers_and_says_so(ana: Subject, app: Principal) -> None:
    _fact(ana, "Ana likes tea.")
    _fact(ana, "Ana lives in Porto.")
    embedding.register(None)
    request = ContextRequest(scope_path="/support", exact=True, subject_key="ana", query="tea", purpose="test")
    answer = assembly.assemble(principal=app, request=request)
    assert statements(answer) == ["Ana likes tea."]
    assert answer.packet.status is PacketStatus.DEGRADED
    assert answer.packet.warnings == ["degraded_retrieval: without semantic (disabled)"]


def test_a_failing_embedder_degrades(
    ana: Subject, ask: Ask, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fact(ana, "Ana likes tea.")

    def fail(text: str) -> None:
        raise EmbeddingUnavailable("gone")

    ask("tea")
    monkeypatch.setattr(embedder, "embed_query", fail)
    answer = ask("likes tea")
    assert statements(answer) == ["Ana likes tea."]
    assert answer.packet.warnings == ["degraded_retrieval: without semantic (provider_error)"]


def test_a_fact_without_a_vector_is_found_by_its_text(ana: Subject, ask: Ask, app: Principal) -> None:
    ask("nothing yet")
    _fact(ana, "Ana likes tea.")
    request = ContextRequest(scope_path="/support", exact=True, subject_key="ana", query="tea", purpose="test")
    assert statements(assembly.assemble(principal=app, request=request)) == ["Ana likes tea."]


@pytest.mark.parametrize(
    ("slow", "status", "served", "warning"),
    [
        (["nearest"], "degraded", 1, "degraded_retrieval: without semantic (timeout)"),
        (["nearest", "matching"], "failed", 0, "degraded_retrieval: without lexical (timeout), semantic (timeout)"),
    ],
)
def test_a_search_past_its_deadline_is_dropped(
    ana: Subject,
    ask: Ask,
    settings: object,
    monkeypatch: pytest.MonkeyPatch,
    slow: list[str],
    status: str,
    served: int,
    warning: str,
) -> None:
    _fact(ana, "Ana likes tea.")
    settings.CONTEXT_DEADLINE_MS = 50

    def sleep(*args: object, **kwargs: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(5)")

    for name in slow:
        monkeypatch.setattr(assembly.candidates, name, sleep)
    answer = ask("tea")
    assert len(answer.packet.facts) == served
    assert (answer.packet.status, answer.packet.warnings) == (status, [warning])
    assert Trace.objects.get(pk=answer.trace_id).status == status
    assert answer.packet.empty_reason == (EmptyReason.RETRIEVAL_FAILED if status == "failed" else None)


def test_a_missing_purpose_is_noted_and_does_not_degrade(ana: Subject, ask: Ask) -> None:
    answer = ask("tea", purpose="")
    assert answer.packet.warnings == ["missing_purpose: say what the answer is for"]
    assert answer.packet.status is PacketStatus.OK


def test_as_of_serves_what_was_true_then(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana drank tea.", status=Status.SUPERSEDED, valid_from=JANUARY, valid_to=MAY)
    _fact(ana, "Ana drinks coffee.", valid_from=MAY)
    _fact(ana, "Ana never drank water.", status=Status.REJECTED, valid_from=JANUARY)
    assert statements(ask("Ana", as_of=MARCH)) == ["Ana drank tea."]
    assert statements(ask("Ana", as_of=JULY)) == ["Ana drinks coffee."]
    assert statements(ask("Ana")) == ["Ana drinks coffee."]


def test_as_of_serves_nothing_that_had_expired_by_then(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana drinks tea.", valid_from=JANUARY, expires_at=MAY)
    assert statements(ask("drinks", as_of=MARCH)) == ["Ana drinks tea."]
    for asked in ({"as_of": MAY}, {"as_of": now()}, {"known_at": now()}):
        assert statements(ask("drinks", **asked)) == []


def test_known_at_serves_what_was_believed_then(ana: Subject, ask: Ask) -> None:
    fact = _fact(ana, "Ana drinks tea.", valid_from=JANUARY)
    before = now()
    assert statements(ask("drinks", known_at=before)) == ["Ana drinks tea."]
    assert statements(ask("drinks", known_at=fact.recorded_from - timedelta(seconds=1), as_of=JULY)) == []


def test_known_at_tells_nothing_that_was_learned_later(ana: Subject, ask: Ask, find: Callable[..., Any]) -> None:
    fact = _fact(ana, "Ana drinks tea.", valid_from=JANUARY)
    before = now()
    lifecycle.transition(
        fact.pk,
        account_id=fact.account_id,
        to=Status.SUPERSEDED,
        changes={"valid_to": MAY, "confidence": 0.5},
        actor=pipeline(),
        action="fact.superseded",
    )
    answer = ask("drinks", known_at=before)
    (found,) = find("drinks", known_at=before, units=(IndexedUnit.FACT,)).results
    (blank,) = ask("", known_at=before).packet.facts
    for served in (*answer.packet.facts, found.content, blank):
        assert (served.version, served.status, served.valid_to, served.confidence) == (1, "active", None, 0.9)
    decisions = unpack(Trace.objects.get(pk=answer.trace_id).decisions)
    assert [one["revision"] for one in decisions if one["unit"] == IndexedUnit.FACT] == [1]


def test_history_is_read_under_todays_permissions(ana: Subject, ask: Ask) -> None:
    _fact(ana, "Ana drinks tea.", valid_from=JANUARY, status=Status.DISABLED)
    assert statements(ask("drinks", as_of=MARCH)) == []


def test_passages_of_later_are_not_heard_earlier(ana: Subject, ask: Ask) -> None:
    say(ana, "I drink tea", occurred_at=MAY)
    assert [passage.text for passage in ask("tea", as_of=JULY).packet.passages] == ["I drink tea"]
    assert ask("tea", as_of=MARCH).packet.passages == []


def test_the_same_question_gets_the_same_packet(ana: Subject, ask: Ask) -> None:
    for number in range(12):
        _fact(ana, f"Ana likes tea number {number}.", valid_from=JANUARY)
    at = datetime(2025, 8, 1, tzinfo=UTC)
    first, second = ask("tea", as_of=at), ask("tea", as_of=at)
    assert first.packet == second.packet


def test_equal_scores_are_ordered_by_content(ana: Subject, ask: Ask) -> None:
    for statement in ("Tea: Ana likes.", "Likes Ana tea.", "Ana likes tea."):
        _fact(ana, statement, valid_from=JANUARY)
    assert statements(ask("tea")) == ["Ana likes tea.", "Likes Ana tea.", "Tea: Ana likes."]


def test_near_misses_are_traced(ana: Subject, app: Principal) -> None:
    for number in range(9):
        _fact(ana, f"Ana likes tea number {number}.")
    embedding.register(None)
    narrow = dataclasses.replace(shipped.CONTEXT, top=2, near_misses=3)
    request = ContextRequest(scope_path="/support", exact=True, subject_key="ana", query="Ana's tea", purpose="test")
    answer = assembly.assemble(principal=app, request=request, profile=narrow)
    assert len(answer.packet.facts) == 2
    assert sorted(reasons(answer).values()) == ["beyond_candidate_limit"] * 3 + ["top_score"] * 2


def test_a_call_needs_few_queries(ana: Subject, ask: Ask, app: Principal) -> None:
    FactFactory(subject=ana, statement="Ana likes tea.")
    ask("tea")
    request = ContextRequest(scope_path="/support", exact=True, subject_key="ana", query="green tea", purpose="test")
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assembly.assemble(principal=app, request=request)
    sent = [query["sql"] for query in captured.captured_queries if "SAVEPOINT" not in query["sql"]]
    # account, bounds, lexemes, embedding space (once a process), 2 × (nearest, matching, fetch), what stands beside the
    # best passages, sources, trace
    assert len(sent) == 12


def test_withholding_is_seen_at_once(ana: Subject, ask: Ask) -> None:
    fact = _fact(ana, "Ana likes tea.")
    with account_transaction(ana.account_id):
        Fact.objects.filter(pk=fact.pk).update(status=Status.DISABLED)
        withholding.refresh(ana.account_id, [fact.id])
    assert statements(ask("tea")) == []
