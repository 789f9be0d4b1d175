"""Summaries by entity: each reader gets lines of which it may see every fact now, and no others."""

from __future__ import annotations

import uuid
from datetime import date

import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts import lifecycle
from facts.actors import pipeline
from facts.audience import Posture, Reader, visible_to
from facts.clock import now
from facts.models import Account, Fact, Scope, Subject
from facts.vocabulary import Level, Sensitivity, Status, SubjectKind
from retrieval.cards import embedding, rebuilding, summaries
from retrieval.embedders import registry
from retrieval.models import Card, CardKind
from retrieval.visibility import Visibility
from tests.factories import FactFactory, SubjectFactory
from tests.retrieval.cards.conftest import Work, shared


def visible(account: Account, reader: Subject | None) -> Visibility:
    scopes = tuple(Scope.objects.filter(account_id=account.id).values_list("id", flat=True))
    posture = Posture.PEER if reader else Posture.PUBLIC_ONLY
    who = Reader(posture=posture, subject_id=reader.id if reader else None)
    return Visibility(account_id=account.id, scope_ids=scopes, subject_id=None, reader=who, at=now(), now=now())


@pytest.fixture
def ben(account: Account) -> Subject:
    return SubjectFactory(account=account, key="ben", name="Ben")


@pytest.fixture
def acme(account: Account) -> Subject:
    return SubjectFactory(account=account, kind=SubjectKind.CLIENT, key="acme", name="Acme")


@pytest.fixture
def built(account: Account, ana: Subject, ben: Subject, acme: Subject, work: Work) -> None:
    for subject in (ana, acme):
        for name in ("Atlas", "Borealis"):
            shared(subject, f"{subject.name} knows {name}.")
    FactFactory(subject=ana, statement="Ana is in debt.", kind="preference", valid_from=None)
    work()


def forget(fact: Fact) -> None:
    lifecycle.transition(
        fact.id, account_id=fact.account_id, to=Status.DISABLED, actor=pipeline(), action="fact.disabled"
    )


def listed(may: Visibility, **wanted: object) -> list[summaries.Summary]:
    return summaries.of_entities(may, **wanted).summaries


def said(found: list[summaries.Summary]) -> dict[str, list[str]]:
    return {summary.subject_key: [line.text for line in summary.lines] for summary in found}


def test_everybody_reads_the_shared_profiles_and_the_subject_its_own(
    account: Account, ana: Subject, ben: Subject, built: None
) -> None:
    both = ["{} knows Atlas. (2025-03-10)", "{} knows Borealis. (2025-03-10)"]
    of_ana, of_acme = [text.format("Ana") for text in both], [text.format("Acme") for text in both]
    assert said(listed(visible(account, ben))) == {"ana": of_ana, "acme": of_acme}
    assert said(listed(visible(account, ana))) == {"ana": [*of_ana, "Ana is in debt."], "acme": of_acme}
    assert listed(visible(account, None)) == []


def test_a_summary_has_the_form_of_the_earlier_system(account: Account, ana: Subject, built: None) -> None:
    (found,) = listed(visible(account, ana), subject_id=ana.id)
    assert (found.summary_type, found.subject_kind, found.scope) == ("profile", "person", "/support")
    assert (found.period_start, found.period_end) == (date(2025, 3, 10), date(2025, 3, 10))
    assert found.summary.splitlines() == [
        "**Role & Responsibilities**",
        "- Ana knows Atlas. (2025-03-10)",
        "- Ana knows Borealis. (2025-03-10)",
        "**Patterns**",
        "- Ana is in debt.",
    ]


def test_they_are_listed_by_kind_and_page_by_page(account: Account, ben: Subject, built: None) -> None:
    everything = listed(visible(account, ben))
    (client,) = listed(visible(account, ben), kinds=[SubjectKind.CLIENT], limit=1)
    assert client.subject_key == "acme"
    first = listed(visible(account, ben), limit=1)
    assert [*first, *listed(visible(account, ben), limit=1, after=first[0].id)] == everything
    page = summaries.of_entities(visible(account, ben), limit=1)
    assert (page.stopped_at, summaries.of_entities(visible(account, ben), limit=2).stopped_at) == (first[0].id, None)
    assert listed(visible(account, ben), subject_id=uuid.uuid4()) == []


