from __future__ import annotations

import math
from datetime import timedelta

import pytest

from facts import index
from facts.clock import now
from facts.models import Account, Fact, IndexedUnit, Subject
from facts.vocabulary import Status
from retrieval.strategies.salience_recency import SalienceRecency
from tests.factories import JANUARY, MARCH, FactFactory
from tests.retrieval.strategies.conftest import Seek, asked, texts


@pytest.mark.parametrize(("text", "applies"), [("", True), (" \n\t", True), ("tea", False), ("?", False)])
def test_it_is_for_blank_questions_only(account: Account, ana: Subject, text: str, applies: bool) -> None:
    assert SalienceRecency().applies(asked(account, text, ana)) is applies


def test_confident_corroborated_and_recent_facts_come_first(ana: Subject, seek: Seek) -> None:
    moment = now()
    FactFactory(subject=ana, statement="Old.", valid_from=moment - timedelta(days=30), confidence=0.9, corroboration=1)
    FactFactory(subject=ana, statement="New.", valid_from=moment, confidence=0.9, corroboration=1)
    FactFactory(subject=ana, statement="Unsure.", valid_from=moment, confidence=0.5, corroboration=1)
    FactFactory(subject=ana, statement="Known.", valid_from=moment, confidence=0.9, corroboration=4)
    hits = seek(SalienceRecency(), "")
    assert texts(hits) == ["Known.", "New.", "Unsure.", "Old."]
    once = 1 + math.log(2)
    expected = [0.9 * (1 + math.log(5)), 0.9 * once, 0.5 * once, 0.9 * once / math.e]
    assert [hit.score for hit in hits] == pytest.approx(expected, rel=1e-3)


def test_ages_beyond_all_measure_are_no_error(ana: Subject, seek: Seek) -> None:
    FactFactory(subject=ana, statement="Ancient.", valid_from=JANUARY.replace(year=1))
    (only,) = seek(SalienceRecency(), "")
    assert 0 <= only.score < 1e-300


def test_what_only_waits_in_a_conflict_set_is_not_salient(account: Account, ana: Subject, seek: Seek) -> None:
    waiting = FactFactory(subject=ana, statement="Waiting.", status=Status.CANDIDATE)
    FactFactory(subject=ana, statement="There.")
    Fact.objects.filter(pk=waiting.pk).update(withheld="conflict_open")
    index.sync_facts(account.id, [waiting.id])
    assert texts(seek(SalienceRecency(), "")) == ["There."]


def test_equal_scores_are_cut_by_content(ana: Subject, seek: Seek) -> None:
    for statement in ("b", "c", "a"):
        FactFactory(subject=ana, statement=statement, valid_from=MARCH)
    assert texts(seek(SalienceRecency(), "", limit=2)) == ["a", "b"]


def test_passages_are_no_answer_to_nothing(ana: Subject, seek: Seek) -> None:
    FactFactory(subject=ana)
    assert seek(SalienceRecency(), "", units=(IndexedUnit.PASSAGE,)) == []
