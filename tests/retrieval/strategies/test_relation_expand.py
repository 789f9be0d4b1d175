"""One step from what was found, never beyond what the reader may see."""

from __future__ import annotations

from typing import Any

import pytest

from facts.models import Account, Fact, IndexedUnit, Relation
from facts.tenancy import ensure_scope
from facts.vocabulary import EvidenceLevel, RelationKind, Sensitivity
from retrieval.entities import rebuilding
from retrieval.strategies import mentioning
from retrieval.strategies.base import Hit, Item
from retrieval.strategies.relation_expand import NEIGHBOURS, RelationExpand
from tests.factories import AccountFactory, FactFactory, SubjectFactory, entered
from tests.retrieval.conftest import WordEmbedder, index_vectors
from tests.retrieval.strategies.naming import World, embedded, ids, scores, seed


@pytest.fixture
def world(account: Account) -> World:
    rebuilding.forget()
    # A channel names nothing, so that its facts share no entity by being about it.
    board = SubjectFactory(account=account, key="board", kind="channel")
    return World(account, board, SubjectFactory(account=account, key="reader"))


def _relate(source: Fact, target: Fact, kind: RelationKind) -> None:
    Relation.objects.create(account=source.account, source=source, target=target, kind=kind)


def _steps(world: World, *seeds: Fact, **changes: Any) -> list[tuple[str, float, str]]:
    hits = RelationExpand().find(world.asked("x", **changes), seeds=[seed(fact) for fact in seeds])
    return [(hit.text, round(hit.score, 4), hit.detail["step"]) for hit in hits]


@pytest.mark.parametrize("kind", ["supports", "derived_from", "promoted_from"])
def test_relations_are_followed_in_both_directions(world: World, kind: str) -> None:
    first, second = world.tell("one thing", "another thing")
    _relate(first, second, RelationKind(kind))
    assert _steps(world, first) == [("another thing", 0.9, kind)]
    assert _steps(world, second) == [("one thing", 0.9, kind)]


def test_what_contradicts_is_not_followed_and_what_was_superseded_only_in_the_past(world: World) -> None:
    now_so, before, against = world.tell("it is so", "it was so", "it is not so")
    _relate(now_so, before, RelationKind.SUPERSEDES)
    _relate(now_so, against, RelationKind.CONTRADICTS)
    assert _steps(world, now_so) == []
    assert _steps(world, now_so, past=[before.id, against.id]) == [("it was so", 0.9, "supersedes")]


def test_shared_entities_lead_on_with_the_less_sure_mention(world: World) -> None:
    start, *_ = world.tell("Atlas ships", "We sell Atlas", "We buy Helios")
    world.tell("We love Atlas", confidence=0.8, evidence_level=EvidenceLevel.INDIRECT)
    assert _steps(world, start) == [
        ("We sell Atlas", round(0.7 * 0.9, 4), "shared_entity"),
        ("We love Atlas", round(0.7 * 0.8 * 0.75, 4), "shared_entity"),
    ]


def test_the_best_step_to_a_fact_counts(world: World) -> None:
    start, other = world.tell("Atlas ships", "We sell Atlas")
    _relate(start, other, RelationKind.SUPPORTS)
    assert _steps(world, start) == [("We sell Atlas", 0.9, "supports")]


def test_an_entity_in_most_facts_leads_nowhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentioning, "COMMON_FROM", 4)
    facts = world.tell("We ship Atlas", "We sell Atlas", "We love Atlas", "Nothing else")
    assert _steps(world, facts[0]) == []
    world.tell("Nothing more", "Nothing at all")
    assert len(_steps(world, facts[0])) == 2