def test_who_may_see_none_of_many_is_led_on_after_a_bounded_look(
    account: Account, ana: Subject, ben: Subject, acme: Subject, built: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "BATCH", 1)
    monkeypatch.setattr(summaries, "LOOKED_AT", 1)
    cards = list(Card.objects.filter(kind=CardKind.SHARED_PROFILE).order_by("id").values_list("id", flat=True))
    assert len(cards) == 2
    may = visible(account, None)
    with CaptureQueriesContext(connection) as queries:
        page = summaries.of_entities(may)
    assert (page.summaries, page.stopped_at, len(queries)) == ([], cards[0], 3)
    page = summaries.of_entities(may, after=page.stopped_at)
    assert (page.summaries, page.stopped_at) == ([], cards[1])
    assert summaries.of_entities(may, after=page.stopped_at).stopped_at is None


def test_they_are_found_by_what_they_are_about(
    account: Account, ana: Subject, ben: Subject, acme: Subject, built: None, work: Work
) -> None:
    shared(acme, "Acme breeds racing horses.")
    work()
    embedding.embed_stale(account.id)
    horses, money = (
        registry.embed_query(account_id=account.id, text=text, seconds=5)
        for text in ("who breeds racing horses", "who is in debt")
    )
    of_ana, of_ben, of_nobody = (visible(account, reader) for reader in (ana, ben, None))
    assert [each.subject_key for each in summaries.closest(of_ana, vector=horses)] == ["acme", "ana"]
    assert summaries.closest(of_ana, vector=money)[0].lines[-1].text == "Ana is in debt."
    assert "Ana is in debt." not in str(summaries.closest(of_ben, vector=money))
    assert len(summaries.closest(of_ben, vector=money)) == 2
    (person,) = summaries.closest(of_ben, vector=horses, kinds=[SubjectKind.PERSON], limit=1)
    assert person.subject_key == "ana"
    assert summaries.closest(of_nobody, vector=horses) == []


def test_the_order_tells_who_reads_what_is_public_nothing_of_what_is_not(
    account: Account, ana: Subject, acme: Subject, work: Work
) -> None:
    for subject in (ana, acme):
        for what in ("known", "liked"):
            said = f"{subject.name} is {what}."
            FactFactory(subject=subject, statement=said, sensitivity=Sensitivity.PUBLIC, level=Level.SCOPE)
    horses = shared(acme, "Acme breeds racing horses.")
    work()
    embedding.embed_stale(account.id)
    vector = registry.embed_query(account_id=account.id, text="who breeds racing horses", seconds=5)

    def found() -> list[str]:
        return [each.subject_key for each in summaries.closest(visible(account, None), vector=vector)]

    assert found() == ["ana"]
    forget(horses)
    work()
    # What its card says is public by now, but its vector is of what it said before.
    assert Card.objects.get(kind=CardKind.SHARED_PROFILE, key=str(acme.id)).sensitivity == Sensitivity.PUBLIC
    assert found() == ["ana"]
    embedding.embed_stale(account.id)
    assert sorted(found()) == ["acme", "ana"]


@pytest.mark.django_db
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ana", "ben", "acme"]),
            st.sampled_from(Sensitivity.values),
            st.sampled_from([Level.PEER, Level.SCOPE, Level.ACCOUNT]),
            st.sampled_from([Status.ACTIVE, Status.PROVISIONAL, Status.SUPERSEDED, Status.DISPUTED]),
            st.booleans(),
        ),
        min_size=2,
        max_size=8,
    )
)
def test_every_line_rests_on_facts_that_its_reader_may_read(
    account: Account,
    ana: Subject,
    ben: Subject,
    acme: Subject,
    work: Work,
    drawn: list[tuple],
) -> None:
    people = {"ana": ana, "ben": ben, "acme": acme}
    for fact in Fact.objects.exclude(status=Status.DISABLED):
        forget(fact)
    made = [
        FactFactory(
            subject=people[key], statement=f"Fact {uuid.uuid4()}.", sensitivity=sensitivity, level=level, status=status
        )
        for key, sensitivity, level, status, _ in drawn
    ]
    work()
    for card in Card.objects.exclude(kind=CardKind.ENTITY_CARD):
        rebuilding.rebuild(account.id, card.id)
    for fact, (*_, forgotten) in zip(made, drawn, strict=True):
        if forgotten:
            forget(fact)
    for reader in (ana, ben, None):
        may = visible(account, reader)
        for summary in listed(may):
            for line in summary.lines:
                readable = Fact.objects.filter(visible_to(may.reader), pk__in=line.facts, withheld="").filter(
                    Q(status=Status.ACTIVE) | Q(status=Status.PROVISIONAL, subject_id=may.reader.subject_id)
                )
                assert readable.count() == len(line.facts)
                assert all(fact.statement in line.text for fact in readable)
