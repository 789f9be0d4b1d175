"""Matching by the names in a question: what counts how much, and what nobody learns by it."""

from __future__ import annotations

import math

import pytest

from facts import lifecycle
from facts.actors import pipeline
from facts.audience import Posture, Reader
from facts.models import Account, IndexedUnit
from facts.tenancy import ensure_scope
from facts.vocabulary import EvidenceLevel, Sensitivity, Status
from retrieval.entities import rebuilding
from retrieval.models import AliasPair, PairState
from retrieval.strategies import mentioning
from retrieval.strategies.base import SourceFilters
from retrieval.strategies.entity_match import EntityMatch
from tests.factories import JANUARY, AccountFactory, FactFactory, IdentityFactory, SubjectFactory, entered
from tests.retrieval.strategies.naming import SHARED, World, ids, scores


@pytest.fixture
def world(account: Account) -> World:
    rebuilding.forget()
    topic = SubjectFactory(account=account, key="launch-board", kind="topic")
    return World(account, topic, SubjectFactory(account=account, key="reader"))


def _find(world: World, text: str, **changes: object) -> list[tuple[str, float]]:
    return scores(EntityMatch().find(world.asked(text, **changes), seeds=()))


def test_facts_that_name_what_is_asked_about(world: World) -> None:
    world.tell("We ship Atlas now", "We ship Helios now", "Nothing ships")
    assert _find(world, "when does atlas ship?") == [("We ship Atlas now", 0.9)]
    assert _find(world, "who ships?") == []


def test_rarer_names_count_more(world: World) -> None:
    world.tell("We ship Atlas and Helios", "We ship Atlas", "We sell Atlas", "We ship Boreas")
    atlas, helios = math.log(1 + 4 / 3), math.log(1 + 4 / 1)
    assert _find(world, "Atlas or Helios?") == [
        ("We ship Atlas and Helios", 0.9),
        ("We sell Atlas", round(0.9 * atlas / (atlas + helios), 4)),
        ("We ship Atlas", round(0.9 * atlas / (atlas + helios), 4)),
    ]


def test_doubtful_mentions_and_hearsay_count_less(world: World) -> None:
    world.tell("Atlas ships")
    world.tell("We ship Atlas", evidence_level=EvidenceLevel.INDIRECT)
    world.tell("We sell Atlas", confidence=0.8)
    assert _find(world, "Atlas") == [
        ("We sell Atlas", 0.8),
        ("We ship Atlas", round(0.9 * 0.75, 4)),
        ("Atlas ships", round(0.9 * 0.7, 4)),
    ]


def test_the_longest_name_is_meant(world: World) -> None:
    world.tell("Met Victor Hale", "Met Victor Braca", "We saw Victor there")
    assert [text for text, _ in _find(world, "what of victor hale")] == ["Met Victor Hale"]
    assert [text for text, _ in _find(world, "what of victor")] == ["We saw Victor there"]


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("昨日、田中さんと会った", "田中は誰ですか"),
        ("김민수씨는 커피를 마신다", "김민수는 무엇을 좋아해?"),
        ("We use C++ here", "who uses c++"),
        ("Ask R&D", "what does r&d do"),
        ("Write to ana@x.io", "whose is ana@x.io?"),
        ("Élodie Brun left", "où est elodie brun"),
    ],
)
def test_names_of_any_script_and_with_signs(world: World, statement: str, question: str) -> None:
    world.tell(statement, "Nothing else")
    assert [text for text, _ in _find(world, question)] == [statement]


def test_facts_about_somebody_who_is_named_by_any_own_name(world: World) -> None:
    ana = SubjectFactory(account=world.account, key="u-17", name="Ana Silva")
    IdentityFactory(subject=ana, platform="slack", value="U0ANA")
    FactFactory(subject=ana, statement="Likes tea", **SHARED)
    world.tell("We ship Atlas", "We ship Helios")
    for question in ("What does Ana Silva like?", "what of u0ana", "u-17"):
        assert [text for text, _ in _find(world, question)] == ["Likes tea"]


def test_in_a_read_about_one_subject_only_facts_that_name_it_mention_it(world: World) -> None:
    ana = SubjectFactory(account=world.account, key="ana", name="Ana")
    for statement in ("Likes tea", "Everybody likes Ana"):
        FactFactory(subject=ana, statement=statement, **SHARED)
    world.tell("Nothing else")
    assert len(_find(world, "ana")) == 2
    assert [text for text, _ in _find(world, "ana", visible=world.visible(subject_id=ana.id))] == [
        "Everybody likes Ana"
    ]


def test_an_entity_in_most_of_a_large_corpus_tells_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentioning, "COMMON_FROM", 4)
    world.tell("We ship Atlas", "We sell Atlas", "We love Atlas and Helios")
    assert len(_find(world, "Atlas")) == 3
    world.tell("Nothing ships")
    assert _find(world, "Atlas") == []
    assert _find(world, "Atlas and Helios") == [("We love Atlas and Helios", 0.9)]
    world.tell("Nothing sells", "Nobody cares")
    assert len(_find(world, "Atlas")) == 3


def test_one_entity_contributes_few_facts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.strategies.entity_match.PER_ENTITY", 2)
    world.tell("We ship Atlas one", "We ship Atlas two", "We ship Atlas and Helios", "Helios one x", "We buy Helios")
    assert [text for text, _ in _find(world, "Atlas")] == ["We ship Atlas and Helios", "We ship Atlas one"]
    assert {text for text, _ in _find(world, "Atlas, Helios")} == {
        "We ship Atlas and Helios",
        "We ship Atlas one",
        "We buy Helios",
    }


