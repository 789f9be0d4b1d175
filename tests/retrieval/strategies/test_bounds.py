"""No strategy finds anything outside of its reader's bounds: the same question to each of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts.audience import Posture, Reader, may_see
from facts.clock import now
from facts.models import Account, Event, IndexedUnit, Passage, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import Level, Sensitivity, Status, SubjectKind
from retrieval.strategies.base import Strategy
from retrieval.strategies.lexical import Lexical
from retrieval.strategies.salience_recency import SalienceRecency
from retrieval.strategies.semantic import Semantic
from retrieval.strategies.temporal import Temporal
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    MAY,
    AccountFactory,
    EventFactory,
    FactFactory,
    PassageFactory,
    SubjectFactory,
    entered,
    say,
    taken_back,
)
from tests.retrieval.conftest import index_vectors
from tests.retrieval.strategies.conftest import PUBLIC, Seek, texts

#: Each with the words and the instant that it needs to look at all.
EVERY = [
    pytest.param(Semantic(), {"text": "tea"}, id="semantic"),
    pytest.param(Semantic(), {"text": "tea", "lanes": True}, id="semantic in lanes"),
    pytest.param(Lexical(), {"text": "tea"}, id="lexical"),
    pytest.param(Lexical(), {"text": '"tea" -milk'}, id="lexical with operators"),
    pytest.param(Temporal(), {"text": "tea", "as_of": JULY}, id="temporal"),
    pytest.param(SalienceRecency(), {"text": ""}, id="salience_recency"),
]
FINDS_PASSAGES = [case for case in EVERY if case.id in {"semantic", "lexical", "lexical with operators", "temporal"}]


@pytest.mark.parametrize(("strategy", "question"), EVERY)
def test_public_only_readers_get_public_facts(ana: Subject, seek: Seek, strategy: Strategy, question: dict) -> None:
    for sensitivity in Sensitivity.values:
        FactFactory(subject=ana, statement=f"A {sensitivity} tea.", sensitivity=sensitivity)
    found = seek(strategy, **question, units=(IndexedUnit.FACT,), reader=PUBLIC)
    assert texts(found) == ["A public tea."]


@pytest.mark.parametrize(("strategy", "question"), FINDS_PASSAGES)
def test_public_only_readers_get_no_internal_passage(
    ana: Subject, seek: Seek, strategy: Strategy, question: dict
) -> None:
    for sensitivity in Sensitivity.values:
        say(ana, f"A {sensitivity} tea.", sensitivity=sensitivity)
    assert texts(seek(strategy, **question, reader=PUBLIC)) == ["A public tea."]


@pytest.mark.parametrize(("strategy", "question"), EVERY)
def test_what_is_personal_to_somebody_else_is_not_found(
    account: Account, ana: Subject, seek: Seek, strategy: Strategy, question: dict
) -> None:
    bob = SubjectFactory(account=account, key="bob")
    FactFactory(subject=ana, statement="Ana's tea.")
    FactFactory(subject=bob, statement="Bob's tea.")
    assert set(texts(seek(strategy, **question))) == {"Ana's tea."}


@pytest.mark.parametrize(("strategy", "question"), EVERY)
def test_nothing_is_found_in_other_scopes_and_accounts(
    account: Account, ana: Subject, seek: Seek, strategy: Strategy, question: dict
) -> None:
    FactFactory(subject=ana, statement="Tea in sales.", scope=ensure_scope(account.id, "/sales"))
    foreign = AccountFactory()
    with entered(foreign):
        namesake = SubjectFactory(account=foreign, key="ana")
        FactFactory(subject=namesake, statement="Tea elsewhere.", sensitivity=Sensitivity.PUBLIC)
        index_vectors(foreign)
    assert seek(strategy, **question) == []
    assert seek(strategy, **question, scope_ids=()) == []


@pytest.mark.parametrize(("strategy", "question"), EVERY)
def test_a_narrowed_read_finds_one_subject(
    account: Account, ana: Subject, seek: Seek, strategy: Strategy, question: dict
) -> None:
    bob = SubjectFactory(account=account, key="bob")
    FactFactory(subject=ana, statement="Ana's tea.", sensitivity="public")
    FactFactory(subject=bob, statement="Bob's tea.", sensitivity="public")
    assert set(texts(seek(strategy, **question, subject_id=bob.id))) == {"Bob's tea."}


@pytest.mark.parametrize(("strategy", "question"), [case for case in EVERY if case.id != "temporal"])
def test_what_is_over_or_not_yet_or_expired_is_not_found(
    ana: Subject, seek: Seek, strategy: Strategy, question: dict
) -> None:
    FactFactory(subject=ana, statement="Over: tea.", valid_from=JANUARY, valid_to=MARCH)
    FactFactory(subject=ana, statement="Later: tea.", valid_from=now() + timedelta(days=2))
    FactFactory(subject=ana, statement="Expired: tea.", expires_at=now() - timedelta(seconds=1))
    FactFactory(subject=ana, statement="Rejected: tea.", status=Status.REJECTED)
    FactFactory(subject=ana, statement="Provisional: tea.", status=Status.PROVISIONAL)
    found = seek(strategy, **question, units=(IndexedUnit.FACT,))
    assert texts(found) == ["Provisional: tea."]


@pytest.mark.parametrize(("strategy", "question"), EVERY)
def test_the_past_is_that_of_the_instant(ana: Subject, seek: Seek, strategy: Strategy, question: dict) -> None:
    FactFactory(subject=ana, statement="Then: tea.", valid_from=JANUARY, valid_to=MAY, status=Status.SUPERSEDED)
    FactFactory(subject=ana, statement="Now: tea.", valid_from=MAY)
    found = seek(strategy, **{**question, "as_of": MARCH}, units=(IndexedUnit.FACT,))
    assert texts(found) == ["Then: tea."]


@pytest.mark.parametrize(("strategy", "question"), FINDS_PASSAGES)
def test_what_was_recorded_later_was_not_known(ana: Subject, seek: Seek, strategy: Strategy, question: dict) -> None:
    event = say(ana, "Tea, early.", occurred_at=JANUARY)
    Event.objects.filter(pk=event.pk).update(recorded_at=JANUARY)
    late = say(ana, "Tea, late.", occurred_at=JANUARY)
    Event.objects.filter(pk=late.pk).update(recorded_at=MAY)
    found = seek(strategy, **{**question, "as_of": MARCH, "known_at": MARCH})
    assert texts(found) == ["Tea, early."]


@pytest.mark.parametrize(("strategy", "question"), EVERY)
def test_units_that_are_not_asked_for_are_not_looked_for(
    ana: Subject, seek: Seek, strategy: Strategy, question: dict
) -> None:
    FactFactory(subject=ana, statement="Tea, as a fact.", event=say(ana, "Tea, as said."))
    assert set(texts(seek(strategy, **question, units=(IndexedUnit.FACT,)))) == {"Tea, as a fact."}
    assert set(texts(seek(strategy, **question, units=(IndexedUnit.PASSAGE,)))) <= {"Tea, as said."}


@pytest.mark.parametrize(("strategy", "question"), EVERY)
def test_a_list_is_cut_at_its_limit(ana: Subject, seek: Seek, strategy: Strategy, question: dict) -> None:
    for number in range(5):
        FactFactory(subject=ana, statement=f"Tea {number}.")
    found = seek(strategy, **question, units=(IndexedUnit.FACT,), limit=3)
    assert len(found) == (5 if question.get("lanes") else 3)


readers = st.tuples(st.sampled_from(["peer", "public_only", "internal"]), st.booleans(), st.booleans())
audiences = st.tuples(
    st.sampled_from(Level.values),
    st.sampled_from(Sensitivity.values),
    st.sampled_from([SubjectKind.PERSON, SubjectKind.SCOPE]),
    st.booleans(),
    st.booleans(),
)


@given(reader=readers, audience=audiences)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_strategy_keeps_to_the_audience_rule(
    account: Account, ana: Subject, seek: Seek, reader: tuple, audience: tuple
) -> None:
    posture, is_subject, restricted = reader
    level, sensitivity, kind, provisional, here = audience
    with taken_back():
        subject = SubjectFactory(account=account, kind=kind)
        scope = ensure_scope(account.id, "/support" if here else "/sales")
        fact = FactFactory(
            subject=subject,
            scope=scope,
            statement="Tea.",
            level=level,
            sensitivity=sensitivity,
            status=Status.PROVISIONAL if provisional else Status.ACTIVE,
            event=EventFactory(subject=subject, scope=scope, text="Nothing."),
        )
        event = EventFactory(subject=subject, scope=scope, text="Tea.", sensitivity=sensitivity)
        passage = PassageFactory(event=event, level=level)
        who = subject if is_subject else ana
        asks = Reader(
            posture=Posture(posture),
            subject_id=who.id if posture == "peer" else None,
            restricted=restricted and posture == "peer",
        )

        def visible(provisional: bool) -> bool:
            return here and may_see(
                posture=asks.posture,
                own=posture == "peer" and is_subject,
                restricted_granted=asks.restricted,
                level=level,
                sensitivity=sensitivity,
                about_scope=kind == SubjectKind.SCOPE,
                provisional=provisional,
            )

        expected = {fact.id} if visible(provisional) else set()
        for case in EVERY:
            strategy, question = case.values
            if question.get("as_of"):
                continue
            found = seek(strategy, **question, units=(IndexedUnit.FACT,), reader=asks)
            assert {hit.item.id for hit in found} == expected, case.id
        heard = {passage.id} if visible(False) else set()
        for case in (EVERY[0], EVERY[2]):
            strategy, question = case.values
            found = seek(strategy, **question, units=(IndexedUnit.PASSAGE,), reader=asks)
            assert {hit.item.id for hit in found} - {p.id for p in Passage.objects.filter(text="Nothing.")} == heard
