from __future__ import annotations

from datetime import timedelta

import pytest

from facts.models import Account, IndexedUnit, Subject
from facts.vocabulary import Form, Status
from retrieval.strategies.temporal import Temporal
from tests.factories import JANUARY, JULY, MARCH, MAY, FactFactory, say
from tests.retrieval.strategies.conftest import Seek, asked, texts

FACTS = (IndexedUnit.FACT,)


def test_it_needs_words_and_an_instant(account: Account, ana: Subject) -> None:
    assert not Temporal().applies(asked(account, "tea", ana))
    assert not Temporal().applies(asked(account, "tea", ana, known_at=MARCH))
    assert not Temporal().applies(asked(account, " ", ana, as_of=MARCH))
    assert Temporal().applies(asked(account, "tea", ana, as_of=MARCH))


def test_states_are_filtered_by_the_instant_and_events_ranked_by_it(ana: Subject, seek: Seek) -> None:
    def told(statement: str, **fields: object) -> None:
        FactFactory(subject=ana, statement=statement, event=say(ana, "Nothing."), **fields)

    told("Tea is what she drinks.", valid_from=JANUARY)
    told("Tea was bitter then.", valid_from=JANUARY, valid_to=MARCH, status=Status.SUPERSEDED)
    told("Tea will be cheap.", valid_from=JULY)
    told("She bought tea.", valid_from=MAY - timedelta(days=3), form=Form.EVENT)
    told("She spilt tea.", valid_from=MAY - timedelta(days=9), form=Form.EVENT)
    told("She ordered tea.", valid_from=MAY + timedelta(days=1), form=Form.EVENT)
    told("A tea fair was on.", valid_from=JANUARY, valid_to=JULY, form=Form.EVENT)
    told("Coffee.", valid_from=JANUARY)
    hits = seek(Temporal(), "tea", units=FACTS, as_of=MAY)
    assert [(hit.text, round(hit.score, 4)) for hit in hits] == [
        ("A tea fair was on.", 1.0),
        ("Tea is what she drinks.", 1.0),
        ("She bought tea.", 0.25),
        ("She spilt tea.", 0.1),
    ]


def test_what_had_been_said_is_ranked_by_when(ana: Subject, seek: Seek) -> None:
    say(ana, "Tea, long ago.", occurred_at=JANUARY)
    say(ana, "Tea, just now.", occurred_at=MAY)
    say(ana, "Tea, later.", occurred_at=JULY)
    hits = seek(Temporal(), "tea", as_of=MAY)
    assert texts(hits) == ["Tea, just now.", "Tea, long ago."]
    assert [hit.score for hit in hits] == [1.0, pytest.approx(1 / 121)]


def test_what_has_no_date_is_not_found(ana: Subject, seek: Seek) -> None:
    FactFactory(subject=ana, statement="Tea, whenever.", valid_from=None)
    assert seek(Temporal(), "tea", units=FACTS, as_of=MAY) == []


def test_of_equally_near_ones_those_that_share_more_words_come_first(ana: Subject, seek: Seek) -> None:
    for statement in ("A tea.", "Green tea in Lyon.", "Zen of tea in Lyon."):
        FactFactory(subject=ana, statement=statement, valid_from=JANUARY)
    assert texts(seek(Temporal(), "green tea lyon", units=FACTS, as_of=MAY)) == [
        "Green tea in Lyon.",
        "Zen of tea in Lyon.",
        "A tea.",
    ]


def test_a_question_without_words_finds_nothing(ana: Subject, seek: Seek) -> None:
    FactFactory(subject=ana, statement="Tea.", valid_from=JANUARY)
    assert seek(Temporal(), "the?", as_of=MAY) == []