def test_equal_facts_come_in_the_same_order_however_they_were_stored(db: None) -> None:
    found = []
    statements = ["We ship Atlas b", "We ship Atlas a", "We ship Atlas c"]
    for order in (statements, statements[::-1]):
        made = AccountFactory()
        with entered(made):
            topic = SubjectFactory(account=made, key="launch-board", kind="topic")
            world = World(made, topic, SubjectFactory(account=made, key="reader"))
            world.tell(*order)
            found.append(_find(world, "atlas", limit=2))
    assert found[0] == found[1] == [("We ship Atlas a", 0.9), ("We ship Atlas b", 0.9)]


# --- what a reader may not see ---


def test_only_what_the_reader_may_see_is_found_or_counted(world: World) -> None:
    ana = SubjectFactory(account=world.account, key="ana", name="Ana")
    world.tell("We ship Atlas", "We ship Helios")
    before = _find(world, "Atlas, Helios")
    FactFactory(subject=ana, statement="I hate Atlas")
    FactFactory(subject=world.topic, statement="Secret Atlas plan", **{**SHARED, "sensitivity": Sensitivity.RESTRICTED})
    world.tell("Elsewhere Atlas ships", scope=ensure_scope(world.account.id, "/sales"))
    assert _find(world, "Atlas, Helios") == before
    own = world.visible(reader=Reader(posture=Posture.PEER, subject_id=ana.id))
    assert "I hate Atlas" in {text for text, _ in _find(world, "Atlas", visible=own)}
    nobody = world.visible(reader=Reader(posture=Posture.PUBLIC_ONLY))
    assert _find(world, "Atlas", visible=nobody) == []
    nowhere = world.visible(scope_ids=())
    assert _find(world, "Atlas", visible=nowhere) == []


def test_forgotten_and_ended_facts_are_not_found(world: World) -> None:
    for status in (Status.DISABLED, Status.EXPIRED, Status.REJECTED):
        (fact,) = world.tell(f"We ship Atlas {status}")
        lifecycle.transition(
            fact.id, account_id=world.account.id, to=status, actor=pipeline(), action="fact.test", reason="test"
        )
    assert _find(world, "Atlas") == []


def test_a_longer_name_in_a_hidden_fact_hides_no_shorter_one(world: World) -> None:
    world.tell("We saw Victor there", "Nothing else")
    world.tell("Met Victor Hale", sensitivity=Sensitivity.RESTRICTED)
    assert [text for text, _ in _find(world, "victor hale")] == ["We saw Victor there"]


def test_names_that_belong_together_by_hidden_facts_only_find_nothing(world: World) -> None:
    world.tell("We ship Atlas")
    world.tell("Blue Acquisition is near", sensitivity=Sensitivity.RESTRICTED)
    AliasPair.objects.create(account=world.account, first="atlas", second="blue acquisition", state=PairState.SAME)
    rebuilding.rebuild_scope(world.account.id, world.visible().scope_ids[0])
    assert _find(world, "blue acquisition") == []
    world.tell("We like Blue Acquisition")
    assert [text for text, _ in _find(world, "atlas")] == ["We like Blue Acquisition", "We ship Atlas"]


def test_nothing_of_another_account_is_found(world: World) -> None:
    other = AccountFactory()
    with entered(other):
        topic = SubjectFactory(account=other, key="launch-board", kind="topic")
        foreign = World(other, topic, SubjectFactory(account=other, key="reader"))
        foreign.tell("We ship Atlas")
        visible = foreign.visible()
    assert _find(world, "Atlas", visible=visible) == []


# --- bounds ---


def test_it_applies_to_facts_and_to_questions_with_words(world: World) -> None:
    strategy = EntityMatch()
    assert strategy.applies(world.asked("atlas"))
    assert not strategy.applies(world.asked("  "))
    assert not strategy.applies(world.asked("what will it be?"))
    assert not strategy.applies(world.asked("atlas", units=(IndexedUnit.PASSAGE,)))


def test_filters_of_the_caller_hold(world: World) -> None:
    world.tell("We ship Atlas", corroboration=3)
    world.tell("We sell Atlas", corroboration=1)
    found = _find(world, "atlas", filters=SourceFilters(minimum_corroboration=2))
    assert [text for text, _ in found] == ["We ship Atlas"]


def test_the_past_is_found_by_its_facts(world: World) -> None:
    (fact,) = world.tell("We ship Atlas", valid_from=JANUARY)
    lifecycle.transition(
        fact.id, account_id=world.account.id, to=Status.EXPIRED, actor=pipeline(), action="fact.expired", reason="test"
    )
    hits = EntityMatch().find(world.asked("atlas", past=[fact.id]), seeds=())
    assert ids(hits) == {fact.id}
    assert EntityMatch().find(world.asked("atlas", past=[]), seeds=()) == []


def test_a_question_costs_few_queries(world: World, django_assert_max_num_queries) -> None:
    world.tell("We ship Atlas and Helios and Boreas", "We sell Atlas")
    question = world.asked("Atlas Helios Boreas " * 50)
    with django_assert_max_num_queries(4):
        EntityMatch().find(question, seeds=())


@pytest.mark.parametrize("text", ["\x00atlas\x00", "atlas " * 20_000, "'; DROP TABLE--", "% {} %(x)s \\"])
def test_hostile_questions_are_only_questions(world: World, text: str) -> None:
    world.tell("We ship Atlas")
    found = EntityMatch().find(world.asked(text), seeds=())
    assert len(found) == ("atlas" in text)
