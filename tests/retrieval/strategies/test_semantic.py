from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts import embedding
from facts.embedding import EmbedderIdentity
from facts.models import Account, Fact, IndexedUnit, Relation, Subject
from facts.vocabulary import RelationKind, Status
from retrieval.strategies.base import StrategyUnavailable
from retrieval.strategies.semantic import LANE, Semantic
from tests.factories import JANUARY, MARCH, MAY, FactFactory, say
from tests.retrieval.conftest import WordEmbedder, index_vectors
from tests.retrieval.strategies.conftest import Seek, asked, texts


def test_the_score_is_the_closeness_of_the_vectors(ana: Subject, seek: Seek) -> None:
    FactFactory(subject=ana, statement="green tea")
    FactFactory(subject=ana, statement="green hills far away")
    embedder = WordEmbedder()
    asked_for = embedder.embed_query("green tea")
    first, second = seek(Semantic(), "green tea", units=(IndexedUnit.FACT,))
    assert first.score == pytest.approx(1.0, abs=1e-3)
    assert second.score == pytest.approx(float(asked_for @ embedder.embed_query("green hills far away")), abs=2e-3)
    assert texts([first, second]) == ["green tea", "green hills far away"]
    assert first.moment is not None


def test_facts_and_passages_stand_in_one_list(ana: Subject, seek: Seek) -> None:
    FactFactory(subject=ana, statement="Black tea it is.", event=say(ana, "Green tea for me."))
    assert texts(seek(Semantic(), "green tea for me")) == ["Green tea for me.", "Black tea it is."]


def test_vectors_of_another_embedder_are_not_looked_at(account: Account, ana: Subject, seek: Seek) -> None:
    FactFactory(subject=ana, statement="Green tea.")
    index_vectors(account)

    class Other(WordEmbedder):
        identity = EmbedderIdentity(provider="test", model="other", version="1", dimensions=384, recipe="hash")

    other = Other()
    question = asked(account, "tea", ana)
    vector = embedding.Embedded(other.identity, other.embed_query("tea"))
    assert seek(Semantic(), "tea", units=(IndexedUnit.FACT,)) != []
    assert seek(Semantic(), "tea", vector=vector) == []
    assert question.vector.identity != other.identity


def test_without_a_vector_it_cannot_look(account: Account, ana: Subject) -> None:
    with pytest.raises(StrategyUnavailable):
        Semantic().find(asked(account, "tea", ana, vector=None), seeds=())


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_a_blank_question_has_no_meaning_to_compare(account: Account, ana: Subject, blank: str) -> None:
    assert not Semantic().applies(asked(account, blank, ana))


def _derived(ana: Subject, statement: str, base: Fact) -> Fact:
    fact = FactFactory(subject=ana, statement=statement)
    Relation.objects.create(account=ana.account, source=fact, target=base, kind=RelationKind.DERIVED_FROM)
    return fact


def test_lanes_are_interleaved_by_rank_direct_ones_first(ana: Subject, seek: Seek) -> None:
    near = FactFactory(subject=ana, statement="tea")
    FactFactory(subject=ana, statement="tea and milk")
    FactFactory(subject=ana, statement="tea and milk and sugar and biscuits")
    _derived(ana, "tea in the morning", near)
    _derived(ana, "tea in the morning and later", near)
    hits = seek(Semantic(), "tea", lanes=True)
    assert texts(hits) == [
        "tea",
        "tea in the morning",
        "tea and milk",
        "tea in the morning and later",
        "tea and milk and sugar and biscuits",
    ]
    assert [hit.score for hit in hits] == [1.0, 1.0, 0.9, 0.9, 0.8]
    assert [(hit.detail["lane"], hit.detail["operation"], hit.detail["lane_rank"]) for hit in hits] == [
        ("direct", "extraction", 1),
        ("derived", "deduction", 1),
        ("direct", "extraction", 2),
        ("derived", "deduction", 2),
        ("direct", "extraction", 3),
    ]
    assert hits[0].detail["distance"] == pytest.approx(0.0, abs=1e-3)
    assert hits[1].detail["distance"] > hits[0].detail["distance"]


def test_a_lane_has_ten_places(ana: Subject, seek: Seek) -> None:
    base = FactFactory(subject=ana, statement="The base.")
    for number in range(LANE + 2):
        FactFactory(subject=ana, statement=f"tea {number}")
        _derived(ana, f"more tea {number}", base)
    hits = seek(Semantic(), "tea", lanes=True, limit=64)
    assert [hit.detail["lane"] for hit in hits].count("direct") == LANE
    assert [hit.detail["lane"] for hit in hits].count("derived") == LANE
    assert hits[-1].score == pytest.approx(0.1)


def test_what_changed_its_status_leaves_its_lane_at_once(ana: Subject, seek: Seek) -> None:
    base = FactFactory(subject=ana, statement="tea")
    _derived(ana, "tea in the morning", base)
    FactFactory(subject=ana, statement="tea at noon", status=Status.REJECTED)
    assert texts(seek(Semantic(), "tea", lanes=True)) == ["tea", "tea in the morning"]


def test_equal_texts_come_by_when_they_hold_whatever_their_ids(account: Account, ana: Subject, seek: Seek) -> None:
    for moment in (MAY, JANUARY, MARCH):
        FactFactory(subject=ana, statement="Tea.", valid_from=moment)
    hits = seek(Semantic(), "tea", units=(IndexedUnit.FACT,))
    assert [hit.moment for hit in hits] == [JANUARY, MARCH, MAY]
    cut = seek(Semantic(), "tea", units=(IndexedUnit.FACT,), limit=2)
    assert [hit.moment for hit in cut] == [JANUARY, MARCH]


def test_one_query_for_each_unit(account: Account, ana: Subject) -> None:
    FactFactory(subject=ana, statement="Tea.")
    index_vectors(account)
    question = asked(account, "tea", ana)
    Semantic().find(question, seeds=())
    with CaptureQueriesContext(connection) as queries:
        Semantic().find(question, seeds=())
    assert sum("<=>" in query["sql"] for query in queries) == 2
    assert len(queries) == 3, "and the number of the space, once in a process"
