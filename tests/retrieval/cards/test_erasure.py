"""An erasure reaches what cards say, said before, what people wrote on them, and their vectors."""

from __future__ import annotations

import pytest

from facts.models import Account, Fact, Subject
from governance import erasing
from retrieval.cards import compacting, composing, editing, embedding
from retrieval.models import Card, CardEdit, CardKind, CardVector, CardVersion
from tests.factories import FactFactory, SubjectFactory, person_in
from tests.retrieval.cards.conftest import Work, shared
from tests.retrieval.cards.test_compacting import Scripted, sum_up

WORD = "Zanzolin"


def _everything() -> str:
    tables = (Card, CardVersion, CardEdit)
    return str([list(table.objects.values()) for table in tables])


@pytest.fixture
def written(account: Account, ana: Subject, work: Work) -> Subject:
    """Cards about Ana and Ben that a model worded and people changed, in versions and with vectors."""
    ben = SubjectFactory(account=account, key="ben", name="Ben")
    shared(ana, f"Ana lives in {WORD}.", valid_from=None)
    shared(ana, "Ana leads Atlas.", valid_from=None)
    FactFactory(subject=ana, statement=f"Ana was born in {WORD}.", valid_from=None)
    shared(ben, "Ben sells tea.", valid_from=None)
    shared(ben, "Ben rides a bicycle.", valid_from=None)
    work()
    scripted = Scripted(sum_up)
    composing.register(lambda: scripted)
    curator = person_in(account)
    for card in Card.objects.exclude(kind=CardKind.ENTITY_CARD):
        compacting.compact(account.id, card.id)
        card.refresh_from_db()
        for line in [line for line in card.lines if WORD in line["text"]]:
            editing.reword(card, editing.name_of(line), f"Of {WORD}.", actor=curator.actor)
            card.refresh_from_db()
    composing.register(None)
    embedding.embed_stale(account.id)
    assert CardEdit.objects.count() >= 3
    assert CardVector.objects.count() == Card.objects.exclude(lines=[]).count()
    return ben


def test_of_an_erased_subject_nothing_is_left_on_cards(account: Account, ana: Subject, written: Subject) -> None:
    key = str(ana.id)
    receipt = erasing.erase(person_in(account), subject_id=ana.id)
    assert WORD not in _everything()
    assert "Atlas" not in _everything()
    assert not Card.objects.filter(key=key).exists()
    assert not CardEdit.objects.exists()
    assert receipt.counters["search"]["left"] == {}
    assert {row.card.title for row in CardVector.objects.select_related("card")} <= {"Ben"}
    assert Card.objects.filter(kind=CardKind.SHARED_PROFILE, key=str(written.id)).exists()


def test_an_erased_fact_leaves_cards_versions_and_decisions_at_once(
    account: Account, ana: Subject, written: Subject
) -> None:
    for fact in Fact.objects.filter(statement__contains=WORD):
        erasing.erase(person_in(account), fact_id=fact.id)
    assert WORD not in _everything()
    said = [line["text"] for card in Card.objects.all() for line in card.lines]
    assert "In short: Ana leads Atlas." in said
    assert "In short: Ben sells tea." in said
    assert not CardVector.objects.filter(card__kind=CardKind.SUBJECT_PROFILE, card__subject=ana).exists()