def test_rare_entities_are_followed_before_frequent_ones(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.strategies.relation_expand.EXAMINED", 4)
    start, *_ = world.tell("We ship Atlas and Helios", "We sell Atlas", "We buy Helios", "We love Helios")
    assert [text for text, *_ in _steps(world, start)] == ["We sell Atlas"]
    monkeypatch.setattr("retrieval.strategies.relation_expand.EXAMINED", 5)
    assert [text for text, *_ in _steps(world, start)] == ["We buy Helios", "We love Helios", "We sell Atlas"]


def test_each_fact_leads_to_few_and_only_the_first_facts_lead_on(world: World) -> None:
    start, *_ = world.tell("Meet Atlas", *[f"We ship Atlas {number:02}" for number in range(NEIGHBOURS + 5)])
    world.tell(*[f"Nothing {number}" for number in range(NEIGHBOURS + 10)])
    found = _steps(world, start)
    assert [text for text, *_ in found] == [f"We ship Atlas {number:02}" for number in range(NEIGHBOURS)]
    others = world.tell(*[f"aside {number}" for number in range(10)])
    assert _steps(world, *others, start) == []
    assert len(_steps(world, *others[:9], start)) == NEIGHBOURS


def test_passages_and_withheld_facts_lead_nowhere(world: World) -> None:
    start, other = world.tell("We ship Atlas", "We sell Atlas")
    passage = Hit(item=Item(IndexedUnit.PASSAGE, start.id), score=1.0, text="x")
    question = world.asked("x")
    assert RelationExpand().find(question, seeds=[passage]) == []
    assert RelationExpand().find(question, seeds=[seed(start, withheld=True)]) == []
    assert ids(RelationExpand().find(question, seeds=[passage, seed(start)])) == {other.id}


def test_a_neighbour_that_the_reader_may_not_see_is_none(world: World) -> None:
    (start,) = world.tell("We ship Atlas")
    ana = SubjectFactory(account=world.account, key="ana")
    personal = FactFactory(subject=ana, statement="I hate Atlas")
    (secret,) = world.tell("Secret Atlas plan", sensitivity=Sensitivity.RESTRICTED)
    (elsewhere,) = world.tell("Elsewhere Atlas ships", scope=ensure_scope(world.account.id, "/sales"))
    for hidden in (personal, secret, elsewhere):
        _relate(start, hidden, RelationKind.SUPPORTS)
    assert _steps(world, start) == []


def test_linked_scopes_are_reached_by_relations_names_and_nearness(world: World, embedder: WordEmbedder) -> None:
    sales = ensure_scope(world.account.id, "/sales")
    (start,) = world.tell("We ship Atlas")
    related, sharing, near = world.tell("told elsewhere", "They sell Atlas", "tea is good", scope=sales)
    (far,) = world.tell("tea is better", scope=ensure_scope(world.account.id, "/hidden"))
    (secret,) = world.tell("secret tea", scope=sales, sensitivity=Sensitivity.RESTRICTED)
    for fact in (related, far, secret):
        _relate(start, fact, RelationKind.SUPPORTS)
    index_vectors(world.account)
    assert _steps(world, start) == []
    vector = embedded(embedder, "tea")
    hits = RelationExpand().find(world.asked("tea", linked=(sales.id,), vector=vector), seeds=[seed(start)])
    assert {hit.item.id: hit.detail["step"] for hit in hits} == {
        related.id: "supports",
        sharing.id: "shared_entity",
        near.id: "scope_link",
    }


def test_nothing_of_another_account_is_reached(world: World) -> None:
    other = AccountFactory()
    with entered(other):
        board = SubjectFactory(account=other, key="board", kind="channel")
        foreign = World(other, board, SubjectFactory(account=other, key="reader"))
        start, _ = foreign.tell("We ship Atlas", "We sell Atlas")
        visible = foreign.visible()
    world.tell("We buy Atlas")
    assert _steps(world, start) == []
    assert _steps(world, start, visible=visible) == []


def test_details_hold_no_name_and_no_id(world: World) -> None:
    start, _ = world.tell("We ship Atlas", "We sell Atlas")
    hits = RelationExpand().find(world.asked("x"), seeds=[seed(start)])
    assert [hit.detail for hit in hits] == [{"step": "shared_entity"}]


def test_equal_neighbours_come_in_the_same_order_however_they_were_stored(db: None) -> None:
    found = []
    statements = [f"We ship Atlas {letter}" for letter in "bca"]
    for order in (statements, statements[::-1]):
        made = AccountFactory()
        with entered(made):
            board = SubjectFactory(account=made, key="board", kind="channel")
            world = World(made, board, SubjectFactory(account=made, key="reader"))
            start, *_ = world.tell("Meet Atlas", *order)
            found.append(scores(RelationExpand().find(world.asked("x", limit=2), seeds=[seed(start)])))
    assert found[0] == found[1] == [("We ship Atlas a", 0.9), ("We ship Atlas b", 0.9)]


def test_a_step_costs_few_queries(world: World, django_assert_max_num_queries) -> None:
    facts = world.tell(*[f"We ship Atlas and Helios{number}x" for number in range(12)])
    question = world.asked("x")
    with django_assert_max_num_queries(5):
        RelationExpand().find(question, seeds=[seed(fact) for fact in facts])
